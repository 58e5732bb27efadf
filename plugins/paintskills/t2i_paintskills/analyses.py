"""Tables and figures from decisions: the skills side by side, and scores by object, count, colour and relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.study import Analysis, Study

from .skills import SKILLS

_FACETS = {"object": "objects", "count": "counts", "colour": "colours", "relation": "relations"}
"""Facets, and what the tables by them are called."""


def analyse(study: Study, metric: str, answers: Path | None) -> Iterator[Analysis]:
    """Yield all that can be said of one metric's decisions; of several skills in one run, the first says the table
    of all."""
    if study.table.empty:
        return
    own = decided(study.table, metric)
    others = study.others
    if others is None or others.empty:
        others = pd.DataFrame(columns=["metric", "measure"])
    per_skill = {f"paintskills-{skill}": skill for skill in SKILLS}
    beside = [decided(others[others["metric"] == name], name) for name in per_skill if name != metric]
    present = [name for name, skill in per_skill.items() if name == metric or _has(beside, skill)]
    if metric == "paintskills":
        yield skills(own)
    elif present[0] == metric:
        yield skills(pd.concat([own, *(rows for rows in beside if len(rows))]))
    for skill in SKILLS:
        rows = own[own["skill"] == skill]
        for facet, plural in _FACETS.items():
            if facet in rows and rows[facet].notna().any():
                before = f"{skill}: " if metric == "paintskills" else ""
                yield by_facet(rows, facet, f"{before}{plural}")
    if answers is not None:
        from .answers import people

        yield from people(answers, own)


def decided(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The rows of a metric that say whether an image is right, with a column `skill`."""
    skill = (
        table["measure"].astype(str).str.removeprefix("paintskills-")
        if metric == "paintskills"
        else pd.Series(metric.removeprefix("paintskills-"), index=table.index)
    )
    headline = table["measure"].astype(str).isin(SKILLS if metric == "paintskills" else (metric,))
    return table.drop(columns="skill", errors="ignore").assign(skill=skill)[headline]


def _has(tables: Sequence[pd.DataFrame], skill: str) -> bool:
    return any((rows["skill"] == skill).any() for rows in tables)


def models_of(rows: pd.DataFrame) -> list[str]:
    """The models in the order of the run: upper bounds are last."""
    return list(dict.fromkeys(rows["model"].astype(str)))


def skills(rows: pd.DataFrame) -> Analysis:
    """The paper's Table 3: a row for each model and upper bound, a column for each skill, and their average."""
    means = rows.groupby(["model", "skill"], observed=True)["value"].mean().unstack("skill")
    there = [skill for skill in SKILLS if skill in means]
    table = means.reindex(models_of(rows))[there]
    if len(there) > 1:
        table["average"] = table[there].mean(axis=1, skipna=False)
    table = table.rename_axis("model").rename_axis(columns=None).reset_index()
    summary = (
        "Accuracy by skill; an upper bound is what the judge says of what was asked for, drawn by a simulator."
    )
    return Analysis("skills", summary, table, partial(_bars, table.set_index("model").T))


def by_facet(rows: pd.DataFrame, facet: str, name: str) -> Analysis:
    """Accuracy for each level of a facet: a column for each model, and how many images the one with most has."""
    groups = rows.groupby([facet, "model"], observed=True, sort=False)["value"]
    table = groups.mean().unstack("model").reindex(columns=models_of(rows))
    table = table.rename_axis(columns=None)
    figure = partial(_bars, table)
    images = groups.size().unstack("model").max(axis=1).astype(int)
    table = table.assign(images=images).reset_index()
    return Analysis(name, f"Accuracy by {facet}.", table, figure)


def _bars(table: pd.DataFrame, axes: Any) -> None:
    """A group of bars for each row, one for each column."""
    width = 0.8 / max(len(table.columns), 1)
    for i, column in enumerate(table.columns):
        axes.bar([row + i * width for row in range(len(table))], table[column], width, align="edge", label=column)
    axes.set_xticks([row + 0.4 for row in range(len(table))], [str(level) for level in table.index])
    if len(table) > 6:
        axes.tick_params(axis="x", labelrotation=90, labelsize=7)
    axes.set_ylim(0, 1)
    axes.set_ylabel("accuracy")
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
