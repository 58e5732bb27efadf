"""Tables and figures of accuracy: by skill, and by object, count, colour and relation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.figure import BarChart
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.io.majority import MajorityRule
from t2i_core.statistics import Estimate, Question, mean_interval, statistic_intervals

from .skills import SKILLS

_FACETS = {"object": "objects", "count": "counts", "colour": "colours", "relation": "relations"}
"""Facets, and the names of the tables by facet."""
_SPATIAL_FACETS = {"object": "objects A", "object_2": "objects B", "relation": "relations"}


def analyse(
    study: Study, metric: str, answers: Path | None, majority: MajorityRule = "most"
) -> Iterator[Analysis]:
    """Yield the analyses of one metric's decisions.

    If a run has several metrics of single skills, the first one yields the table of all skills.

    Args:
        study: The measurements of a run.
        metric: Name of the metric.
        answers: File of people's answers, if there is one.
        majority: Which answer of several people counts.

    Raises:
        BadOption: The file of people's answers is not valid, or is about none of the run's images.
    """
    if study.table.empty:
        return
    own = select_decisions(study.table, metric)
    others = study.others
    if others is None or others.empty:
        others = pd.DataFrame(columns=["metric", "measure"])
    per_skill = {f"paintskills-{skill}": skill for skill in SKILLS}
    tables = [select_decisions(others[others["metric"] == name], name) for name in per_skill if name != metric]
    present = [name for name, skill in per_skill.items() if name == metric or _has_skill(tables, skill)]
    every = own
    if metric != "paintskills" and present[0] == metric:
        every = pd.concat([own, *(rows for rows in tables if len(rows))])
    if metric in ("paintskills", present[0] if present else ""):
        yield by_skill(every, study.interval)
    for skill in SKILLS:
        rows = own[own["skill"] == skill]
        for facet, plural in (_SPATIAL_FACETS if skill == "spatial" else _FACETS).items():
            if facet in rows and rows[facet].notna().any():
                prefix = f"{skill}: " if metric == "paintskills" else ""
                yield by_facet(rows, facet, f"{prefix}{plural}", study.interval)
    if answers is not None:
        from .people_comparison import compare_with_people

        yield from compare_with_people(answers, every, find_places(study.samples), study.interval, majority)


def select_decisions(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of a metric that say whether an image is correct, with a column `skill`."""
    skill = (
        table["measure"].astype(str).str.removeprefix("paintskills-")
        if metric == "paintskills"
        else pd.Series(metric.removeprefix("paintskills-"), index=table.index)
    )
    headline = table["measure"].astype(str).isin(SKILLS if metric == "paintskills" else (metric,))
    return table.drop(columns="skill", errors="ignore").assign(skill=skill)[headline]


def _has_skill(tables: Sequence[pd.DataFrame], skill: str) -> bool:
    return any((rows["skill"] == skill).any() for rows in tables)


def models_of(rows: pd.DataFrame) -> list[str]:
    """Return the models in the order of the run, upper bounds last."""
    return list(dict.fromkeys(rows["model"].astype(str)))


def by_skill(rows: pd.DataFrame, question: Question) -> Analysis:
    """Return accuracy by skill and its average, one row for each model and upper bound.

    Args:
        rows: Rows of all skills.
        question: The question that the intervals answer.

    References:
        DALL-Eval, first version, Table 3.
    """
    present = [skill for skill in SKILLS if (rows["skill"] == skill).any()]
    found = _estimate_accuracy(rows, "skill", present, question)
    lines = []
    for model in models_of(rows):
        line: dict[str, Any] = {"model": model}
        counts = {}
        for skill in present:
            line |= _name_ends(skill, found.get((skill, model)))
            counts[f"images {skill}"] = int(((rows["skill"] == skill) & (rows["model"] == model)).sum())
        if len(present) > 1:
            whole = all(counts.values())
            own = rows[rows["model"] == model]
            line |= _name_ends("average", _average(own, present, question) if whole else None)
        lines.append(line | counts)
    summary = (
        "Accuracy by skill, with 95 % intervals and numbers of images; an upper bound is the judge's score of a "
        "simulator's images of the same prompts."
    )
    return Analysis("skills", summary, pd.DataFrame(lines), _plot_accuracy(rows, "skill", present, found))


def by_facet(rows: pd.DataFrame, facet: str, name: str, question: Question) -> Analysis:
    """Return accuracy for each level of a facet: columns for each model, and the largest number of images."""
    groups = rows.groupby([facet, "model"], observed=True, sort=False)["value"]
    images = groups.size().unstack("model").max(axis=1).astype(int).sort_index()
    found = _estimate_accuracy(rows, facet, list(images.index), question)
    lines = []
    for level, number in images.items():
        line: dict[str, Any] = {facet: level}
        for model in models_of(rows):
            line |= _name_ends(model, found.get((level, model)))
        lines.append(line | {"images": number})
    figure = _plot_accuracy(rows, facet, list(images.index), found)
    title = {"object_2": "object B"}.get(facet, facet)
    return Analysis(name, f"Accuracy by {title}, with 95 % intervals.", pd.DataFrame(lines), figure)


Estimates = Mapping[tuple[Any, str], Estimate]
"""Accuracy by level and model."""


def _estimate_accuracy(rows: pd.DataFrame, column: str, levels: Sequence[Any], question: Question) -> Estimates:
    """Return each model's accuracy, with intervals, for the levels of a column."""
    found = {}
    for level in levels:
        for model in models_of(rows):
            part = rows[(rows[column] == level) & (rows["model"] == model)]
            if len(part):
                found[level, model] = mean_interval(
                    part["value"], clusters_of(part), part["seed"], interval=question, low=0, high=1
                )
    return found


def _average(rows: pd.DataFrame, skills: Sequence[str], question: Question) -> Estimate:
    """Return the mean of the skills' accuracies; prompts are resampled within their skill."""
    codes = rows["skill"].map(list(skills).index).to_numpy(np.intp)
    values = rows["value"].to_numpy(np.float64)
    found = statistic_intervals(
        lambda weights: {"average": average_accuracy(codes, values, weights)},
        clusters_of(rows), rows["seed"], interval=question, strata=rows["skill"], ranges={"average": (0, 1)},
    )  # fmt: skip
    return found["average"]


def clusters_of(rows: pd.DataFrame) -> pd.Series:
    """Return what prompts count as one draw: their cluster, or the prompt itself."""
    return rows["cluster"] if "cluster" in rows else rows["prompt"]


def average_accuracy(codes: NDArray[np.intp], values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the mean over skills of the weighted accuracies; NaN if the weights of a skill sum to 0.

    Args:
        codes: Index of each row's skill, shape (n,).
        values: 1 if the image is right, otherwise 0, shape (n,).
        weights: Weight of each row, shape (n,).
    """
    there = np.bincount(codes) > 0
    totals, right = (np.bincount(codes, own)[there] for own in (weights, weights * values))
    return float((right / totals).mean()) if (totals > 0).all() else float("nan")


def _name_ends(name: str, found: Estimate | None) -> dict[str, float]:
    """Return a value and its interval under the names of their columns; NaN without a value."""
    value, low, high = (np.nan,) * 3 if found is None else (found.value, found.lo, found.hi)
    return {name: value, f"{name} low": low, f"{name} high": high}


def _plot_accuracy(rows: pd.DataFrame, column: str, levels: Sequence[Any], found: Estimates) -> BarChart:
    """Return bars of each model's accuracy, with intervals, for the levels of a column in their order."""
    lines = []
    for level in levels:
        for model in models_of(rows):
            if (own := found.get((level, model))) is not None:
                images = int(((rows[column] == level) & (rows["model"] == model)).sum())
                lines.append((level, model, own.value, own.lo, own.hi, images))
    data = pd.DataFrame(lines, columns=[column, "model", "accuracy", "low", "high", "images"])
    return BarChart(label=column, value="accuracy", colour="model", range=(0, 1), data=data, hover=["images"])
