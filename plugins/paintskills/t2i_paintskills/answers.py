"""People's answers about the images: whether they show what their prompts ask for, and the majorities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.io.answer_meaning import find_meant_choice
from t2i_core.io.answers import CANNOT_TELL, SHOWN, HumanAnswer, locate, read_answers
from t2i_core.io.component_answers import (
    COMPONENTS,
    Combination,
    mean_number,
    mean_object,
    mean_relation,
)
from t2i_core.io.majority import MajorityRule, find_majority

UNITS = ["model", "prompt", "seed"]


def read_people(path: Path, rows: pd.DataFrame, places: Mapping[str, tuple[str, str, int]]) -> pd.DataFrame:
    """Read people's answers whether images show what their prompts ask for.

    A person says so directly (question `shown`), or by the components that the image shows.

    Args:
        path: A file of people's answers, with answers to other questions or without.
        rows: The metric's decisions, one row for each image, with the facets of the prompts.
        places: Model, prompt and seed by digest of the image file.

    Returns:
        One row for each image and person: columns model, prompt, seed, rater and answer (yes, no or cannot-tell).

    Raises:
        BadOption: The file is not valid, or has no such answers.
    """
    found = read_answers(path).about(SHOWN, *COMPONENTS)
    by_person: dict[tuple[Any, ...], dict[str, HumanAnswer]] = {}
    for answer in locate(found, places):
        if answer.seed is not None:
            key = answer.shown[0].model, answer.prompt, answer.seed, answer.rater
            by_person.setdefault(key, {})[answer.question] = answer
    wanted = {str(row["prompt"]): mean_skill(row) for _, row in rows.drop_duplicates("prompt").iterrows()}
    lines = []
    for (*unit, rater), own in by_person.items():
        means = {"yes": wanted.get(unit[1], ()), "no": ()}
        said = own[SHOWN].answer if SHOWN in own else find_meant_choice(means, list(own.values()))
        if said not in (None, "yes", "no", CANNOT_TELL):
            raise BadOption(f"{path}: {rater} about prompt {unit[1]!r}: answer must be yes or no (got {said!r})")
        if said is not None:
            lines.append((*unit, rater, said))
    return pd.DataFrame(lines, columns=[*UNITS, "rater", "answer"])


def mean_skill(facets: Mapping[str, Any] | pd.Series) -> list[Combination]:
    """Return the answers about components that mean that an image shows what its prompt asks for.

    Args:
        facets: The facets of the prompt's rows, its `skill` among them.
    """
    match facets["skill"]:
        case "count":
            return mean_number(facets["object"], int(facets["count"]))
        case "color":
            return mean_object(facets["object"], facets["colour"])
        case "spatial":
            return mean_relation(facets["object"], facets["object_2"], facets["relation"])
    return mean_object(facets["object"])


def majorities(answers: pd.DataFrame, rule: MajorityRule = "most") -> pd.DataFrame:
    """Return the answer of most people for each image.

    Args:
        answers: The answers, as `read_people` returns them.
        rule: Which answer counts.

    Returns:
        Columns model, prompt, seed, people (their number) and majority (1 for yes, 0 for no, NaN if none counts).
    """
    lines = []
    for unit, own in answers.groupby(UNITS):
        found = find_majority(own["answer"], rule)
        value = np.nan if found.answer is None else float(found.answer == "yes")
        lines.append((*unit, found.raters, value))
    return pd.DataFrame(lines, columns=[*UNITS, "people", "majority"])
