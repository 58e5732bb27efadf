"""People's answers about images: the record, its two forms (a database of the voting page, CSV), and their reader.

Every metric and command that uses people's answers reads them here, so one file serves all of them.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..api.errors import BadFolder, BadOption
from ..files.atomic_write import replace_file
from ..files.spreadsheet import escape
from .rater_rules import SEVERAL, find_careless
from .table import parse_table
from .text_file import read_text

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["answer", "training", "control"]
"""Kind of task that was answered: a task that counts, a training task, or a hidden check with a known answer."""

PREFERENCE = "preference"
"""The question which of two sides is better."""

SHOWN = "shown"
"""The question whether an image shows what its prompt asks for."""

LEFT, RIGHT, TIE, BOTH_BAD = "left", "right", "tie", "both-bad"
"""Answers to `PREFERENCE`."""

CANNOT_TELL = "cannot-tell"
"""The answer of somebody who cannot decide, to any question about one side."""

NOBODY = "judge not named"
"""The rater of answers whose file names none."""


@dataclass(frozen=True)
class ShownImages:
    """One model's images of a prompt that were shown together: one image, or a grid of them.

    Attributes:
        model: Label of the model; empty if it is not known.
        seeds: Seeds of the images; empty if they are not known, or if these are all images of the prompt.
        digests: SHA-256 (hex) of the image files; empty if they are not known.
    """

    model: str = ""
    seeds: tuple[int, ...] = ()
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class HumanAnswer:
    """One person's answer to one question about images.

    Attributes:
        rater: Name of the person.
        question: Short name of the question (`preference`, `human`, `gender`).
        answer: The answer: one of the choices, or `CANNOT_TELL`.
        shown: What was shown: one side, or left and right.
        prompt: Id of the prompt; empty if it is not known.
        text: The question in words; empty if it is not known.
        subset: Category of the prompt.
        time: Seconds since 1970 (UTC); None if it is not known.
        seconds: Time from first showing the images to the answer; None if it is not known.
        part: What the answer was given to.
        expected: The right answer, for training and control; empty for the rest. Several that are right are
            joined by ` | `.
        task: Id that answers given together have in common; empty if it is not known.
        instructions: SHA-256 (hex) of the instructions that the rater read; empty without instructions.
        probability: Probability with which these images were drawn to be asked about, in (0, 1]; None if they
            were not drawn.
        choices: The answers that were offered; empty if they are not known.
    """

    rater: str
    question: str
    answer: str
    shown: tuple[ShownImages, ...]
    prompt: str = ""
    text: str = ""
    subset: str = ""
    time: float | None = None
    seconds: float | None = None
    part: Part = "answer"
    expected: str = ""
    task: str = ""
    instructions: str = ""
    probability: float | None = None
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.part not in get_args(Part):
            raise ValueError(f"part must be one of {', '.join(get_args(Part))} (got {self.part!r})")
        if len(self.shown) not in (1, 2):
            raise ValueError(f"one side or two must be shown (got {len(self.shown)})")
        if not all(side.model or side.digests for side in self.shown):
            raise ValueError("the images must have the label of their model, or digests")
        if self.question == PREFERENCE:
            if len(self.shown) != 2:
                raise ValueError("a preference is about two sides")
            if self.answer not in (LEFT, RIGHT, TIE, BOTH_BAD):
                raise ValueError(f"a preference must be left, right, tie or both-bad (got {self.answer!r})")
        if self.probability is not None and not 0 < self.probability <= 1:
            raise ValueError(f"probability must be above 0 and at most 1 (got {self.probability:g})")

    @property
    def identity(self) -> tuple[Any, ...]:
        """Key of the person, the question and the images, the same for both orders of two sides."""
        return self.rater, self.question, self.text, self.prompt, frozenset(self.shown), self.part

    @property
    def seed(self) -> int | None:
        """The seed, if one image was shown on each side and its seed is known."""
        seeds = {side.seeds for side in self.shown}
        only = seeds.pop() if len(seeds) == 1 else ()
        return only[0] if len(only) == 1 else None


@dataclass(frozen=True)
class AnswerFile:
    """The answers of one file.

    Attributes:
        path: The file.
        answers: Those that count, in the order of the file.
        left_out: Number of answers that do not count, by reason (`of control`, `too fast`).
    """

    path: Path
    answers: tuple[HumanAnswer, ...]
    left_out: Mapping[str, int]

    def about(self, *questions: str) -> tuple[HumanAnswer, ...]:
        """Return the answers to these questions.

        Raises:
            BadOption: If no answer is found.
        """
        found = tuple(answer for answer in self.answers if answer.question in questions)
        if not found:
            asked = ", ".join(dict.fromkeys(answer.question for answer in self.answers))
            raise BadOption(f"{self.path}: has no answers to {' or '.join(questions)}, only to {asked}")
        return found


def read_answers(path: Path) -> AnswerFile:
    """Read people's answers: a database of the voting page, or CSV (.csv, .tsv).

    Training, controls, answers that are too fast, and all answers of careless raters do not count.

    Raises:
        BadOption: If the file cannot be read, is not valid, or has no answer that counts. The message names file
            and line.
    """
    if path.exists() and not path.is_file():
        raise BadOption(f"{path}: is not a file of answers; name a database of the voting page or a CSV file")
    if path.suffix.lower() in (".csv", ".tsv"):
        every, careless, fastest = _read_csv(path), frozenset[str](), 0.0
    else:
        from .answer_database import read_database

        try:
            every, rules = read_database(path)
        except BadFolder as error:
            raise BadOption(str(error)) from error
        careless, fastest = find_careless(every, rules), rules.fastest
    kept, left_out = [], Counter[str]()
    for answer in every:
        if answer.part != "answer":
            left_out[f"of {answer.part}"] += 1
        elif answer.rater in careless:
            left_out["of careless annotators"] += 1
        elif answer.seconds is not None and answer.seconds < fastest:
            left_out["too fast"] += 1
        else:
            kept.append(answer)
    if not kept:
        reasons = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items()))
        raise BadOption(f"{path}: no answers that count{f' ({reasons})' if reasons else ''}; collect some first")
    return AnswerFile(path, tuple(kept), dict(left_out))


COLUMNS = (
    *("rater", "question", "answer", "prompt", "left", "right", "left_seeds", "right_seeds"),
    *("left_images", "right_images", "text", "subset", "time", "seconds"),
    *("part", "expected", "task", "instructions", "probability", "choices"),
)
"""Columns of the CSV form. `left` alone names the model if one side is shown."""

_ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("annotator", "judge"), "rater"),
    **dict.fromkeys(("verdict", "choice"), "answer"),
    **dict.fromkeys(("model", "model_a"), "left"),
    "model_b": "right",
    "synset": "prompt",
    "item": "task",
}
"""Columns of tables of answers that earlier versions read, and what they are called now."""

_MAIN_COLUMNS = ("rater", "question", "answer", "prompt", "left", "right")

_ANSWERS: Mapping[str, str] = {"a": LEFT, "b": RIGHT}
_YES_NO: Mapping[str, str] = {"yes": "yes", "no": "no", "1": "yes", "0": "no"}
_DIGEST = re.compile("[0-9a-f]{64}")


def write_answers(path: Path, answers: Iterable[HumanAnswer]) -> None:
    """Write answers as CSV. Unknown values are left empty."""
    with replace_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for answer in answers:
            writer.writerow([escape(cell) for cell in _list_cells(answer)])


def _list_cells(answer: HumanAnswer) -> Sequence[Any]:
    left, right = answer.shown if len(answer.shown) == 2 else (answer.shown[0], ShownImages())
    known = [
        answer.rater, answer.question, answer.answer, answer.prompt, left.model, right.model,
        " ".join(map(str, left.seeds)), " ".join(map(str, right.seeds)),
        " ".join(left.digests), " ".join(right.digests), answer.text, answer.subset, answer.time, answer.seconds,
        "" if answer.part == "answer" else answer.part, answer.expected, answer.task, answer.instructions,
        answer.probability, SEVERAL.join(answer.choices),
    ]  # fmt: skip
    return ["" if cell is None else cell for cell in known]


def _read_csv(path: Path) -> list[HumanAnswer]:
    """Read the CSV form; also tables of battles, and those with the columns of earlier versions."""
    names, rows = parse_table(path, read_text(path, BadOption), BadOption, escaped=True)
    if not rows:
        raise BadOption(f"{path}: no answers; the file must have a line for each answer")
    _check_columns(path, names)
    found: list[HumanAnswer] = []
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        where = f"{path}, line {row.line}"
        model = "human" in names and row.cells.get("human") != "yes"
        if model or row.cells.get("verdict") in ("unparsable", "refused", "failed"):
            continue  # a line of a table of battles that no person gave
        cells = {_ALIASES.get(name, name): cell for name, cell in row.cells.items()}
        try:
            answer = _parse(cells)
        except ValueError as error:
            raise BadOption(f"{where}: {error}") from None
        key = (*answer.identity, row.cells.get("item", ""))
        if key in seen:
            raise BadOption(
                f"{where}: {answer.rater} answers {answer.question!r} twice about the same images; delete one of "
                "the lines"
            )
        seen.add(key)
        found.append(answer)
    return found


def _check_columns(path: Path, names: Sequence[str]) -> None:
    """Check that a table has the column without which no row is an answer.

    Raises:
        BadOption: If one is missing; the message blames the header.
    """
    if "answer" not in {_ALIASES.get(name, name) for name in names}:
        raise BadOption(
            f"{path}, line 1: no column 'answer'; a table of people's answers has the columns "
            f"{', '.join(_MAIN_COLUMNS)} and more (got {', '.join(names)})"
        )


def _parse(cells: Mapping[str, str]) -> HumanAnswer:
    """Return the answer in the cells of a line.

    Raises:
        ValueError: If a cell is missing or not valid.
    """
    if "answer" not in cells:
        raise ValueError("the column 'answer' is missing or empty; fill it in or delete the line")
    left = _parse_side(cells, "left")
    right = _parse_side(cells, "right")
    pair = right != ShownImages(seeds=right.seeds)
    if pair and left.model == right.model and left.seeds == right.seeds and left.digests == right.digests:
        raise ValueError(f"left and right must be two different models (got {left.model!r} twice)")
    answer = cells["answer"]
    # the only tables without questions that earlier versions read ask for a preference, or whether all is shown
    question = cells.get("question") or (PREFERENCE if pair else SHOWN if answer.lower() in _YES_NO else "")
    if not question:
        raise ValueError("the column 'question' is missing or empty; fill it in")
    return HumanAnswer(
        rater=cells.get("rater", NOBODY),
        question=question,
        answer=_name_as_now(question, answer),
        shown=(left, right) if pair else (left,),
        prompt=cells.get("prompt", ""),
        text=cells.get("text", ""),
        subset=cells.get("subset", ""),
        time=_parse_number(cells, "time"),
        seconds=_parse_number(cells, "seconds"),
        part=cells.get("part", "answer"),  # type: ignore[arg-type]  # the record refuses another one
        expected=cells.get("expected", ""),
        task=cells.get("task", ""),
        instructions=cells.get("instructions", ""),
        probability=_parse_number(cells, "probability"),
        choices=tuple(cells["choices"].split(SEVERAL)) if "choices" in cells else (),
    )


def _name_as_now(question: str, answer: str) -> str:
    """Return an answer in the words of this version."""
    lower = answer.lower()
    if question == PREFERENCE:
        return _ANSWERS.get(lower, lower)
    return _YES_NO.get(lower, answer) if question == SHOWN else answer


def _parse_side(cells: Mapping[str, str], side: str) -> ShownImages:
    seeds = cells.get(f"{side}_seeds", cells.get("seed", "")).split()
    if wrong := next((seed for seed in seeds if not (seed.isascii() and seed.isdecimal())), None):
        raise ValueError(f"seeds must be whole numbers (got {wrong!r})")
    digests = tuple(cells.get(f"{side}_images", "").split())
    if odd := next((digest for digest in digests if not _DIGEST.fullmatch(digest)), None):
        raise ValueError(f"{side}_images must be SHA-256 digests of image files (got {odd!r})")
    return ShownImages(cells.get(side, ""), tuple(map(int, seeds)), digests)


def _parse_number(cells: Mapping[str, str], name: str) -> float | None:
    if name not in cells:
        return None
    try:
        number = float(cells[name])
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ValueError(f"{name} must be a number of 0 or more (got {cells[name]!r})")
    return number


def find_places(samples: pd.DataFrame) -> dict[str, tuple[str, str, int]]:
    """Return model, prompt and seed of each image of a run by its digest, for `locate`.

    Args:
        samples: The run's samples: columns model, prompt, seed and digest.
    """
    if "digest" not in samples:
        return {}
    named = samples[["digest", "model", "prompt", "seed"]].dropna()
    return {
        str(digest): (str(model), str(prompt), int(seed))
        for digest, model, prompt, seed in named.itertuples(index=False, name=None)
    }


def locate(answers: Iterable[HumanAnswer], places: Mapping[str, tuple[str, str, int]]) -> Iterator[HumanAnswer]:
    """Yield answers with the model, prompt and seeds of images that they name by digest alone.

    Args:
        answers: The answers.
        places: Model, prompt and seed by digest of the image file.
    """
    for answer in answers:
        if all(side.model for side in answer.shown):
            yield answer
            continue
        found = [[places.get(digest) for digest in side.digests] for side in answer.shown]
        if all(place is not None for side in found for place in side):
            sides = [[place for place in side if place is not None] for side in found]
            shown = tuple(
                replace(side, model=own[0][0], seeds=tuple(place[2] for place in own))
                for side, own in zip(answer.shown, sides, strict=True)
            )
            yield replace(answer, shown=shown, prompt=answer.prompt or sides[0][0][1])
        else:
            yield answer
