"""Columns of a run's tables, checked when they are read, so that readers can rely on them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = {
    "samples.csv": (
        *("model", "prompt", "text", "seed", "noise_seed", "status", "reason"),
        *("image", "digest", "width", "height", "record"),
    ),
    "measurements.csv": ("metric", "measure", "value"),
    "failures.csv": ("metric", "model", "prompt", "seed", "kind", "reason"),
}
"""The columns that each table has at least."""

_FILLED = {
    "samples.csv": ("model", "prompt", "seed", "status"),
    "measurements.csv": ("metric", "measure", "value"),
    "failures.csv": ("metric", "kind"),
}
"""The columns without empty cells."""

_OF_IMAGES = ("image", "digest", "width", "height")


def check_table(name: str, table: pd.DataFrame, models: Mapping[str, Any]) -> pd.DataFrame:
    """Check a table of a run and return it with its numbers as numbers.

    Args:
        name: The name of its file.
        table: The table, every cell a text.
        models: The models of the run's manifest, by label.

    Raises:
        ValueError: If a run did not write it; or TypeError or OverflowError.
    """
    missing = [column for column in _COLUMNS[name] if column not in table]
    if name == "measurements.csv" and table.empty:  # a run that measured nothing writes only the columns it knows
        table, missing = table.reindex(columns=[*table.columns, *missing]), []
    if missing:
        raise ValueError(f"no column {missing[0]!r}")
    _refuse_empty(table, _FILLED[name])
    if "seed" in table:
        table["seed"] = table["seed"].astype("Int64")
    if "value" in table:
        table["value"] = table["value"].map(float)
        if not table["value"].map(math.isfinite).all():
            raise ValueError("a value is not a finite number")
    if name == "samples.csv":
        if unknown := next((model for model in table["model"].unique() if model not in models), None):
            raise ValueError(f"the model {unknown!r} is not among those of run.json")
        there = table[table["status"] == "ok"]
        _refuse_empty(there, _OF_IMAGES)
        if not there["digest"].map(lambda digest: re.fullmatch("[0-9a-f]{64}", digest) is not None).all():
            raise ValueError("a digest is not a SHA-256")
        for side in ("width", "height"):
            table[side] = table[side].astype("Int64")
    return table


def _refuse_empty(table: pd.DataFrame, columns: Sequence[str]) -> None:
    for column in columns:
        if table[column].isna().any():
            raise ValueError(f"a cell of the column {column!r} is empty")
