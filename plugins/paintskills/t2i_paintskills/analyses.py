"""Tables and figures of accuracy: by skill, and by object, count, colour and relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places

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
        yield by_skill(own)
    elif present[0] == metric:
        yield by_skill(pd.concat([own, *(rows for rows in tables if len(rows))]))
    for skill in SKILLS:
        rows = own[own["skill"] == skill]
        for facet, plural in _FACETS.items():
            if facet in rows and rows[facet].notna().any():
                prefix = f"{skill}: " if metric == "paintskills" else ""
                yield by_facet(rows, facet, f"{prefix}{plural}")
    if answers is not None:
        from .answers import compare_with_people

        yield from compare_with_people(answers, own, find_places(study.samples))


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


def by_skill(rows: pd.DataFrame) -> Analysis:
    """Return accuracy by skill and its average, one row for each model and upper bound.

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
    return Analysis("skills", summary, table, partial(_draw_bars, table.set_index("model").T))


def by_facet(rows: pd.DataFrame, facet: str, name: str) -> Analysis:
    """Return accuracy for each level of a facet: a column for each model, and the largest number of images."""
    groups = rows.groupby([facet, "model"], observed=True, sort=False)["value"]
    table = groups.mean().unstack("model").reindex(columns=models_of(rows))
    table = table.rename_axis(columns=None)
    figure = partial(_draw_bars, table)
    images = groups.size().unstack("model").max(axis=1).astype(int)
    table = table.assign(images=images).reset_index()
    return Analysis(name, f"Accuracy by {facet}.", table, figure)


def _draw_bars(table: pd.DataFrame, axes: Any) -> None:
    """Draw a group of bars for each row, one bar for each column."""
    width = 0.8 / max(len(table.columns), 1)
    for i, column in enumerate(table.columns):
        axes.bar([row + i * width for row in range(len(table))], table[column], width, align="edge", label=column)
    axes.set_xticks([row + 0.4 for row in range(len(table))], [str(level) for level in table.index])
    if len(table) > 6:
        axes.tick_params(axis="x", labelrotation=90, labelsize=7)
    axes.set_ylim(0, 1)
    axes.set_ylabel("accuracy")
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
