"""Battles: what was said of two models' images of one prompt. One by one, as columns, and in files."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray
from t2i_core.errors import BadOption
from t2i_core.tables import read_table
from t2i_core.texts import read_text

Verdict = Literal["left", "right", "tie", "both-bad", "unparsable", "refused", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The first four decide a battle; an answer that says none, one that was refused, and one that failed do not."""

DECIDED = 4
"""So many verdicts, from the first, decide."""

NOBODY = "nobody named"
"""What a judge is called of whom battles do not say who it was."""

_LARGEST = 2**63 - 1
"""Of a seed, as columns hold it."""

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Battle:
    """One verdict on two models' images of one prompt.

    prompt:   the prompt's id; empty where it is not known
    left:     the model whose image was shown on the left, or first
    right:    the other
    verdict:  `left` and `right` name the better image
    subset:   the prompt's category
    judge:    the annotator, or the model that judged
    human:    whether that is a person
    seed:     that both images were drawn with; None where it is not known, or where several were shown
    time:     seconds since 1970 (UTC); None where it is not known

    Raises ValueError for a verdict that is none and for a model against itself.
    """

    prompt: str
    left: str
    right: str
    verdict: Verdict
    subset: str = ""
    judge: str = ""
    human: bool = False
    seed: int | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"the verdict {self.verdict!r}; want one of {', '.join(VERDICTS)}")
        if self.left == self.right:
            raise ValueError(f"{self.left!r} against itself")


COLUMNS = tuple(field.name for field in fields(Battle))
_REQUIRED = ("prompt", "left", "right", "verdict")


@dataclass(frozen=True)
class Battles:
    """Many battles as columns: a code per battle, int32 (n,), into a table of distinct texts.

    left, right: codes into `models`
    verdict:     int8 (n,), index into `VERDICTS`
    human:       bool (n,)
    seed:        int64 (n,), -1 where it is not known
    time:        float64 (n,), NaN where it is not known
    """

    models: tuple[str, ...]
    prompts: tuple[str, ...]
    subsets: tuple[str, ...]
    judges: tuple[str, ...]
    left: Codes
    right: Codes
    prompt: Codes
    subset: Codes
    judge: Codes
    verdict: NDArray[np.int8]
    human: NDArray[np.bool_]
    seed: NDArray[np.int64]
    time: NDArray[np.float64]

    @classmethod
    def of(cls, battles: Iterable[Battle], models: Sequence[str] = ()) -> Self:
        """Gather battles. `models` come first, in this order, whether they fought or not."""
        tables: dict[str, dict[str, int]] = {name: {} for name in ("models", "prompts", "subsets", "judges")}
        for model in models:
            tables["models"].setdefault(model, len(tables["models"]))

        def code(table: str, text: str) -> int:
            return tables[table].setdefault(text, len(tables[table]))

        rows = [
            (
                code("models", b.left), code("models", b.right), code("prompts", b.prompt),
                code("subsets", b.subset), code("judges", b.judge), VERDICTS.index(b.verdict), b.human,
                -1 if b.seed is None else b.seed, math.nan if b.time is None else b.time,
            )
            for b in battles
        ]  # fmt: skip
        columns = list(zip(*rows, strict=True)) or [()] * 9
        types = (np.int32,) * 5 + (np.int8, np.bool_, np.int64, np.float64)
        arrays: list[Any] = [np.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return cls(*(tuple(table) for table in tables.values()), *arrays)

    def __len__(self) -> int:
        return len(self.left)

    def __iter__(self) -> Iterator[Battle]:
        for i in range(len(self)):
            yield Battle(
                prompt=self.prompts[self.prompt[i]],
                left=self.models[self.left[i]],
                right=self.models[self.right[i]],
                verdict=VERDICTS[self.verdict[i]],
                subset=self.subsets[self.subset[i]],
                judge=self.judges[self.judge[i]],
                human=bool(self.human[i]),
                seed=None if self.seed[i] < 0 else int(self.seed[i]),
                time=None if math.isnan(self.time[i]) else float(self.time[i]),
            )

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        """Return some of the battles, by mask or by index; the tables of texts stay as they are."""
        columns = ("left", "right", "prompt", "subset", "judge", "verdict", "human", "seed", "time")
        return replace(self, **{name: getattr(self, name)[which] for name in columns})

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Which battles have a verdict that decides."""
        return self.verdict < DECIDED

    def counts(self) -> dict[Verdict, int]:
        """How many battles ended with each verdict."""
        found = np.bincount(self.verdict, minlength=len(VERDICTS)).tolist()
        return dict(zip(VERDICTS, found, strict=True))


def write_battles(path: Path, battles: Iterable[Battle]) -> None:
    """Write a table (.csv) or an object a line (.jsonl); what is not known is left empty.

    Raises BadOption for another ending.
    """
    kind = _kind(path)
    with path.open("w", newline="", encoding="utf-8") as file:
        if kind == ".csv":
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for battle in battles:
                cells = asdict(battle) | {"human": "yes" if battle.human else ""}
                writer.writerow(["" if cell is None else cell for cell in cells.values()])
        else:
            for battle in battles:
                known = {name: value for name, value in asdict(battle).items() if value not in (None, "", False)}
                # 0 == False: a first seed and the first second of 1970 are known
                known |= {name: 0 for name in ("seed", "time") if getattr(battle, name) == 0}
                file.write(json.dumps(known, ensure_ascii=False) + "\n")


def read_battles(path: Path) -> Battles:
    """Read what `write_battles` wrote, or anything with the columns prompt, left, right, verdict.

    Raises BadOption with file, line and fault.
    """
    lines = _csv_lines(path) if _kind(path) == ".csv" else _jsonl_lines(path)

    def battles() -> Iterator[Battle]:
        for line, cells in lines:
            try:
                yield _battle(cells)
            except ValueError as error:
                raise BadOption(f"{path}, line {line}: {error}") from error

    found = Battles.of(battles())
    if not len(found):
        raise BadOption(f"{path}: holds no battles")
    return found


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl"):
        raise BadOption(f"{path}: want a file of battles, .csv or .jsonl")
    return kind


def _csv_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    yield from read_table(path, BadOption, _REQUIRED)


def _jsonl_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    # at ends of lines alone: texts may hold others of the characters that splitlines takes for them
    for number, line in enumerate(read_text(path, BadOption).split("\n"), 1):
        if line.strip():
            try:
                data = json.loads(line)
            except ValueError as error:
                raise BadOption(f"{path}, line {number}: not JSON ({error})") from error
            if not isinstance(data, dict):
                raise BadOption(f"{path}, line {number}: want an object with {', '.join(_REQUIRED)}")
            yield number, data


def _battle(cells: Mapping[str, Any]) -> Battle:
    """One battle from the cells of a line. Raises ValueError."""
    # the prompt may be unknown
    if missing := next((name for name in _REQUIRED[1:] if cells.get(name) in (None, "")), None):
        raise ValueError(f"no {missing}")
    texts = {name: _text(cells.get(name), name) for name in ("prompt", "left", "right", "subset", "judge")}
    human, seed, time = cells.get("human", ""), cells.get("seed"), cells.get("time")
    if human not in (True, False, "", "yes", "no"):
        raise ValueError(f"human is {human!r}; want yes or no")
    return Battle(
        **texts,
        verdict=cast(Verdict, cells["verdict"]),
        human=human in (True, "yes"),
        seed=None if seed in (None, "") else _number(seed, "seed", int),
        time=None if time in (None, "") else _number(time, "time", float),
    )


def _text(cell: Any, name: str) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str | int | float):
        raise ValueError(f"{name} is {cell!r}; want a text")
    return str(cell)


def _number(text: Any, name: str, kind: type[int] | type[float]) -> Any:
    what = "whole number" if kind is int else "number"
    try:
        number = kind(text)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {text!r}; want a {what}") from None
    whole = kind is float or number == text or isinstance(text, str)
    if not (whole and 0 <= number <= _LARGEST):
        raise ValueError(f"{name} is {text!r}; want a {what} from 0")
    return number
