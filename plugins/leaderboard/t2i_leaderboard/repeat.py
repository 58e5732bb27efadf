"""The command that measures a model under the conditions of a board."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from .entries import BoardEntry


def write_repeat_command(model: BoardEntry, board: BoardEntry) -> str:
    """Return the command that measures a model as an entry of the board was measured.

    Args:
        model: The entry whose model is to be measured again.
        board: An entry of the board.
    """
    return shlex.join(["t2i", "eval", *_list_words(model, board)])


def _list_words(model: BoardEntry, board: BoardEntry) -> Iterator[str]:
    request, result = board.run.manifest.request, board.result
    label = model.result.label
    named = label != model.result.model
    yield from ("--metric", result.metric)
    yield from ("--model", f"{label}={model.result.model}" if named else label)
    yield from _list_options(model.result.model.partition(":")[0], model.result.settings)
    for source in result.prompts.split(" + "):
        yield from ("--prompts", source)
    seeds = dict(board.conditions.samples or board.conditions.settings).get("seeds", "")
    yield from ("--seeds", seeds if seeds and "#" not in seeds else ",".join(map(str, request.seeds)))
    for judge in dict.fromkeys(judge.name for judge in result.judges):
        if judge != "the model itself":
            yield from ("--judge", judge)
    others = {key: value for key, value in request.options.items() if key.partition(":")[0] != "generator"}
    parts = {result.metric.partition(":")[0], *(judge.name.partition(":")[0] for judge in result.judges)}
    for name, options in others.items():
        if name.rpartition(":")[2] in parts or name in parts:
            yield from _list_options(name, options)
    for flag, value, usual in (
        ("--interval", request.interval, "new"),
        ("--noise", request.noise, "shared"),
        ("--limit", request.limit, None),
        ("--until", request.until, None),
        ("--margin", request.margin, None),
    ):
        if value != usual:
            yield from (flag, str(value))
    for source in request.perturb:
        yield from ("--perturb", source)


def _list_options(name: str, options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        yield from ("-o", f"{name}.{key}={value if isinstance(value, str) else json.dumps(value, default=str)}")
