"""Tables and figures of accuracy: by skill, and by object, count, colour and relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from t2i_core.api.figure import BarChart
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.statistics import Question, mean_interval

from .skills import SKILLS

_FACETS = {"object": "objects", "count": "counts", "colour": "colours", "relation": "relations"}
"""Facets, and the names of the tables by facet."""


def analyse(study: Study, metric: str, answers: Path | None) -> Iterator[Analysis]:
    """Yield the analyses of one metric's decisions.

    If a run has several metrics of single skills, the first one yields the table of all skills.

    Args:
        study: The measurements of a run.
        metric: Name of the metric.
        answers: File of people's answers, if there is one.

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
    if metric == "paintskills":
        yield by_skill(own, study.interval)
    elif present[0] == metric:
        yield by_skill(pd.concat([own, *(rows for rows in tables if len(rows))]), study.interval)
    for skill in SKILLS:
        rows = own[own["skill"] == skill]
        for facet, plural in _FACETS.items():
            if facet in rows and rows[facet].notna().any():
                prefix = f"{skill}: " if metric == "paintskills" else ""
                yield by_facet(rows, facet, f"{prefix}{plural}", study.interval)
    if answers is not None:
        from .answers import compare_with_people

        yield from compare_with_people(answers, own, find_places(study.samples), study.interval)


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
        question: The question that the intervals of the figure answer.

    References:
        DALL-Eval, first version, Table 3.
    """
    means = rows.groupby(["model", "skill"], observed=True)["value"].mean().unstack("skill")
    present = [skill for skill in SKILLS if skill in means]
    table = means.reindex(models_of(rows))[present]
    if len(present) > 1:
        table["average"] = table[present].mean(axis=1, skipna=False)
    table = table.rename_axis("model").rename_axis(columns=None).reset_index()
    summary = "Accuracy by skill; an upper bound is the judge's score of a simulator's images of the same prompts."
    figure = _plot_accuracy(rows, "skill", present, question)
    return Analysis("skills", summary, table, figure)


def by_facet(rows: pd.DataFrame, facet: str, name: str, question: Question) -> Analysis:
    """Return accuracy for each level of a facet: a column for each model, and the largest number of images."""
    groups = rows.groupby([facet, "model"], observed=True, sort=False)["value"]
    table = groups.mean().unstack("model").reindex(columns=models_of(rows))
    table = table.rename_axis(columns=None)
    figure = _plot_accuracy(rows, facet, list(table.index), question)
    images = groups.size().unstack("model").max(axis=1).astype(int)
    table = table.assign(images=images).reset_index()
    return Analysis(name, f"Accuracy by {facet}.", table, figure)


def _plot_accuracy(rows: pd.DataFrame, column: str, levels: Sequence[str], question: Question) -> BarChart:
    """Return bars of each model's accuracy, with intervals, for the levels of a column in their order."""
    lines = []
    for level in levels:
        for model in models_of(rows):
            part = rows[(rows[column] == level) & (rows["model"] == model)]
            if part.empty:
                continue
            clusters = part["cluster"] if "cluster" in part else part["prompt"]
            found = mean_interval(part["value"], clusters, part["seed"], interval=question, low=0, high=1)
            lines.append((level, model, found.value, found.lo, found.hi, len(part)))
    data = pd.DataFrame(lines, columns=[column, "model", "accuracy", "low", "high", "images"])
    return BarChart(label=column, value="accuracy", colour="model", range=(0, 1), data=data, hover=["images"])
