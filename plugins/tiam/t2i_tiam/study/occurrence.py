"""Which objects appear, by position, object and colour; and which of them carry their colour."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd
from t2i_core.metrics import Analysis
from t2i_core.statistics import mean_interval

from .drawing import heat_map, named, series
from .tables import Tables


def occurrence(tables: Tables) -> Iterator[Analysis]:
    """Yield the tables of found objects (paper: Table 2, Figures 5, 8, 22) and of colours (Figures 23, 24)."""
    yield by_position(tables)
    yield object_by_position(tables)
    if tables.objects["colour"].notna().any():
        yield colour_by_object(tables)
        yield binding(tables)


def rate(rows: pd.DataFrame, column: str) -> dict[str, Any]:
    """Mean of a column of 0 and 1 with its interval, over new prompts of the kind and new seeds."""
    found = mean_interval(rows[column].to_numpy(float), rows["prompt"], rows["seed"], low=0, high=1)
    return {column: found.value, "low": found.lo, "high": found.hi, "n": len(rows)}


def by_position(tables: Tables) -> Analysis:
    """How often the object at each place of the prompt is found."""
    lines = [
        {"model": model, "kind": kind, "position": position, **rate(own, "found")}
        for (model, kind, position), own in tables.objects.groupby(["model", "kind", "position"], sort=False)
    ]
    table = _ordered(pd.DataFrame(lines), tables, "position")
    summary = "Share of objects that are found, by their position in the prompt; 95 % intervals."
    return Analysis("occurrence by position", summary, table, partial(_draw_positions, table))


def _draw_positions(table: pd.DataFrame, axes: Any) -> None:
    series(table, "position", "found", axes)
    axes.set_xticks(sorted(table["position"].unique()))
    axes.set_ylim(-0.02, 1.02)


def object_by_position(tables: Tables) -> Analysis:
    """How often each object is found at each position (Figure 22)."""
    groups = tables.objects.groupby(["model", "object", "position"], sort=False)["found"]
    table = groups.agg(found="mean", n="size").reset_index()
    table = table.sort_values(["model", "object", "position"], key=_run_order(tables), ignore_index=True)
    summary = "Share of objects that are found, each at each position."
    return Analysis(
        "object by position", summary, table, partial(_draw_grid, table, "object", "position", "found")
    )


def colour_by_object(tables: Tables) -> Analysis:
    """How each object fares in each colour (Figure 8): found, in its colour where found, and both."""
    rows = tables.objects[tables.objects["colour"].notna()]
    groups = rows.groupby(["model", "object", "colour"], sort=False)
    table = groups.agg(
        right=("right", "mean"), found=("found", "mean"), binding=("bound", "mean"), n=("found", "size")
    )
    table = table.reset_index().sort_values(
        ["model", "object", "colour"], key=_run_order(tables), ignore_index=True
    )
    summary = "Share of objects that are found in their colour (right), found, and in their colour where found."
    return Analysis("colour by object", summary, table, partial(_draw_grid, table, "object", "colour", "right"))


def binding(tables: Tables) -> Analysis:
    """Binding by colour and position: the pooled rate, and the mean of the prompts' own rates."""
    rows = tables.objects[tables.objects["bound"].notna()]
    lines = []
    for (model, kind), own in rows.groupby(["model", "kind"], sort=False):
        positions = sorted(own["position"].unique())
        positions = [*positions, "all"] if len(positions) > 1 else positions
        for colour in [*sorted(own["colour"].unique()), "all"]:
            of_colour = own if colour == "all" else own[own["colour"] == colour]
            for position in positions:
                part = of_colour if position == "all" else of_colour[of_colour["position"] == position]
                if len(part):
                    lines.append(
                        {"model": model, "kind": kind, "colour": colour, "position": position, **_both(part)}
                    )
    table = pd.DataFrame(lines)
    summary = (
        "Share of found objects that carry their colour: binding_pooled over all of them with its 95 % interval, "
        "binding_per_prompt the mean of the prompts' own shares."
    )
    return Analysis("binding", summary, table, partial(_draw_binding, table))


def _both(rows: pd.DataFrame) -> dict[str, Any]:
    pooled = rate(rows, "bound")
    per_prompt = rows.groupby("prompt")["bound"].mean()
    return {
        "binding_pooled": pooled.pop("bound"),
        **pooled,
        "binding_per_prompt": float(per_prompt.mean()),
        "prompts": len(per_prompt),
    }


def _draw_binding(table: pd.DataFrame, axes: Any) -> None:
    models, kinds = table["model"].nunique(), table["kind"].nunique()
    table = table.assign(
        column=[
            f"{named(m, k, models, kinds)}, {p}" if models * kinds > 1 else str(p)
            for m, k, p in zip(table["model"], table["kind"], table["position"], strict=True)
        ]
    )
    grid = table.pivot(index="colour", columns="column", values="binding_pooled")
    heat_map(grid.loc[table["colour"].unique(), table["column"].unique()], "binding_pooled", axes)
    axes.set_xlabel("position")


def _draw_grid(table: pd.DataFrame, row: str, column: str, value: str, axes: Any) -> None:
    """Rows by columns, the models beside each other."""
    several = table["model"].nunique() > 1
    names = [f"{m}, {c}" if several else str(c) for m, c in zip(table["model"], table[column], strict=True)]
    table = table.assign(column=names)
    grid = table.pivot(index=row, columns="column", values=value)
    heat_map(grid.loc[table[row].unique(), table["column"].unique()], value, axes)
    axes.set_xlabel(column)


def _ordered(table: pd.DataFrame, tables: Tables, last: str) -> pd.DataFrame:
    return table.sort_values(["model", "kind", last], key=_run_order(tables), ignore_index=True)


def _run_order(tables: Tables) -> Any:
    """Sort models and kinds as the run has them, all else by itself."""
    places = {"model": tables.models, "kind": tables.kinds}

    def key(column: pd.Series) -> pd.Series:
        order = places.get(str(column.name))
        return column if order is None else column.map({name: i for i, name in enumerate(order)})

    return key
