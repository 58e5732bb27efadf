"""Which measure stands for a headline without rows."""

from __future__ import annotations

import pandas as pd
import pytest
from t2i_core.api import Measure
from t2i_core.results.shown_measure import choose_measure, list_alike

MEASURES = (Measure("mean", "", 0, 1), Measure("task", "", 0, 1), Measure("rank", "", 0, 1), Measure("count", ""))


@pytest.mark.parametrize(
    ("measured", "alike", "chosen"),
    [
        (["task", "task", "mean"], True, "mean"),
        (["rank", "task", "task", "count", "count", "count"], True, "task"),
        (["rank", "count", "count"], False, "count"),
        (["count"], True, None),
        ([], False, None),
    ],
)
def test_a_measure_stands_for_a_headline_without_rows(
    measured: list[str], alike: bool, chosen: str | None
) -> None:
    rows = pd.DataFrame({"measure": measured})
    assert choose_measure(rows, "mean", list_alike(MEASURES) if alike else None) == chosen


def test_measures_are_alike_on_one_scale_in_one_direction() -> None:
    assert list_alike((*MEASURES, Measure("error", "", 0, 1, higher_is_better=False))) == ["mean", "task", "rank"]
