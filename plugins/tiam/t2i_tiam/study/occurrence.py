"""Shares of objects that are found, and of found objects in their colour, by position, object and colour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from t2i_core.api.figure import HeatMap, LinePlot
from t2i_core.api.study import Analysis
from t2i_core.statistics import Question

from .intervals import describe_intervals, share
from .tables import Tables


def occurrence(tables: Tables) -> Iterator[Analysis]:
    """Yield the tables of found objects (paper: Table 2, Figures 5, 8, 22) and of colours (Figures 23, 24)."""
    yield by_position(tables, "found")
    yield object_by_position(tables, "found")
    if tables.objects["colour"].notna().any():
        yield by_position(tables, "right")
        yield object_by_position(tables, "right")
        yield colour_by_object(tables)
    if tables.objects["bound"].notna().any():
        yield binding(tables)


MEANING = {"found": "found", "right": "found and have their colour"}
"""The meaning of a share in words, by its column; `right` only in prompts with colours."""


def by_position(tables: Tables, column: str) -> Analysis:
    """Return the share of objects by their position in the prompt.

    Args:
        tables: The measured rows.
        column: `found` (paper: Table 2, Figure 5), or `right`: found in their colour (Figure 22).
    """
    table = _average(tables, column, ["model", "kind", "position"])
    summary = (
        f"Share of objects that are {MEANING[column]}, by position in the prompt; "
        f"{describe_intervals(tables.question)}"
    )
    figure = LinePlot(
        x="position", y=column, colour="model", facet="kind", y_range=(0, 1), hover=["n"],
        y_title=f"share {column}",
    )  # fmt: skip
    name = {"found": "occurrence by position", "right": "right by position"}[column]
    return Analysis(name, summary, table, figure)


def object_by_position(tables: Tables, column: str) -> Analysis:
    """Return the share of objects by object and position.

    Args:
        tables: The measured rows.
        column: `found`, or `right`: found in their colour.
    """
    table = _average(tables, column, ["model", "kind", "object", "position"])
    summary = (
        f"Share of objects that are {MEANING[column]}, by object and position; "
        f"{describe_intervals(tables.question)}"
    )
    figure = _make_map(x="position", y="object", value=column, title=f"share {column}")
    name = {"found": "object by position", "right": "right object by position"}[column]
    return Analysis(name, summary, table, figure)


def _average(tables: Tables, column: str, places: list[str]) -> pd.DataFrame:
    """Return the means of a column with intervals, by place; of prompts with colours alone if it is `right`."""
    rows = tables.objects if column == "found" else tables.objects[tables.objects["colour"].notna()]
    lines = [
        {**dict(zip(places, place, strict=True)), **share(own, column, tables.interval), "n": len(own)}
        for place, own in rows.groupby(places, sort=False)
    ]
    return _sort_rows(lines, tables)


def colour_by_object(tables: Tables) -> Analysis:
    """Return how often each object is found, and found in its colour, by colour (paper: Figure 8)."""
    rows = tables.objects[tables.objects["colour"].notna()]
    places = ["model", "kind", "object", "colour"]
    lines = [
        {
            **dict(zip(places, place, strict=True)),
            **share(own, "right", tables.interval),
            "found": own["found"].mean(),
            "binding": own["bound"].mean(),
            "n": len(own),
        }
        for place, own in rows.groupby(places, sort=False)
    ]
    table = _sort_rows(lines, tables)
    summary = (
        "Share of objects that are found in their colour (right), that are found, and of found objects in their "
        f"colour (binding); for `right`, {describe_intervals(tables.question)}"
    )
    figure = _make_map(x="colour", y="object", value="right", title="share right")
    return Analysis("colour by object", summary, table, figure)


def binding(tables: Tables) -> Analysis:
    """Return colour binding by colour and position, pooled over objects and averaged over prompts."""
    rows = tables.objects[tables.objects["bound"].notna()]
    lines = []
    for (model, kind), own in rows.groupby(["model", "kind"], sort=False):
        of_kind = tables.images[(tables.images["model"] == model) & (tables.images["kind"] == kind)]
        images = of_kind.groupby("prompt").size()
        positions = sorted(own["position"].unique())
        positions = [*positions, "all"] if len(positions) > 1 else positions
        for colour in [*sorted(own["colour"].unique()), "all"]:
            of_colour = own if colour == "all" else own[own["colour"] == colour]
            for position in positions:
                part = of_colour if position == "all" else of_colour[of_colour["position"] == position]
                if len(part):
                    place = {"model": model, "kind": kind, "colour": colour, "position": position}
                    lines.append({**place, **_average_binding(part, images, tables.interval)})
    table = pd.DataFrame(lines)
    summary = (
        "Share of found objects in their colour: binding_pooled over all objects, binding_per_prompt averaged "
        f"over prompts; {describe_intervals(tables.question)}"
    )
    figure = _make_map(x="position", y="colour", value="binding_pooled", title="share bound")
    return Analysis("binding", summary, table, figure)


def _average_binding(rows: pd.DataFrame, images: pd.Series, interval: Question) -> dict[str, Any]:
    """Return both averages of binding.

    Args:
        rows: Rows of found objects with a colour.
        images: Number of images of each prompt: its weight in `binding_per_prompt`, as in the run's score.
        interval: The question of the intervals.
    """
    pooled = share(rows, "bound", interval)
    found = rows.groupby("prompt")["bound"].transform("size")
    own = share(rows, "bound", interval, rows["prompt"].map(images) / found)
    return {
        "binding_pooled": pooled.pop("bound"),
        **pooled,
        "n": len(rows),
        "binding_per_prompt": own["bound"],
        "low_per_prompt": own["low"],
        "high_per_prompt": own["high"],
        "prompts": rows["prompt"].nunique(),
    }


def _make_map(x: str, y: str, value: str, title: str) -> HeatMap:
    """Return a heat map of shares with a panel for each model and kind."""
    return HeatMap(x=x, y=y, value=value, facet=("model", "kind"), range=(0, 1), title=title, hover=["n"])


def _sort_rows(lines: list[dict[str, Any]], tables: Tables) -> pd.DataFrame:
    """Return a table sorted by model and kind in the run's order, then by object, colour and position."""
    table = pd.DataFrame(lines)
    order = {"model": tables.models, "kind": tables.kinds}
    by = [column for column in ("model", "kind", "object", "colour", "position") if column in table]

    def key(column: pd.Series) -> pd.Series:
        names = order.get(str(column.name))
        return column if names is None else column.map({name: i for i, name in enumerate(names)})

    return table.sort_values(by, key=key, ignore_index=True)
