"""The line that says why a run failed."""

from __future__ import annotations

from collections import Counter

import pytest
from t2i_core.engine.score import make_verdict


@pytest.mark.parametrize(("length", "shown"), [(200, "x" * 200), (201, f"{'x' * 199}…")])
def test_a_long_reason_is_visibly_shortened(length: int, shown: str) -> None:
    line = make_verdict((1.0, "all failed"), 0.01, Counter({"x" * length: 3}))
    assert line is not None
    assert line.endswith(f": 3 x {shown}")
