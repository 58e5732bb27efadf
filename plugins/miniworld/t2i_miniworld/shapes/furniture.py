"""Chairs, tables, beds and refrigerators, built from rounded solids. Lengths are in metres, roughly life size."""

from __future__ import annotations

import numpy as np

from t2i_miniworld.shapes.mesh import MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid
from t2i_miniworld.shapes.turned import lathe, tube


def refrigerator(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a refrigerator, doors to the front: ``freezer-top``, ``freezer-bottom`` or ``side-by-side``."""
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


def chair(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a chair: ``slat-back`` or ``panel-back`` (four legs), ``armchair`` (upholstered) or ``swivel``."""
    if form == "swivel":
        return _swivel_chair(rng)
    return _armchair(rng) if form == "armchair" else _dining_chair(form, rng)


def _dining_chair(form: str, rng: np.random.Generator) -> MeshModel:
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


def _armchair(rng: np.random.Generator) -> MeshModel:
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


def _swivel_chair(rng: np.random.Generator) -> MeshModel:
    half, seat = rng.uniform(0.25, 0.29), rng.uniform(0.46, 0.53)
    top, reach = rng.uniform(1.02, 1.16), rng.uniform(0.30, 0.34)
    lean, foot = rng.uniform(0.03, 0.09), rng.uniform(0, 2 * np.pi)
    back = [(-0.24, y, seat + 0.20) for y in (0.07 - half, half - 0.07)]
    back += [(-0.24 - lean, y, top - 0.07) for y in (0.10 - half, half - 0.10)]
    back += [(-0.255 - lean * 0.5, y, seat + 0.36) for y in (0.06 - half, half - 0.06)]
    parts = [
        box("seat", (-0.25, -half, seat - 0.05), (0.26, half, seat + 0.06), 0.052),
        solid("body", back, 0.05),
        *tube(
            "base", [(-0.05, 0, seat - 0.055), (-0.31, 0, seat - 0.045), (-0.32 - lean / 2, 0, seat + 0.42)], 0.034
        ),
        lathe("metal", [(0.030, 0.10), (0.030, seat - 0.05)]),
        lathe("base", [(0.065, 0.085), (0.05, 0.17), (0.042, 0.28)]),
    ]
    for angle in foot + np.arange(5) * 2 * np.pi / 5:
        x, y = reach * np.cos(angle), reach * np.sin(angle)
        parts.append(solid("base", [(0, 0, 0.135), (x, y, 0.09)], 0.026))
        parts.append(disc("base", (x, y, 0.042), 1, 0.042, 0.055, 0.014))
    if rng.random() < 0.7:
        arm = seat + rng.uniform(0.19, 0.23)
        parts += mirrored(box("body", (-0.17, half - 0.01, arm - 0.045), (0.15, half + 0.065, arm), 0.02))
        for part in tube(
            "base",
            [(-0.05, half - 0.06, seat - 0.03), (-0.03, half + 0.03, seat), (-0.03, half + 0.03, arm - 0.03)],
            0.024,
        ):
            parts += mirrored(part)
    return assemble(parts)


def dining_table(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a laid table: ``rectangular`` on four legs, its length across x, or ``round`` on a pillar."""
    height = rng.uniform(0.74, 0.80)
    if form == "round":
        return _round_table(height, rng)
    half, deep, leg = rng.uniform(0.68, 0.82), rng.uniform(0.42, 0.48), rng.uniform(0.045, 0.06)
    parts = [
        box("body", (-deep, -half, height - 0.065), (deep, half, height), 0.018),
        box("leg", (-deep + 0.07, -half + 0.07, height - 0.17), (deep - 0.07, half - 0.07, height - 0.05), 0.012),
    ]
    taper = rng.uniform(0.6, 1.0)
    for x in (-deep + 0.09, deep - 0.09):
        posts = [
            (x + dx * wide, half - 0.09 + dy * wide, z)
            for z, wide in ((height - 0.07, leg - 0.015), (0.015, leg * taper - 0.015))
            for dx in (-1, 1)
            for dy in (-1, 1)
        ]
        parts += mirrored(solid("leg", posts, 0.015))
    for x in (-deep * 0.56, deep * 0.56):
        for y in (-half * 0.58, half * 0.58):
            parts += _setting(x, y, height)
    return assemble([*parts, *_fruit_bowl(height, rng)])


def _round_table(height: float, rng: np.random.Generator) -> MeshModel:
    radius, pillar = rng.uniform(0.56, 0.66), rng.uniform(0.05, 0.065)
    parts = [
        disc("body", (0, 0, height - 0.035), 2, radius, 0.07, 0.022),
        lathe("leg", [(radius * 0.8, height - 0.12), (radius * 0.8, height - 0.05)]),
        lathe(
            "leg",
            [
                (0.11, 0.12),
                (0.12, 0.20),
                (pillar, 0.30),
                (pillar * 1.35, height * 0.6),
                (pillar, height - 0.2),
                (0.14, height - 0.08),
            ],
            rounding=0.03,
        ),
    ]
    for angle in np.pi / 4 + np.arange(4) * np.pi / 2:
        x, y = np.cos(angle), np.sin(angle)
        reach = radius * 0.72
        path = [
            (0.06 * x, 0.06 * y, 0.19),
            (reach * 0.6 * x, reach * 0.6 * y, 0.12),
            (reach * x, reach * y, 0.045),
        ]
        parts += tube("leg", path, 0.045)
    for angle in np.arange(4) * np.pi / 2:
        parts += _setting(radius * 0.62 * np.cos(angle), radius * 0.62 * np.sin(angle), height)
    return assemble([*parts, *_fruit_bowl(height, rng)])


def _setting(x: float, y: float, height: float) -> list[Part]:
    """Build a plate."""
    rim = [(0.055, height), (0.115, height + 0.022), (0.105, height + 0.026), (0.06, height + 0.010)]
    return [lathe("china", rim, (x, y), 0.004)]


def _fruit_bowl(height: float, rng: np.random.Generator) -> list[Part]:
    wall = [
        (0.05, height),
        (0.06, height + 0.02),
        (0.15, height + 0.11),
        (0.135, height + 0.11),
        (0.05, height + 0.04),
    ]
    parts = [lathe("china", wall, rounding=0.008)]
    turn = rng.uniform(0, 2 * np.pi)
    for number, fruit in enumerate(("apple", "orange", "pear")):
        x, y = 0.06 * np.cos(turn + number * 2.1), 0.06 * np.sin(turn + number * 2.1)
        parts.append(solid(fruit, [(x, y, height + 0.125)], 0.058))
    return parts


def bed(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a made bed, its foot to the front: ``single`` or ``double``."""
    half = rng.uniform(0.46, 0.53) if form == "single" else rng.uniform(0.76, 0.86)
    length, board = rng.uniform(0.98, 1.06), rng.uniform(0.92, 1.12)
    foot, top = rng.uniform(0.42, 0.56), rng.uniform(0.50, 0.55)
    fold = -length + rng.uniform(0.62, 0.72)
    parts = [
        box("body", (-length - 0.03, -half - 0.05, 0.16), (-length + 0.05, half + 0.05, board), 0.03),
        box("body", (length - 0.05, -half - 0.05, 0.12), (length + 0.03, half + 0.05, foot), 0.03),
        box("body", (-length, -half - 0.02, 0.15), (length, half + 0.02, 0.29), 0.02),
        box("sheet", (-length + 0.05, -half + 0.01, 0.24), (length - 0.06, half - 0.01, top - 0.03), 0.06),
        box("blanket", (fold, -half - 0.035, 0.22), (length - 0.055, half + 0.035, top + 0.03), 0.05),
        box("sheet", (fold - 0.06, -half - 0.04, 0.25), (fold + 0.12, half + 0.04, top + 0.045), 0.045),
    ]
    for x in (-length + 0.02, length - 0.02):
        parts += mirrored(box("body", (x - 0.05, half - 0.05, 0), (x + 0.05, half + 0.05, 0.25), 0.02))
    wide = half * 0.72 if form == "single" else half * 0.42
    for y in (0.0,) if form == "single" else (-half * 0.48, half * 0.48):
        pillow = [
            (-length + 0.15 + dx, y + dy * (wide - 0.09), top + 0.05 + up)
            for dx, up in ((0.0, 0.10), (0.29, 0.0))
            for dy in (-1, 1)
        ]
        parts.append(solid("pillow", pillow, 0.085))
    return assemble(parts)
