"""Buses and vans: tall boxes on wheels, in metres, a little shorter than life."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from t2i_miniworld.shapes.mesh import MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid


def bus(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a town bus, ``single-deck`` or ``double-deck``: a long box of windows with a flat face."""
    double = form == "double-deck"
    half, side = rng.uniform(3.0, 3.3) if double else rng.uniform(3.7, 4.2), 1.22
    roof = rng.uniform(4.2, 4.4) if double else rng.uniform(2.95, 3.15)
    wheel = rng.uniform(0.46, 0.52)
    parts = [box("body", (-half, -side, 0.34), (half, side, roof), 0.16)]
    parts.append(box("accent", (-half - 0.02, -side - 0.02, 0.34), (half + 0.02, side + 0.02, 0.52), 0.05))
    rows = [(1.50, 2.20), (3.02, 3.70)] if double else [(1.45, 2.40)]
    panes = int(rng.integers(4, 6)) if double else int(rng.integers(5, 7))
    for number, (low, high) in enumerate(rows):
        ends = np.linspace(-half + 0.25, half - (1.35 if number == 0 else 0.25), panes + 1)
        for rear, front in pairwise(ends):
            parts += mirrored(_pane(rear + 0.09, front - 0.09, low, high, side))
        parts.append(
            box("glass", (half - 0.05, -1.02, low - (0.2 if number == 0 else 0)), (half + 0.03, 1.02, high), 0.05)
        )
        parts.append(box("glass", (-half - 0.03, -0.85, low + 0.05), (-half + 0.05, 0.85, high), 0.05))
    # two glass doors and the destination sign
    for x in (half - 1.18, half - 0.72):
        parts += mirrored(_pane(x, x + 0.40, 0.62, rows[0][1], side))
    sign = rows[0][1] + 0.14
    parts.append(box("sign", (half - 0.05, -0.75, sign), (half + 0.05, 0.75, sign + 0.30), 0.04))
    for x in (-half + 1.35, half - 1.85):
        parts += mirrored(disc("tyre", (x, side - 0.12, wheel), 1, wheel + 0.08, 0.28, 0.03))
        parts += mirrored(disc("metal", (x, side + 0.02, wheel), 1, wheel * 0.55, 0.08, 0.03))
    parts += mirrored(disc("lamp", (half + 0.02, 0.88, 0.80), 0, 0.17, 0.10, 0.03))
    parts += mirrored(box("tail", (-half - 0.05, 0.80, 0.72), (-half + 0.05, 1.05, 1.0), 0.03))
    parts += mirrored(solid("tyre", [(half, 1.25, 1.75), (half + 0.06, 1.30, 2.10)], 0.09))
    return assemble(parts)


def _pane(rear: float, front: float, low: float, high: float, side: float) -> Part:
    return box("glass", (rear, side - 0.06, low), (front, side + 0.02, high), 0.03)


def van(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a delivery van with a short bonnet and a tall closed box: ``panel``, or ``window`` with a pane."""
    half, side = rng.uniform(2.25, 2.55), 0.96
    roof, wheel = rng.uniform(2.25, 2.55), rng.uniform(0.36, 0.41)
    belt, nose = rng.uniform(1.18, 1.28), rng.uniform(0.98, 1.06)
    # Where the windscreen stands on the bonnet and meets the roof.
    foot, head = half - 0.62, half - 1.30
    profile = [(-half, 0.40), (-half + 0.03, roof), (head, roof), (foot, belt), (foot, 0.40)]
    parts = [
        solid(
            "body", [(x, y, z - (0.1 if z > 1 else 0)) for y in (-side + 0.1, side - 0.1) for x, z in profile], 0.1
        )
    ]
    bonnet = [(foot - 0.4, 0.42), (foot, belt - 0.12), (half - 0.08, nose - 0.12), (half, 0.70), (half, 0.42)]
    parts.append(solid("body", [(x, y, z) for y in (-side + 0.12, side - 0.12) for x, z in bonnet], 0.12))
    # The windscreen, a slab in front of the sloping edge.
    slope = np.array([foot - head, belt - roof]) / np.hypot(foot - head, belt - roof)
    normal = np.array([-slope[1], slope[0]]) * 0.085
    ends = [
        np.array([head, roof - 0.1]) + normal + slope * 0.14,
        np.array([foot, belt - 0.1]) + normal - slope * 0.06,
    ]
    parts.append(solid("glass", [(x, y, z) for y in (-0.76, 0.76) for x, z in ends], 0.035))
    door = head - 0.62
    pane = [(door, belt), (foot - 0.30, belt), (head - 0.02, roof - 0.36), (door, roof - 0.36)]
    parts += mirrored(solid("glass", [(x, side - 0.02, z) for x, z in pane], 0.035))
    if form == "window":
        parts += mirrored(
            box("glass", (door - 1.12, side - 0.06, belt - 0.03), (door - 0.20, side + 0.015, roof - 0.33), 0.035)
        )
    for x in (door - 0.10, door - 1.25):
        parts += mirrored(
            box("seam", (x - 0.018, side - 0.05, 0.62), (x + 0.018, side + 0.008, roof - 0.2), 0.004)
        )
    rail = (door - 1.95, side - 0.05, 1.10), (door - 0.15, side + 0.015, 1.15)
    parts += mirrored(box("seam", *rail, 0.01))
    for y in (0.08, 0.46):
        parts += mirrored(box("glass", (-half - 0.11, y, 1.35), (-half, y + 0.32, roof - 0.4), 0.03))
    for x in (-half + 0.85, half - 0.72):
        parts += mirrored(disc("tyre", (x, side - 0.10, wheel), 1, wheel + 0.03, 0.28, 0.05))
        parts += mirrored(disc("metal", (x, side + 0.03, wheel), 1, wheel * 0.55, 0.06, 0.02))
    parts += mirrored(box("lamp", (half + 0.02, 0.55, 0.70), (half + 0.15, 0.86, 0.90), 0.05))
    parts += mirrored(box("tail", (-half - 0.12, 0.78, 0.80), (-half, 0.92, 1.25), 0.03))
    parts.append(box("tyre", (half, -0.42, 0.70), (half + 0.14, 0.42, 0.86), 0.04))
    parts.append(box("bumper", (half, -0.86, 0.34), (half + 0.17, 0.86, 0.52), 0.06))
    parts += mirrored(box("tyre", (foot - 0.42, side, belt + 0.02), (foot - 0.28, side + 0.20, belt + 0.34), 0.05))
    return assemble(parts)
