"""The command that measures a model under the conditions of a board."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from .entries import BoardEntry
from .option_safety import list_keys, reaches_out, select_options

LONGEST = 4_000
"""Length of the longest command that is shown. A part of one would do something else."""


def write_repeat_command(model: BoardEntry, board: BoardEntry) -> str:
    """Return the command that measures a model as an entry of the board was measured.

    The command consists of texts of both runs, which may come from somebody else, and is meant to be copied. It is
    empty if it would run code of a repository or name a server or an environment variable, if it has characters
    that cannot be seen, or if it is too long to be read.

    Args:
        model: The entry whose model is to be measured again.
        board: An entry of the board.
    """
    several = [model.result.settings, *_select_options(board).values()]
    if any(reaches_out(key) for options in several for key, _ in list_keys(options)):
        return ""
    command = shlex.join(["t2i", "eval", *_list_words(model, board)])
    return command if command.isprintable() and len(command) <= LONGEST else ""


def _select_options(board: BoardEntry) -> dict[str, dict[str, Any]]:
    """Return the options of everything but the model."""
    request, result = board.run.manifest.request, board.result
    others = {key: own for key, own in request.options.items() if key.partition(":")[0] != "generator"}
    judges = [judge.name for judge in result.judges]
    return select_options(others, [result.metric, *judges, *result.prompts.split(" + "), *request.perturb])


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
    for judge in board.judges:
        yield from ("--judge", judge)
    for name, options in _select_options(board).items():
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
