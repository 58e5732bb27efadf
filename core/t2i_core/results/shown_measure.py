"""The measure whose values stand for a metric's headline where single values are shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..api.metric_output import Measure

if TYPE_CHECKING:
    import pandas as pd


def choose_measure(rows: pd.DataFrame, headline: str, alike: Collection[str] | None = None) -> str | None:
    """Return the headline, or, if it is computed from other measures and has no rows, the one with the most rows.

    Args:
        rows: Rows of the metric.
        headline: Name of the headline measure.
        alike: The measures that may stand for it, as `list_alike` has them; if None, all.

    Returns:
        The name; None if no such measure has rows.
    """
    counts = rows["measure"].astype(str).value_counts()
    if headline in counts:
        return headline
    if alike is not None:
        counts = counts[counts.index.isin(list(alike))]
    return None if counts.empty else str(counts.index[0])


def list_alike(measures: Sequence[Measure]) -> list[str]:
    """Return the names of the measures on the scale of the headline, which is the first."""
    scales = [(each.low, each.high, each.higher_is_better) for each in measures]
    return [each.name for each, scale in zip(measures, scales, strict=True) if scale == scales[0]]
