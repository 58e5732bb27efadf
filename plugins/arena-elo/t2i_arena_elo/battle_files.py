"""Files of battles: CSV tables, JSON lines with one object per line, or people's answers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

from t2i_core.api.errors import BadOption
from t2i_core.api.prompt import is_writable
from t2i_core.files.atomic_write import replace_file
from t2i_core.files.spreadsheet import escape
from t2i_core.io.answers import PREFERENCE, HumanAnswer, read_answers
from t2i_core.io.table import parse_json_lines, read_table
from t2i_core.io.text_file import read_text

from .battles import Battle, Battles, Verdict

COLUMNS = tuple(field.name for field in fields(Battle))
_REQUIRED = ("prompt", "left", "right", "verdict")

KINDS = (".csv", ".jsonl")
"""File name extensions."""

_LARGEST = 2**63 - 1
"""Largest seed, which columns store as int64."""


def write_battles(path: Path, battles: Iterable[Battle]) -> None:
    """Write battles as a table (.csv) or as JSON lines (.jsonl). Unknown values are left empty.

    Raises:
        BadOption: If the file has another extension.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise BadOption(f"{path}: not a file of battles; its name must end in .csv or .jsonl")
    with replace_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        if kind == ".csv":
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for battle in battles:
                cells = asdict(battle) | {"human": "yes" if battle.human else ""}
                if battle.propensity == 1:
                    cells["propensity"] = None
                writer.writerow(["" if cell is None else escape(cell) for cell in cells.values()])
        else:
            for battle in battles:
                known = {name: value for name, value in asdict(battle).items() if value not in (None, "", False)}
                # 0 == False, so the line above drops a seed or time of 0
                known |= {name: 0 for name in ("seed", "time") if getattr(battle, name) == 0}
                if battle.propensity == 1:
                    del known["propensity"]
                file.write(json.dumps(known, ensure_ascii=False) + "\n")


def read_battles(path: Path) -> Battles:
    """Read a file of battles with at least the columns prompt, left, right and verdict, or people's answers.

    Raises:
        BadOption: If the file cannot be read, a line is not valid, or there are no battles.
    """
    if not is_battle_file(path):
        return Battles.of(list_human_battles(read_answers(path).about(PREFERENCE)))
    lines: Iterable[tuple[int, Mapping[str, Any]]]
    if path.suffix.lower() == ".csv":
        lines = read_table(path, BadOption, _REQUIRED, escaped=True)
    else:
        lines = parse_json_lines(path, read_text(path, BadOption), BadOption, ", ".join(_REQUIRED))

    def battles() -> Iterator[Battle]:
        for line, cells in lines:
            try:
                yield _battle(cells)
            except ValueError as error:
                raise BadOption(f"{path}, line {line}: {error}") from error

    found = Battles.of(battles())
    if not len(found):
        raise BadOption(f"{path}: has no battles")
    return found


def is_battle_file(path: Path) -> bool:
    """Return whether a file is one of battles; otherwise it is read as one of people's answers.

    Raises:
        BadOption: If a table cannot be read.
    """
    kind = path.suffix.lower()
    if kind == ".csv":
        names = read_text(path, BadOption).partition("\n")[0].split(",")
        return "answer" not in [name.strip() for name in names]
    return kind == ".jsonl"


def list_human_battles(answers: Iterable[HumanAnswer]) -> Iterator[Battle]:
    """Yield people's preferences as battles. Images of different prompts are not a battle."""
    for answer in answers:
        if answer.question == PREFERENCE and answer.shown[0].model != answer.shown[1].model:
            left, right = answer.shown
            yield Battle(
                prompt=answer.prompt,
                left=left.model,
                right=right.model,
                verdict=cast(Verdict, answer.answer),
                subset=answer.subset,
                judge=answer.rater,
                human=True,
                seed=answer.seed,
                time=None if answer.time is None else round(answer.time, 3),
            )


def _battle(cells: Mapping[str, Any]) -> Battle:
    """Return the battle in the cells of a line.

    Raises:
        ValueError: If a cell is missing or not valid.
    """
    # the prompt may be unknown
    if missing := next((name for name in _REQUIRED[1:] if cells.get(name) in (None, "")), None):
        raise ValueError(f"{missing!r} is empty; fill it in")
    texts = {name: _text(cells.get(name), name) for name in ("prompt", "left", "right", "subset", "judge")}
    human, seed, time = cells.get("human", ""), cells.get("seed"), cells.get("time")
    propensity = cells.get("propensity")
    if human not in (True, False, "", "yes", "no"):
        raise ValueError(f"'human' must be yes or no (got {human!r})")
    return Battle(
        **texts,
        verdict=cast(Verdict, cells["verdict"]),
        human=human in (True, "yes"),
        seed=None if seed in (None, "") else _number(seed, "seed", int),
        time=None if time in (None, "") else _number(time, "time", float),
        propensity=1.0 if propensity in (None, "") else _number(propensity, "propensity", float),
    )


def _text(cell: Any, name: str) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str | int | float):
        raise ValueError(f"{name!r} must be a text (got {cell!r})")
    if not is_writable(str(cell)):
        raise ValueError(f"{name!r} has characters that tables cannot store (got {cell!r})")
    return str(cell)


def _number(text: Any, name: str, kind: type[int] | type[float]) -> Any:
    what = "an integer" if kind is int else "a number"
    try:
        number = kind(text)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name!r} must be {what} (got {text!r})") from None
    whole = kind is float or number == text or isinstance(text, str)
    if not (whole and 0 <= number <= _LARGEST):
        raise ValueError(f"{name!r} must be {what} from 0 to {_LARGEST} (got {text!r})")
    return number
