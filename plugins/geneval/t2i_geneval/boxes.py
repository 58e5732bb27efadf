"""Boxes: their overlap, and the position of one relative to another.

References:
    djghosh13/geneval: evaluation/evaluate_images.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Box = Sequence[float]
"""x0, y0, x1, y1 in pixels, y growing downward."""

Boxes = NDArray[np.floating]
"""Boxes, shape (n, 4)."""

_SAME_PLACE = 1e-3
"""Distance in pixels along both axes, from which centres are apart."""


def measure_overlap(box: Box, others: Boxes) -> NDArray[np.float64]:
    """Return the intersection over union of a box and others; a box ends with its last pixel.

    Args:
        box: The box.
        others: The others, shape (n, 4).

    Returns:
        float64 of shape (n,), from 0 to 1.
    """
    a, b = np.asarray(box, np.float64), np.asarray(others, np.float64).reshape(-1, 4)
    sides = np.minimum(a[2:], b[:, 2:]) - np.maximum(a[:2], b[:, :2]) + 1
    shared = np.maximum(sides, 0).prod(axis=1)
    of_others = np.maximum(b[:, 2:] - b[:, :2] + 1, 0).prod(axis=1)
    return np.asarray(shared / (np.maximum(a[2:] - a[:2] + 1, 0).prod() + of_others - shared))


def find_positions(box: Box, other: Box, margin: float) -> frozenset[str]:
    """Return where a box is relative to another: left, right, above, below, two of these, or nothing.

    Args:
        box: The box.
        other: The other one.
        margin: Part of both boxes' sizes by which their centres must be further apart.
    """
    a, b = np.asarray(box, np.float64), np.asarray(other, np.float64)
    offset = (a[:2] + a[2:] - b[:2] - b[2:]) / 2
    sizes = (a[2:] - a[:2]) + (b[2:] - b[:2])
    rest = np.sign(offset) * np.maximum(np.abs(offset) - margin * sizes, 0)
    if (np.abs(rest) < _SAME_PLACE).all():
        return frozenset()
    x, y = rest / np.linalg.norm(offset)
    holds = {"left": x < -0.5, "right": x > 0.5, "above": y < -0.5, "below": y > 0.5}
    return frozenset(name for name, true in holds.items() if true)


def select_boxes(
    boxes: Boxes, scores: NDArray[np.floating], confidence: float, most: int, max_overlap: float
) -> NDArray[np.intp]:
    """Return which boxes of one class are kept, the most confident first.

    Args:
        boxes: The boxes, shape (n, 4).
        scores: Their confidences, shape (n,).
        confidence: Boxes are kept above it.
        most: The most boxes that are kept.
        max_overlap: Overlap from which the less confident one of two boxes is dropped; 1 drops none.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > confidence][:most]
    if max_overlap >= 1:
        return order
    kept: list[int] = []
    while len(order):
        first, order = int(order[0]), order[1:]
        kept.append(first)
        order = order[measure_overlap(boxes[first], boxes[order]) < max_overlap]
    return np.array(kept, np.intp)
