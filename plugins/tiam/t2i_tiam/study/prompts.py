"""Scores by number of objects, and differences between wordings of the same objects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd
from t2i_core.api.figure import ForestPlot, LinePlot
from t2i_core.api.study import Analysis
from t2i_core.statistics import holm, paired_difference

from .intervals import describe_intervals, share
from .tables import Tables


def sizes(tables: Tables) -> Iterator[Analysis]:
    """Yield the scores by number of objects, with and without colours (paper: Table 3)."""
    lines: list[dict[str, Any]] = []
    for model in tables.models:
        for kind in tables.kinds:
            own = tables.images[(tables.images["model"] == model) & (tables.images["kind"] == kind)]
            for measure, column in (("tiam", "value"), ("objects", "objects")):
                rows = own[own[column].notna()]
                if len(rows):
                    found = share(rows, column, tables.interval)
                    lines.append(
                        {
                            "model": model,
                            "kind": kind,
                            "n_objects": int(rows["n_objects"].iloc[0]),
                            "measure": measure,
                            "score": found.pop(column),
                            **found,
                            "prompts": rows["prompt"].nunique(),
                            "images": len(rows),
                        }
                    )
    table = pd.DataFrame(lines)
    summary = (
        "Scores by number of objects: tiam, and for prompts with colours also objects (found in any colour); "
        f"{describe_intervals(tables.question)}"
    )
    yield Analysis("number of objects", summary, table, _plot_sizes(table))


def _plot_sizes(table: pd.DataFrame) -> LinePlot | ForestPlot:
    """Return the scores along the number of objects, or side by side if all prompts have as many."""
    if table["n_objects"].nunique() < 2:
        return ForestPlot(
            label=("kind", "measure", "model"), value="score", range=(0, 1), hover=["prompts", "images"]
        )
    ways = table["kind"].str.replace(r"^\d+ ", "", regex=True).str.replace(r"object\b", "objects", regex=True)
    return LinePlot(
        x="n_objects", y="score", colour="model", facet=("way", "measure"), y_range=(0, 1),
        data=table.assign(way=ways), x_title="objects in the prompt", hover=["prompts", "images"],
    )  # fmt: skip


def wordings(tables: Tables) -> Iterator[Analysis]:
    """Yield the differences between wordings, paired by objects and seed (paper: Table 6)."""
    asked = tables.prompts["asked"]
    images = tables.images.join(tables.prompts[["wording", "asked"]], on="prompt")
    images["kind"] = images["kind"].str.replace(r" \(.*", "", regex=True)  # remove the wording
    several = asked[asked.duplicated(keep=False)]
    if several.empty:
        return
    images = images[images["asked"].isin(set(several))]
    lines: list[dict[str, Any]] = []
    for (model, kind), own in images.groupby(["model", "kind"], sort=False):
        cells = own.pivot_table(index=["asked", "seed"], columns="wording", values="value")
        for a, b in combinations(sorted(cells.columns, key=str), 2):
            both = cells[[a, b]].dropna()
            if both.empty:
                continue
            groups = pd.factorize(both.index.get_level_values("asked"))[0]
            seeds = both.index.get_level_values("seed")
            found = paired_difference(both[a], both[b], groups, seeds, interval=tables.interval, low=0, high=1)
            lines.append(
                {
                    "model": model,
                    "kind": kind,
                    "a": a or PLAIN,
                    "b": b or PLAIN,
                    "tiam_a": float(both[a].mean()),
                    "tiam_b": float(both[b].mean()),
                    "difference": found.diff,
                    "low": found.lo,
                    "high": found.hi,
                    "clusters": found.n_clusters,
                    "p_unadjusted": found.p,
                    "prompts": len(set(groups)),
                    "images": len(both),
                }
            )
    if not lines:
        return
    table = pd.DataFrame(lines)
    table.insert(list(table).index("p_unadjusted"), "p_adjusted", holm(table["p_unadjusted"]))
    summary = (
        "Difference a - b between wordings of the same objects, paired by objects and seed; 95 % intervals "
        f"({tables.question}; t over clusters, rough with fewer than 10), p_adjusted by Holm."
    )
    figure = ForestPlot(
        label=("pair", "kind", "model"), value="difference", reference=0, title="difference of tiam",
        data=table.assign(pair=table["a"] + " - " + table["b"]),
    )  # fmt: skip
    yield Analysis("wording", summary, table, figure)


PLAIN = "plain"
"""Name of the wording of a template without `id_suffix`."""
