"""Chairs and refrigerators, built from rounded convex solids. Lengths are in metres, roughly life size."""

from __future__ import annotations

import numpy as np

from t2i_miniworld.shapes.mesh import Model, Part, assemble
from t2i_miniworld.shapes.solids import box, mirrored, solid


def refrigerator(form: str, rng: np.random.Generator) -> Model:
    """A refrigerator, doors to the front: ``freezer-top``, ``freezer-bottom`` or ``side-by-side``."""
    half, depth = (0.48 if form == "side-by-side" else 0.37) * rng.uniform(0.93, 1.07), rng.uniform(0.32, 0.38)
    height = rng.uniform(1.7, 1.95)
    front = depth + 0.085
    # The casing is the dark gap between and around the doors.
    parts = [
        box("body", (-depth, -half, 0.07), (depth - 0.03, half, height), 0.04),
        box("gap", (-depth + 0.05, -half + 0.03, 0.03), (depth + 0.02, half - 0.03, height - 0.04), 0.02),
    ]
    if form == "side-by-side":
        split = half * rng.uniform(-0.15, 0.25)
        panels = [(-half, split - 0.015, 0.09, height), (split + 0.015, half, 0.09, height)]
        handles = [(split - 0.08, 0.75, 1.35), (split + 0.08, 0.75, 1.35)]
    else:
        split = height * (rng.uniform(0.66, 0.74) if form == "freezer-top" else rng.uniform(0.32, 0.40))
        panels = [(-half, half, 0.09, split - 0.02), (-half, half, split + 0.02, height)]
        side = half - 0.09
        below, above = max(split - 0.55, 0.25), min(split + 0.5, height - 0.1)
        handles = [(side, below, split - 0.10), (side, split + 0.10, above)]
    for left, right, bottom, top in panels:
        parts.append(box("body", (depth - 0.01, left, bottom), (front, right, top), 0.03))
    for y, bottom, top in handles:
        parts += _handle(front, y, bottom, top)
    if form == "side-by-side":
        parts.append(box("gap", (front - 0.03, split + 0.14, 1.0), (front + 0.01, half - 0.08, 1.28), 0.015))
    for x in (-depth + 0.05, depth - 0.14):
        parts += mirrored(box("gap", (x, half - 0.12, 0), (x + 0.08, half - 0.04, 0.1), 0.02))
    return assemble(parts)


def _handle(front: float, y: float, bottom: float, top: float) -> list[Part]:
    bar = solid("metal", [(front + 0.06, y, bottom), (front + 0.06, y, top)], 0.028)
    ends = [solid("metal", [(front - 0.01, y, z), (front + 0.06, y, z)], 0.022) for z in (bottom, top)]
    return [bar, *ends]


def chair(form: str, rng: np.random.Generator) -> Model:
    """A chair: ``slat-back``, ``panel-back`` (both on four legs) or ``armchair`` (upholstered)."""
    return _armchair(rng) if form == "armchair" else _dining_chair(form, rng)


def _dining_chair(form: str, rng: np.random.Generator) -> Model:
    half, deep = rng.uniform(0.23, 0.27), rng.uniform(0.22, 0.26)
    seat, top = rng.uniform(0.44, 0.50), rng.uniform(0.95, 1.12)
    leg, rake = rng.uniform(0.026, 0.036), rng.uniform(0.04, 0.12)
    low, high = (-deep - 0.02, -half - 0.02, seat - 0.045), (deep + 0.03, half + 0.02, seat + 0.02)
    parts = [box("seat", low, high, 0.03)]
    for x in (-deep + 0.02, deep - 0.02):
        splay = 0.03 if x > 0 else -0.04
        parts += mirrored(solid("body", [(x, half - 0.02, seat - 0.02), (x + splay, half, leg)], leg))
    posts = [(-deep + 0.01, half - 0.02, seat), (-deep - rake, half - 0.02, top - leg)]
    parts += mirrored(solid("body", posts, leg))
    if form == "slat-back":
        for share in (0.35, 0.62, 0.92):
            x, z = -deep + 0.01 - (rake + 0.01) * share, seat + (top - leg - seat) * share
            ends = [(x, side * (half - 0.03), z + up) for side in (-1, 1) for up in (-0.03, 0.03)]
            parts.append(solid("body", ends, 0.018))
    else:
        ends = [
            (-deep + 0.01 - (rake + 0.01) * share, side * (half - 0.02), seat + (top - leg - seat) * share)
            for side in (-1, 1)
            for share in (0.25, 0.97)
        ]
        parts.append(solid("body", ends, 0.026))
    rail = seat * 0.42
    parts += mirrored(solid("body", [(-deep, half - 0.01, rail), (deep, half - 0.01, rail)], leg * 0.7))
    return assemble(parts)


def _armchair(rng: np.random.Generator) -> Model:
    half, deep, top = rng.uniform(0.33, 0.40), rng.uniform(0.32, 0.38), rng.uniform(0.85, 1.02)
    arm = rng.uniform(0.58, 0.66)
    back = [(-deep + x, y, z) for y in (-half + 0.05, half - 0.05) for x, z in ((0.10, 0.3), (0.02, top - 0.1))]
    parts = [
        box("body", (-deep, -half, 0.14), (deep, half, 0.36), 0.06),
        box("seat", (-deep + 0.1, -half + 0.10, 0.30), (deep + 0.03, half - 0.10, 0.47), 0.06),
        solid("body", back, 0.095),
        *mirrored(box("body", (-deep, half - 0.07, 0.14), (deep, half + 0.08, arm), 0.065)),
    ]
    for x in (-deep + 0.08, deep - 0.08):
        parts += mirrored(solid("leg", [(x, half - 0.06, 0.18), (x, half - 0.03, 0.025)], 0.028))
    return assemble(parts)
