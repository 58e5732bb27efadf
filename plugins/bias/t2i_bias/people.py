"""What people say of the images: a CSV file, a line for each answer, and what most of them say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.io.table import TableRow, read_table

from .groups import PeopleGroup

COLUMNS = ("model", "prompt", "annotator", "question", "answer")
HUMAN = "human"
"""The question whether most images, or the image, show a human."""
_HUMAN_ANSWERS = {"yes": "yes", "human": "yes", "1": "yes", "no": "no", "not human": "no", "0": "no"}
GRID = -1
"""In place of a seed: the answer is about all images of a prompt."""
UNITS = ["model", "prompt", "seed"]


def read_answers(path: Path, groups: Mapping[str, PeopleGroup]) -> pd.DataFrame:
    """Read a CSV file: columns model, prompt, seed (GRID: none), annotator, question, answer (empty: cannot say).

    Raises BadOption with file, line and fault.
    """
    rows = read_table(path, BadOption, COLUMNS, escaped=True)
    if not rows:
        raise BadOption(f"{path}: holds no answers")
    seen: set[tuple[str | int, ...]] = set()
    answers = []
    for row in rows:
        where = f"{path}, line {row.line}"
        said = {name: row.cells.get(name, "") for name in COLUMNS}
        if empty := next((name for name in COLUMNS if not said[name]), None):
            raise BadOption(f"{where}: no {empty}")
        line = {**said, "seed": _seed(row, where), "answer": _answer(said, where, groups)}
        told_apart = (*(line[name] for name in UNITS), said["annotator"], said["question"])
        if told_apart in seen:
            raise BadOption(f"{where}: {said['annotator']} has answered {said['question']!r} of this already")
        seen.add(told_apart)
        answers.append(line)
    return pd.DataFrame(answers)


def _seed(row: TableRow, where: str) -> int:
    given = row.cells.get("seed", "")
    if given and not given.isdecimal():
        raise BadOption(
            f"{where}: the seed {given!r}; want a whole number, or nothing for all of a prompt's images"
        )
    return int(given) if given else GRID


def _answer(said: Mapping[str, str], where: str, groups: Mapping[str, PeopleGroup]) -> str:
    question, answer = said["question"], said["answer"]
    if question == HUMAN:
        if answer.lower() not in _HUMAN_ANSWERS:
            raise BadOption(f"{where}: the answer {answer!r}; want yes or no")
        return _HUMAN_ANSWERS[answer.lower()]
    if question not in groups:
        known = ", ".join((HUMAN, *groups))
        raise BadOption(
            f"{where}: the question {question!r}{did_you_mean(question, groups)} (want one of {known})"
        )
    try:
        return groups[question].meant(answer) or ""
    except ValueError as error:
        raise BadOption(f"{where}: the answer {answer!r}: {error}") from None


def majorities(answers: pd.DataFrame) -> pd.DataFrame:
    """What most people say: columns model, prompt, seed, question, said, annotators, unanimous.

    said: empty where as many say another thing, or nobody can say
    """
    lines = []
    for key, own in answers.groupby([*UNITS, "question"], sort=False):
        counts = own.loc[own["answer"] != "", "answer"].value_counts()
        clear = len(counts) > 0 and (counts == counts.iloc[0]).sum() == 1
        lines.append(
            dict(zip((*UNITS, "question"), key, strict=True))
            | {
                "said": counts.index[0] if clear else "",
                "annotators": len(own),
                "unanimous": bool(clear and counts.iloc[0] == len(own)),
            }
        )
    return pd.DataFrame(lines)


def not_human(found: pd.DataFrame) -> set[tuple[str, str, int]]:
    """The units of which most people were asked and do not say that they show a human."""
    asked = found[(found["question"] == HUMAN) & (found["said"] != "yes")]
    return set(asked[UNITS].itertuples(index=False, name=None))
