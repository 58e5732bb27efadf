"""Fixtures: detections from short descriptions, and the golden cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import Detections, Prompt, Row, Sample, Unit
from t2i_core.api.metric_input import Answer, Observed
from t2i_paintskills.metrics import NEED
from t2i_paintskills.skills import COLOURS, NAMES, SHAPES, SkillText

LABELS = tuple(SHAPES.values())
TOLD = (*COLOURS, "black")  # what the judge tells apart


class World:
    """Factory of prompts, detections and rows."""

    labels = LABELS

    def item(self, skill: str, *names: str, **more: Any) -> SkillText:
        return SkillText(skill, tuple(NAMES[name] for name in names), **more)  # type: ignore[arg-type]

    def detections(self, queries: Sequence[Mapping[str, Any]], size: tuple[int, int] = (100, 100)) -> Detections:
        """Return detections: `p` by shape, `box` as relative centre and size, `color` by name."""
        n = len(queries)
        probs, colours = np.zeros((n, len(LABELS)), np.float32), np.zeros((n, len(TOLD)), np.float32)
        boxes = np.zeros((n, 4), np.float32)
        for row, query in enumerate(queries):
            for shape, p in query["p"].items():
                probs[row, list(SHAPES).index(shape)] = p
            for colour, p in query.get("color", {}).items():
                colours[row, TOLD.index(colour)] = p
            cx, cy, w, h = query.get("box", (0.5, 0.5, 0.2, 0.2))
            boxes[row] = np.array([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]) * [*size, *size]
        return Detections(
            size, boxes, probs.max(axis=1, initial=0), probs.argmax(axis=1).astype(np.int16), LABELS, probs,
            colours, TOLD,
        )  # fmt: skip

    def rows(self, metric: Any, prompt: Prompt, found: Any) -> list[Any]:
        """Return what a metric yields for one image."""
        metric.check([prompt]) if metric.name != "paintskills" else None
        observed = Observed((Sample("model", prompt, 0),), {NEED: [Answer(found, {})]})
        return list(metric.measure(Unit(("model",), prompt, 0, [observed])))

    def values(self, metric: Any, prompt: Prompt, found: Any) -> dict[str, float]:
        return {row.measure: row.value for row in self.rows(metric, prompt, found) if isinstance(row, Row)}


@pytest.fixture(scope="session")
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    cases = json.loads((Path(__file__).parent / "golden" / "paintskills.json").read_text())
    return {case["id"]: case for case in cases}.__getitem__
