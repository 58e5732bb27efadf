"""People's answers about the images: a CSV file with one line per answer, and the majorities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.io.table import TableRow, read_table

from .groups import UNDECIDED, PeopleGroup

COLUMNS = ("model", "prompt", "annotator", "question", "answer")
HUMAN = "human"
"""The question whether the image, or most images of a prompt, show a human."""
_HUMAN_ANSWERS = {"yes": "yes", "human": "yes", "1": "yes", "no": "no", "not human": "no", "0": "no"}


def mean_person() -> dict[str, list[dict[str, str]]]:
    """Return which of people's answers mean that an image shows a person, and which that it shows none."""
    return {
        choice: [{HUMAN: answer} for answer, meant in _HUMAN_ANSWERS.items() if meant == choice]
        for choice in ("yes", "no")
    }


def mean_categories(name: str, group: PeopleGroup) -> dict[str, list[dict[str, str]]]:
    """Return which of people's answers mean each category of a group, by its text, and which mean none."""
    words = {c.name: (c.name, *c.words) for c in group.categories}
    means = {
        text: [{name: word} for word in words[category]]
        for category, text in zip(group.names, group.texts, strict=True)
    }
    return {**means, "": [*mean_person()["no"], *({name: word} for word in sorted(UNDECIDED))]}


GRID = -1
"""Stands in place of a seed if an answer is about all images of a prompt."""
UNITS = ["model", "prompt", "seed"]
"""Columns that identify what an answer is about."""


def read_answers(path: Path, groups: Mapping[str, PeopleGroup]) -> pd.DataFrame:
    """Read people's answers from a CSV file with one line per answer.

    Returns:
        Columns model, prompt, seed (GRID if the answer is about all images of the prompt), annotator, question and
        answer (empty if the person could not decide).

    Raises:
        BadOption: The file is not valid. The message names file, line and problem.
    """
    rows = read_table(path, BadOption, COLUMNS, escaped=True)
    if not rows:
        raise BadOption(f"{path}: no answers; the file must have a line for each answer")
    seen: set[tuple[str | int, ...]] = set()
    answers = []
    for row in rows:
        where = f"{path}, line {row.line}"
        cells = {name: row.cells.get(name, "") for name in COLUMNS}
        if empty := next((name for name in COLUMNS if not cells[name]), None):
            raise BadOption(f"{where}: column '{empty}' is empty; fill it in or delete the line")
        line = {**cells, "seed": _parse_seed(row, where), "answer": _parse_answer(cells, where, groups)}
        key = (*(line[name] for name in UNITS), cells["annotator"], cells["question"])
        if key in seen:
            raise BadOption(
                f"{where}: {cells['annotator']} answers {cells['question']!r} twice for this prompt and seed; "
                "delete one of the lines"
            )
        seen.add(key)
        answers.append(line)
    return pd.DataFrame(answers)


def _parse_seed(row: TableRow, where: str) -> int:
    seed = row.cells.get("seed", "")
    if seed and not seed.isdecimal():
        raise BadOption(
            f"{where}: seed must be a whole number, or empty for all images of the prompt (got {seed!r})"
        )
    return int(seed) if seed else GRID


def _parse_answer(cells: Mapping[str, str], where: str, groups: Mapping[str, PeopleGroup]) -> str:
    question, answer = cells["question"], cells["answer"]
    if question == HUMAN:
        if answer.lower() not in _HUMAN_ANSWERS:
            raise BadOption(f"{where}: answer must be yes or no (got {answer!r})")
        return _HUMAN_ANSWERS[answer.lower()]
    if question not in groups:
        known = ", ".join((HUMAN, *groups))
        raise BadOption(
            f"{where}: question must be one of {known} (got {question!r}){did_you_mean(question, groups)}"
        )
    try:
        return groups[question].parse_answer(answer) or ""
    except ValueError as error:
        raise BadOption(f"{where}: answer {error} (got {answer!r})") from None


def majorities(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answer of most people to each question about each prompt or image.

    "Cannot tell" is an answer like any other: four who cannot tell and one "male" are no majority for "male".

    Returns:
        Columns model, prompt, seed, question, majority (empty for a tie, or if most cannot tell), annotators
        (their number) and unanimous.
    """
    lines = []
    for key, own in answers.groupby([*UNITS, "question"], sort=False):
        counts = own["answer"].value_counts()
        clear = counts.index[0] != "" and (counts == counts.iloc[0]).sum() == 1
        lines.append(
            dict(zip((*UNITS, "question"), key, strict=True))
            | {
                "majority": counts.index[0] if clear else "",
                "annotators": len(own),
                "unanimous": bool(clear and counts.iloc[0] == len(own)),
            }
        )
    return pd.DataFrame(lines)


def find_not_human(found: pd.DataFrame) -> set[tuple[str, str, int]]:
    """Return model, prompt and seed of the answers to `human` that are not a majority of yes."""
    asked = found[(found["question"] == HUMAN) & (found["majority"] != "yes")]
    return set(asked[UNITS].itertuples(index=False, name=None))
