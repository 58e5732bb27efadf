"""People's answers about the images: which of them mean a category, and the majorities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.io.answers import CANNOT_TELL, HumanAnswer, locate, read_answers
from t2i_core.io.majority import MajorityRule, find_majority

from .groups import UNDECIDED, PeopleGroup

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


def read_people(
    path: Path, groups: Mapping[str, PeopleGroup], places: Mapping[str, tuple[str, str, int]] | None = None
) -> pd.DataFrame:
    """Read people's answers to `human` and about groups.

    Args:
        path: A file of people's answers, with answers to other questions or without.
        groups: The groups.
        places: Model, prompt and seed by digest of the image file.

    Returns:
        Columns model, prompt, seed (GRID if the answer is about several images of the prompt), rater, question and
        answer (`CANNOT_TELL` if the person could not decide).

    Raises:
        BadOption: The file is not valid, or has no answers about the groups. The message names file and problem.
    """
    found = read_answers(path).about(HUMAN, *groups)
    return pd.DataFrame(
        [
            {
                "model": answer.shown[0].model,
                "prompt": answer.prompt,
                "seed": GRID if answer.seed is None else answer.seed,
                "rater": answer.rater,
                "question": answer.question,
                "answer": _parse_answer(answer, path, groups),
            }
            for answer in locate(found, places or {})
        ]
    )


def _parse_answer(answer: HumanAnswer, path: Path, groups: Mapping[str, PeopleGroup]) -> str:
    where = f"{path}: {answer.rater} about model {answer.shown[0].model!r}, prompt {answer.prompt!r}"
    if answer.question == HUMAN:
        if answer.answer.lower() not in (*_HUMAN_ANSWERS, CANNOT_TELL):
            raise BadOption(f"{where}: answer to human must be yes or no (got {answer.answer!r})")
        return _HUMAN_ANSWERS.get(answer.answer.lower(), CANNOT_TELL)
    try:
        return groups[answer.question].parse_answer(answer.answer) or CANNOT_TELL
    except ValueError as error:
        raise BadOption(f"{where}: answer to {answer.question} {error} (got {answer.answer!r})") from None


def majorities(answers: pd.DataFrame, rule: MajorityRule = "most") -> pd.DataFrame:
    """Return the majority of people's answers to each question about each prompt or image.

    Args:
        answers: The answers, as `read_people` returns them.
        rule: Which answer counts.

    Returns:
        Columns model, prompt, seed, question, majority (empty if no answer counts), annotators
        (their number) and unanimous.
    """
    lines = []
    for key, own in answers.groupby([*UNITS, "question"], sort=False):
        found = find_majority(own["answer"], rule)
        lines.append(
            dict(zip((*UNITS, "question"), key, strict=True))
            | {
                "majority": found.answer or "",
                "annotators": found.raters,
                "unanimous": found.is_unanimous,
            }
        )
    return pd.DataFrame(lines)


def find_not_human(found: pd.DataFrame) -> set[tuple[str, str, int]]:
    """Return model, prompt and seed of the answers to `human` that are not a majority of yes."""
    asked = found[(found["question"] == HUMAN) & (found["majority"] != "yes")]
    return set(asked[UNITS].itertuples(index=False, name=None))
