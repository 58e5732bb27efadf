"""Plants in pots. Lengths are in metres, roughly life size."""

from __future__ import annotations

import numpy as np

from t2i_miniworld.shapes.mesh import FloatArray, MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import egg
from t2i_miniworld.shapes.turned import lathe, leaf

_UP = np.array([0.0, 0.0, 1.0])


def potted_plant(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a plant in a round pot: a ``bushy`` ball of leaves, or ``spiky`` with long blades."""
    foot, rim = rng.uniform(0.13, 0.16), rng.uniform(0.20, 0.235)
    high = rng.uniform(0.30, 0.36)
    lip = high - rng.uniform(0.06, 0.08)
    neck = foot + (rim - foot) * 0.86
    profile = [
        (foot, 0),
        (neck, lip),
        (rim + 0.012, lip),
        (rim + 0.02, high),
        (rim - 0.015, high),
        (neck - 0.03, lip),
    ]
    parts = [
        lathe("body", profile, rounding=0.012),
        lathe("soil", [(rim - 0.02, lip), (rim - 0.03, high - 0.025)]),
    ]
    parts += _bush(high, rng) if form == "bushy" else _blades(high, rng)
    return assemble(parts)


def _bush(pot: float, rng: np.random.Generator) -> list[Part]:
    """Build leaves all round a ball, like shingles, with a dark heart behind them."""
    wide, tall = rng.uniform(0.27, 0.33), rng.uniform(0.25, 0.33)
    centre = np.array([0, 0, pot + tall * 0.82])
    parts = [egg("shade", (0, 0, float(centre[2])), (wide * 0.80, wide * 0.80, tall * 0.80))]
    count = 110
    # A sunflower's spiral: evenly spread and without rows.
    for number in range(count):
        height = 1 - 1.86 * (number + 0.5) / count
        around = number * 2.39996 + rng.uniform(-0.2, 0.2)
        ring = np.sqrt(1 - height**2)
        out = np.array([ring * np.cos(around), ring * np.sin(around), height])
        along = out * 0.75 + _UP * 0.18 + rng.normal(0, 0.22, 3)
        along /= np.linalg.norm(along)
        length = rng.uniform(0.13, 0.18)
        start = centre + out * (wide, wide, tall) * 0.72
        colour = ("leaf", "leaf", "shade")[number % 3]
        parts.append(_leaf(colour, start, along, length, rng.uniform(0.038, 0.05), 0.35))
    return parts


def _blades(pot: float, rng: np.random.Generator) -> list[Part]:
    """Build long blades from the middle of the pot: upright inside, bending outwards around them."""
    parts: list[Part] = []
    count, droop = int(rng.integers(15, 19)), rng.uniform(0.25, 0.6)
    tall = rng.uniform(0.62, 0.78)
    for number in range(count):
        share = (number + 0.5) / count
        around = number * 2.39996 + rng.uniform(-0.25, 0.25)
        out = np.array([np.cos(around), np.sin(around), 0])
        along = out * (0.12 + 0.85 * share) + _UP
        start = np.array([0, 0, pot - 0.05]) + out * (0.03 + 0.09 * share)
        length = tall * (1 - 0.28 * share) * rng.uniform(0.9, 1.05)
        colour = ("leaf", "shade")[number % 2]
        parts.append(
            _leaf(colour, start, along / np.linalg.norm(along), length, rng.uniform(0.042, 0.055), droop * share)
        )
    return parts


def _leaf(material: str, start: FloatArray, along: FloatArray, length: float, half: float, droop: float) -> Part:
    """Build one leaf from ``start``: it leaves along a direction and sinks by ``droop`` of its length."""
    share = np.linspace(0, 1, 9)[:, None]
    spine = start + along * length * share - _UP * droop * length * share**2
    side = np.cross(_UP, along)
    norm = float(np.linalg.norm(side))
    across = side / norm if norm > 1e-6 else np.array([0.0, 1.0, 0.0])
    width = half * np.sin(np.pi * (0.07 + 0.91 * share[:, 0] ** 0.8))
    return leaf(material, spine, width, across, 0.012)
