"""The columns of a unit's rows in the measurement table."""

from __future__ import annotations

import hashlib
from typing import Any

from ..api.metric_output import Row, Rows
from ..results.metric_rows import make_columns
from .unit_reader import Group


def columns_of(group: Group, row: Row | Rows) -> dict[str, Any]:
    """Return the columns of a row, without its value.

    `seeds` names the samples that a prompt's or a set's value rests on; only values with equal seeds are compared.
    """
    unit = group.unit
    columns = make_columns(unit, row, group.seeds)
    if unit.prompt is None:
        columns |= group.level
        columns["left_out"] = "none" if group.left_out is None else group.left_out
        if group.is_whole:
            identity = "|".join(f"{s.prompt.id}/{s.prompt.scene_digest}/{s.seed}" for s in group.samples)
            columns["seeds"] = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if isinstance(row, Row) and row.because:
        columns["because"] = row.because
    return columns
