"""Backpacks and suitcases. Lengths are in metres, roughly life size."""

from __future__ import annotations

import numpy as np

from t2i_miniworld.shapes.mesh import MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid
from t2i_miniworld.shapes.turned import strap, tube


def backpack(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a backpack, pockets to the front: ``school``, or ``hiking``, taller and with a mat on top."""
    return _hiking(rng) if form == "hiking" else _school(rng)


def _sack(material: str, low: float, high: float, back: float, front: float, half: float, soft: float) -> Part:
    """Build a stuffed bag from ``low`` to ``high``: fuller below the middle, narrower on top."""
    middle = low + 0.4 * (high - low)
    points = [
        (x + bulge * (x > 0), side * (half + bulge - soft - pinch), z)
        for side in (-1, 1)
        for z, bulge, pinch in ((low + soft, 0.0, 0.01), (middle, 0.012, 0.0), (high - soft, -0.012, 0.025))
        for x in (back + soft, front - soft)
    ]
    return solid(material, points, soft)


def _school(rng: np.random.Generator) -> MeshModel:
    half, high = rng.uniform(0.155, 0.185), rng.uniform(0.43, 0.50)
    front, back = rng.uniform(0.085, 0.105), -0.09
    pocket, deep = high * rng.uniform(0.48, 0.56), rng.uniform(0.05, 0.07)
    inner = half - 0.035
    parts = [
        _sack("body", 0.0, high, back, front, half, 0.075),
        _sack("pocket", 0.02, pocket, front - 0.08, front + deep, inner, 0.045),
        *mirrored(_sack("pocket", 0.015, high * 0.40, -0.07, 0.055, half + 0.018, 0.035)),
    ]
    rail = front + deep - 0.004
    parts += tube("zip", [(rail, y, pocket * 0.80) for y in (-inner + 0.045, inner - 0.045)], 0.008)
    parts.append(
        solid(
            "metal", [(rail + 0.006, inner * 0.4, pocket * 0.79), (rail + 0.01, inner * 0.4, pocket * 0.66)], 0.009
        )
    )
    arch = [
        (front - 0.035, (half - 0.03) * np.cos(a), high * 0.66 + (high * 0.34 - 0.022) * np.sin(a))
        for a in np.linspace(0, np.pi, 11)
    ]
    parts += tube("zip", arch, 0.011)
    loop = [(-0.04, 0.055 * np.cos(a), high - 0.02 + 0.065 * np.sin(a)) for a in np.linspace(0, np.pi, 7)]
    parts += strap("strap", loop, (0.012, 0, 0), 0.009)
    return assemble([*parts, *_shoulder_straps(back, high, half, rng.uniform(0.05, 0.08))])


def _shoulder_straps(back: float, high: float, half: float, sag: float) -> list[Part]:
    """Build two padded straps behind the back, from the top down to the lower corners."""
    parts: list[Part] = []
    for side in (-1, 1):
        path = [
            (back + 0.04, side * half * 0.38, high - 0.03),
            (back - 0.02, side * half * 0.45, high + 0.005),
            (back - sag, side * half * 0.60, high - 0.07),
            (back - sag - 0.03, side * half * 0.74, high * 0.58),
            (back - sag * 0.75, side * half * 0.86, high * 0.32),
            (back + 0.04, side * half * 0.86, high * 0.12),
        ]
        parts += strap("strap", path, (0, 0.020, 0), 0.015)
    return parts


def _hiking(rng: np.random.Generator) -> MeshModel:
    half, high = rng.uniform(0.155, 0.18), rng.uniform(0.60, 0.68)
    front, back = rng.uniform(0.10, 0.12), -0.10
    pocket = high * rng.uniform(0.50, 0.58)
    deep, roll = rng.uniform(0.05, 0.065), rng.uniform(0.068, 0.08)
    lid = high - 0.09
    parts = [
        _sack("body", 0.0, high - 0.03, back, front, half, 0.07),
        _sack("pocket", 0.05, pocket, front - 0.07, front + deep, half - 0.03, 0.045),
        *mirrored(_sack("pocket", 0.03, high * 0.55, -0.065, 0.06, half + 0.055, 0.045)),
        box("pocket", (back + 0.005, -half - 0.006, lid), (front + 0.045, half + 0.006, high + 0.02), 0.045),
        disc("mat", (-0.01, 0, high + roll - 0.005), 1, roll, 2 * half + 0.16, 0.02),
        *mirrored(disc("strap", (-0.01, half * 0.62, high + roll - 0.005), 1, roll + 0.008, 0.032, 0.008)),
        *mirrored(disc("zip", (-0.01, half + 0.079, high + roll - 0.005), 1, roll * 0.45, 0.012, 0.004)),
    ]
    for side in (-1, 1):
        y = side * half * 0.52
        path = [
            (front + 0.043, y, high - 0.02),
            (front + 0.047, y, lid + 0.01),
            (front + deep + 0.002, y, pocket - 0.05),
        ]
        parts += strap("strap", [*path, (front + deep + 0.008, y, pocket * 0.55)], (0, 0.014, 0), 0.008)
        parts.append(
            box(
                "metal",
                (front + 0.03, y - 0.024, pocket + 0.005),
                (front + 0.075, y + 0.024, pocket + 0.045),
                0.008,
            )
        )
    parts += tube("zip", [(front + deep + 0.004, y, pocket * 0.42) for y in (-half * 0.6, half * 0.6)], 0.008)
    return assemble([*parts, *_shoulder_straps(back, high - 0.06, half, rng.uniform(0.05, 0.08))])


def suitcase(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a suitcase, broad side to the front: a hard ``trolley`` on wheels, or ``vintage`` with straps."""
    return _trolley(rng) if form == "trolley" else _vintage(rng)


def _trolley(rng: np.random.Generator) -> MeshModel:
    half, deep = rng.uniform(0.21, 0.25), rng.uniform(0.125, 0.15)
    low, high = 0.075, rng.uniform(0.64, 0.74)
    handle = high + rng.uniform(0.16, 0.26)
    parts = [
        box("body", (-deep, -half, low), (-0.012, half, high), 0.05),
        box("body", (0.012, -half, low), (deep, half, high), 0.05),
        box("zip", (-0.05, -half + 0.012, low + 0.012), (0.05, half - 0.012, high - 0.012), 0.04),
    ]
    ribs = int(rng.integers(4, 7))
    for y in np.linspace(-half + 0.065, half - 0.065, ribs):
        for x in (deep, -deep):
            parts.append(solid("body", [(x, y, low + 0.07), (x, y, high - 0.07)], 0.013))
    for x in (-deep + 0.05, deep - 0.05):
        parts += mirrored(disc("wheel", (x, half - 0.06, 0.042), 1, 0.042, 0.045, 0.012))
        parts += mirrored(box("zip", (x - 0.03, half - 0.095, 0.05), (x + 0.03, half - 0.025, low + 0.02), 0.012))
    rod = half * 0.48
    parts += mirrored(solid("metal", [(-deep + 0.05, rod, high - 0.05), (-deep + 0.05, rod, handle)], 0.0135))
    parts.append(solid("wheel", [(-deep + 0.05, -rod - 0.01, handle), (-deep + 0.05, rod + 0.01, handle)], 0.024))
    grip = [(-0.08, high - 0.01), (-0.06, high + 0.025), (0.06, high + 0.025), (0.08, high - 0.01)]
    parts += tube("wheel", [(0.05, y, z) for y, z in grip], 0.011)
    side = half - 0.006
    middle = (low + high) / 2
    path = [(0.03, side, middle - 0.09), (0.03, side + 0.028, middle - 0.06), (0.03, side + 0.028, middle + 0.06)]
    parts += tube("wheel", [*path, (0.03, side, middle + 0.09)], 0.012)
    return assemble(parts)


def _vintage(rng: np.random.Generator) -> MeshModel:
    half, deep, high = rng.uniform(0.34, 0.40), rng.uniform(0.095, 0.12), rng.uniform(0.45, 0.54)
    parts = [
        box("body", (-deep, -half, 0.0), (deep, half, high), 0.03),
        box("trim", (-0.012, -half - 0.006, -0.006), (0.012, half + 0.006, high + 0.006), 0.012),
    ]
    belt = half * rng.uniform(0.48, 0.56)
    parts += mirrored(
        box("trim", (-deep - 0.009, belt - 0.028, -0.009), (deep + 0.009, belt + 0.028, high + 0.009), 0.012)
    )
    parts += mirrored(
        box("metal", (deep, belt - 0.04, high * 0.66), (deep + 0.022, belt + 0.04, high * 0.66 + 0.07), 0.01)
    )
    cap = 0.085
    for x in (-1, 1):
        for z in (0, 1):
            corner = [
                (
                    x * (deep - 0.025) - x * dx,
                    half - 0.025 - dy,
                    (high - 0.025 if z else 0.025) - (dz if z else -dz),
                )
                for dx, dy, dz in ((0, 0, 0), (cap * 0.7, 0, 0), (0, cap, 0), (0, 0, cap))
            ]
            parts += mirrored(solid("trim", corner, 0.033))
    grip = [(0, -0.10, high), (0, -0.085, high + 0.055), (0, 0.085, high + 0.055), (0, 0.10, high)]
    parts += tube("trim", grip, 0.019)
    parts += mirrored(box("metal", (-0.028, 0.075, high - 0.01), (0.028, 0.125, high + 0.02), 0.008))
    return assemble(parts)
