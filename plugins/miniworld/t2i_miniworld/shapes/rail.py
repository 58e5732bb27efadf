"""Trains on a piece of track, in metres, a good deal shorter than life."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from t2i_miniworld.shapes.mesh import MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid

#: The top of the rails, on which wheels stand.
_RAIL = 0.22


def train(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a train: ``electric`` (a streamlined engine with carriages) or ``steam`` (with its tender)."""
    return assemble(_electric(rng) if form == "electric" else _steam(rng))


def _track(rear: float, front: float) -> list[Part]:
    parts = mirrored(box("rail", (rear, 0.66, 0.08), (front, 0.80, _RAIL), 0.02))
    for x in np.arange(rear + 0.3, front, 0.85):
        parts.append(box("sleeper", (x - 0.13, -1.15, 0.0), (x + 0.13, 1.15, 0.10), 0.02))
    return parts


def _electric(rng: np.random.Generator) -> list[Part]:
    side, roof = 1.12, rng.uniform(2.75, 2.95)
    engine, carriage, nose = rng.uniform(3.6, 4.0), rng.uniform(3.3, 3.7), rng.uniform(1.1, 1.5)
    floor, gap = 0.55, 0.22
    # The engine's box, and a nose that slopes down to a low round tip.
    parts = [_coach(0, engine - nose, floor, roof, side)]
    tip = [(engine - nose - 0.2, y, z) for y in (-side + 0.2, side - 0.2) for z in (floor + 0.2, roof - 0.2)]
    tip += [(engine - 0.1, y, z) for y in (-0.62, 0.62) for z in (floor + 0.15, floor + 0.62)]
    tip += [(engine - nose * 0.45, y, roof - 0.62) for y in (-side + 0.32, side - 0.32)]
    parts.append(solid("body", tip, 0.2))
    # The windscreen lies on the slope, from the roof's edge down.
    top, low = np.array([engine - nose - 0.1, roof - 0.16]), np.array([engine - nose * 0.45, roof - 0.62])
    down = (low - top) / np.linalg.norm(low - top)
    out = np.array([-down[1], down[0]]) * 0.19
    screen = [top + out + down * 0.10, low + out - down * 0.02]
    parts.append(solid("glass", [(x, y, z) for y in (-0.68, 0.68) for x, z in screen], 0.04))
    parts += mirrored(disc("lamp", (engine + 0.06, 0.45, floor + 0.5), 0, 0.13, 0.12, 0.03))
    parts.append(box("accent", (engine - 0.3, -0.75, 0.36), (engine + 0.14, 0.75, 0.60), 0.08))
    cars = [(0.0, engine - nose), *((-n * (carriage + gap), carriage) for n in (1, 2))]
    for number, (rear, length) in enumerate(cars):
        if number:
            parts.append(_coach(rear, rear + length, floor, roof, side))
            parts.append(
                box(
                    "tyre",
                    (rear + length - 0.1, -0.7, floor + 0.2),
                    (rear + length + gap + 0.1, 0.7, roof - 0.3),
                    0.05,
                )
            )
        parts += mirrored(
            box(
                "accent",
                (rear + 0.03, side - 0.06, floor + 0.42),
                (rear + length, side + 0.02, floor + 0.68),
                0.03,
            )
        )
        ends = np.linspace(rear + 0.3, rear + length - 0.25, 4 if number == 0 else 5)
        for left, right in pairwise(ends):
            parts += mirrored(
                box("glass", (left + 0.06, side - 0.06, 1.58), (right - 0.06, side + 0.02, 2.22), 0.03)
            )
        for x in (rear + 0.45, rear + 1.2, rear + length - 0.45):
            parts += mirrored(disc("tyre", (x, 0.78, _RAIL + 0.28), 1, 0.30, 0.2, 0.04))
    # The pantograph, a bent arm with its shoe.
    x, knee = 0.7, roof + 0.38
    parts += [
        solid("metal", [(x, 0, roof), (x - 0.42, 0, knee)], 0.045),
        solid("metal", [(x - 0.42, 0, knee), (x + 0.1, 0, knee + 0.34)], 0.045),
        solid("metal", [(x + 0.1, -0.55, knee + 0.36), (x + 0.1, 0.55, knee + 0.36)], 0.05),
    ]
    return parts + _track(cars[-1][0] - 0.2, engine + 0.3)


def _coach(rear: float, front: float, floor: float, roof: float, side: float) -> Part:
    """Build a carriage's body with well rounded roof edges."""
    corners = [(-side + 0.08, floor + 0.08), (-side + 0.08, roof - 0.5), (-side + 0.42, roof - 0.08)]
    ring = corners + [(-y, z) for y, z in corners]
    return solid("body", [(x, y, z) for x in (rear + 0.08, front - 0.08) for y, z in ring], 0.08)


def _steam(rng: np.random.Generator) -> list[Part]:
    radius, axis = rng.uniform(0.66, 0.76), rng.uniform(1.75, 1.90)
    front, cab = rng.uniform(2.3, 2.6), rng.uniform(1.25, 1.45)
    drivers = rng.uniform(0.50, 0.58)
    parts = [disc("body", (front / 2 - 0.2, 0, axis), 0, radius, front + 0.4, 0.05)]
    parts.append(disc("smokebox", (front + 0.25, 0, axis), 0, radius + 0.05, 0.55, 0.06))
    parts.append(disc("metal", (front + 0.54, 0, axis), 0, 0.12, 0.10, 0.03))
    for x in np.linspace(0.35, front - 0.45, 3):
        parts.append(disc("metal", (x, 0, axis), 0, radius + 0.025, 0.09, 0.02))
    tall = axis + radius + rng.uniform(0.55, 0.75)
    parts.append(solid("smokebox", [(front + 0.25, 0, axis + radius - 0.1), (front + 0.25, 0, tall - 0.1)], 0.19))
    parts.append(disc("smokebox", (front + 0.25, 0, tall), 2, 0.32, 0.20, 0.05))
    parts.append(solid("metal", [(front * 0.52, 0, axis + radius), (front * 0.52, 0, axis + radius + 0.14)], 0.26))
    parts.append(disc("lamp", (front + 0.50, 0, axis + radius + 0.12), 0, 0.17, 0.22, 0.03))
    # Running board, cab with its window, and a wide roof.
    parts.append(box("body", (-0.1, -0.98, 1.00), (front + 0.6, 0.98, 1.14), 0.04))
    parts.append(box("accent", (front + 0.50, -1.0, 0.55), (front + 0.68, 1.0, 0.95), 0.05))
    roof = axis + radius + 0.38
    parts.append(box("body", (-cab, -1.02, 0.95), (0.05, 1.02, roof), 0.05))
    parts.append(box("accent", (-cab - 0.22, -1.14, roof - 0.06), (0.22, 1.14, roof + 0.10), 0.07))
    parts += mirrored(box("glass", (-cab + 0.28, 0.98, 1.72), (-0.25, 1.04, roof - 0.24), 0.02))
    parts += mirrored(box("glass", (0.0, 0.62, axis + 0.12), (0.07, 0.92, roof - 0.24), 0.02))
    parts += mirrored(box("body", (front - 0.35, 0.80, 0.52), (front + 0.35, 1.08, 0.98), 0.1))
    for x in (-0.75, 0.45, 1.65):
        parts += _driver(x, drivers)
    parts += mirrored(
        solid("metal", [(-0.75, 1.04, _RAIL + drivers - 0.16), (1.65, 1.04, _RAIL + drivers - 0.16)], 0.065)
    )
    parts += mirrored(solid("metal", [(1.65, 1.04, _RAIL + drivers - 0.16), (front, 1.04, 0.75)], 0.05))
    parts += mirrored(disc("wheel", (front + 0.28, 0.80, _RAIL + 0.26), 1, 0.27, 0.18, 0.04))
    # The cowcatcher.
    low = [(front + 0.55, y, z) for y in (-0.85, 0.85) for z in (0.30, 0.62)]
    parts.append(solid("accent", [*low, (front + 1.08, -0.18, 0.30), (front + 1.08, 0.18, 0.30)], 0.05))
    rear = -cab - 0.45 - rng.uniform(1.9, 2.2)
    parts.append(box("body", (rear, -0.98, 0.80), (-cab - 0.42, 0.98, 2.05), 0.06))
    parts.append(box("tyre", (-cab - 0.5, -0.6, 0.85), (-cab + 0.1, 0.6, 1.1), 0.03))
    heap = [(rear + 0.35, -0.6, 2.0), (rear + 0.35, 0.6, 2.0), (-cab - 0.75, -0.6, 2.0), (-cab - 0.75, 0.6, 2.0)]
    parts.append(solid("coal", [*heap, (rear + 1.0, 0.1, 2.22)], 0.14))
    for x in (rear + 0.5, -cab - 0.92):
        parts += mirrored(disc("wheel", (x, 0.86, _RAIL + 0.36), 1, 0.38, 0.18, 0.04))
    return parts + _track(rear - 0.2, front + 1.2)


def _driver(x: float, radius: float) -> list[Part]:
    """Build a pair of driving wheels: a dark tyre around a wheel of the engine's colour."""
    z = _RAIL + radius
    parts = mirrored(disc("tyre", (x, 0.84, z), 1, radius, 0.20, 0.03))
    parts += mirrored(disc("wheel", (x, 0.88, z), 1, radius * 0.87, 0.20, 0.03))
    return parts + mirrored(disc("metal", (x, 0.96, z), 1, radius * 0.26, 0.10, 0.02))
