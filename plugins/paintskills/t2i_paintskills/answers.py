"""People's answers about the images: accuracy by their majority, and the metric's agreement with it (phi)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import BarChart
from t2i_core.api.study import Analysis
from t2i_core.io.answer_meaning import find_meant_choice
from t2i_core.io.answers import CANNOT_TELL, SHOWN, HumanAnswer, locate, read_answers
from t2i_core.io.component_answers import (
    COMPONENTS,
    Combination,
    mean_number,
    mean_object,
    mean_relation,
)
from t2i_core.io.majority import find_majority
from t2i_core.statistics import Question, mean_interval, phi

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


def majorities(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answer of most people for each image.

    Returns:
        Columns model, prompt, seed, people (their number) and majority (1 for yes, 0 for no, NaN for a tie or if
        most cannot tell).
    """
    lines = []
    for unit, own in answers.groupby(UNITS):
        found = find_majority(own["answer"])
        value = np.nan if found.answer is None else float(found.answer == "yes")
        lines.append((*unit, found.raters, value))
    return pd.DataFrame(lines, columns=[*UNITS, "people", "majority"])


def compare_with_people(
    path: Path, rows: pd.DataFrame, places: Mapping[str, tuple[str, str, int]], question: Question
) -> Iterator[Analysis]:
    """Yield accuracy by people and by the metric for each model and skill, and their agreement.

    Args:
        path: File of people's answers.
        places: Model, prompt and seed by digest of the image file.
        rows: The metric's decisions, one row for each image.
        question: The question that the intervals of the figure answer.

    Raises:
        BadOption: The file is not valid, or is about none of the run's images.
    """
    found = majorities(read_people(path, rows, places))
    if found.empty:
        raise BadOption(f"{path}: none of the answers is about one image of a skill")
    own = rows[[*UNITS, "skill", "value"]].astype({"model": str, "prompt": str, "seed": int, "skill": str})
    both = found.merge(own, on=UNITS, how="left")
    undecided = both[both["value"].isna()]
    if len(undecided) == len(both):
        first = undecided.iloc[0]
        raise BadOption(
            f"{path}: none of the answers is about an image of the run; the first is about model "
            f"{first['model']!r}, prompt {first['prompt']!r}, seed {first['seed']}"
        )
    both = both.dropna(subset="value")
    groups = [
        (str(model), str(skill), part) for (model, skill), part in both.groupby(["model", "skill"], sort=False)
    ]
    groups.append(("all", "all", both))
    table = pd.DataFrame([_line(*group) for group in groups])
    summary = (
        "Accuracy by the majority of people and by the metric on the same images, without ties and without "
        f"{len(undecided)} images for which the metric has no decision. phi has a 95 % interval over prompts."
    )
    yield Analysis("people", summary, table, _plot_accuracies(groups, question))


def _plot_accuracies(groups: Sequence[tuple[str, str, pd.DataFrame]], question: Question) -> BarChart:
    """Return bars of accuracy by people and by the metric, with intervals, for each model and skill."""
    lines = []
    for model, skill, part in groups:
        clear = part.dropna(subset="majority")
        for judged_by, column in (("people", "majority"), ("metric", "value")) if len(clear) else ():
            found = mean_interval(
                clear[column].to_numpy(float), clear["prompt"], clear["seed"], interval=question, low=0, high=1
            )
            lines.append((model, skill, judged_by, found.value, found.lo, found.hi, len(clear)))
    columns = ["model", "skill", "judged by", "accuracy", "low", "high", "images"]
    return BarChart(
        label=("model", "skill"), value="accuracy", colour="judged by", range=(0, 1),
        data=pd.DataFrame(lines, columns=columns), hover=["images"],
    )  # fmt: skip


def _line(model: str, skill: str, part: pd.DataFrame) -> dict[str, Any]:
    clear = part.dropna(subset="majority")
    majority, value = clear["majority"].to_numpy(np.float64), clear["value"].to_numpy(np.float64)
    agreed = phi(majority, value, clear["prompt"])
    return {
        "model": model,
        "skill": skill,
        "people": majority.mean() if len(clear) else np.nan,
        "metric": value.mean() if len(clear) else np.nan,
        "agreement": (majority == value).mean() if len(clear) else np.nan,
        "phi": agreed.value,
        "phi low": agreed.lo,
        "phi high": agreed.hi,
        "images": len(clear),
        "ties": len(part) - len(clear),
        "annotators": part["people"].mean(),
    }
