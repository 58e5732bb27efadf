"""Fixtures: the golden cases, and detections built from boxes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import Detections, ObjectClass

GOLDEN = Path(__file__).parent / "golden" / "geneval.json"


@pytest.fixture(scope="session")
def golden() -> Callable[[int], dict[str, Any]]:
    """Return a golden case by its number."""
    cases = {case["id"]: case for case in json.loads(GOLDEN.read_text())}
    return lambda number: cases[f"geneval-{number:02d}"]


@pytest.fixture(scope="session")
def detect() -> Callable[[Mapping[str, Sequence[Sequence[float]]]], Detections]:
    """Return a function that makes detections by class: x0, y0, x1, y1 and score of each."""
    return _make_detections


def _make_detections(found: Mapping[str, Sequence[Sequence[float]]]) -> Detections:
    labels = tuple(ObjectClass(name) for name in found)
    rows = [(number, *each) for number, own in enumerate(found.values()) for each in own]
    array = np.array(rows, np.float64).reshape(-1, 6)
    return Detections(
        size=(200, 200),
        boxes=array[:, 1:5].astype(np.float32),
        scores=array[:, 5].astype(np.float32),
        classes=array[:, 0].astype(np.int16),
        labels=labels,
    )
