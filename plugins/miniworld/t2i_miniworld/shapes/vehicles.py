"""Cars and airplanes, built from rounded convex solids. Lengths are in metres, roughly life size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t2i_miniworld.shapes.blobs import Limb, melt
from t2i_miniworld.shapes.mesh import MeshModel, Part, Point, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid


@dataclass(frozen=True)
class _Cabin:
    """Where the windows begin and end along x, at the belt line and at the roof."""

    rear: float
    rear_top: float
    front_top: float
    front: float
    roof: float


_CABINS = {
    "sedan": _Cabin(-1.45, -0.85, 0.25, 0.95, 1.42),
    "hatchback": _Cabin(-1.85, -1.60, 0.25, 0.90, 1.52),
    "suv": _Cabin(-1.95, -1.85, 0.40, 0.95, 1.78),
}


def car(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a car with wheels, windows and lamps: ``sedan``, ``hatchback`` or ``suv``."""
    cabin = _CABINS[form]
    belt = 0.92 if form == "suv" else 0.82
    length, wheel = rng.uniform(1.9, 2.1), (0.42 if form == "suv" else 0.37) * rng.uniform(0.95, 1.08)
    roof = cabin.roof * rng.uniform(0.96, 1.05)
    hood = belt - rng.uniform(0.08, 0.16)
    profile = [
        (-length, 0.42), (-length + 0.05, belt - 0.12), (-1.2, belt - 0.1),
        (0.8, belt - 0.1), (length - 0.08, hood - 0.14), (length, 0.42),
    ]  # fmt: skip
    parts = [solid("body", [(x, y, z) for y in (-0.72, 0.72) for x, z in profile], 0.13)]
    glass: list[Point] = [
        (x, y * side, z)
        for side in (-1, 1)
        for x, y, z in (
            (cabin.rear + 0.08, 0.72, belt - 0.05),
            (cabin.front - 0.08, 0.72, belt - 0.05),
            (cabin.rear_top + 0.06, 0.58, roof - 0.12),
            (cabin.front_top - 0.06, 0.58, roof - 0.12),
        )
    ]
    parts.append(solid("glass", glass, 0.05))
    parts.append(box("body", (cabin.rear_top, -0.66, roof - 0.13), (cabin.front_top, 0.66, roof), 0.06))
    middle = (cabin.rear + cabin.front) / 2 - 0.05
    for foot, head in ((cabin.rear, cabin.rear_top), (cabin.front, cabin.front_top), (middle, middle)):
        parts += mirrored(solid("body", [(foot, 0.74, belt - 0.05), (head, 0.61, roof - 0.07)], 0.06))
    for x in (-1.22, 1.25):
        parts += mirrored(disc("tyre", (x, 0.78, wheel), 1, wheel, 0.26, 0.05))
        parts += mirrored(disc("metal", (x, 0.90, wheel), 1, wheel * 0.58, 0.06, 0.02))
    parts += mirrored(disc("lamp", (length + 0.09, 0.55, 0.62), 0, 0.13, 0.12, 0.03))
    parts += mirrored(box("tail", (-length - 0.15, 0.45, 0.60), (-length, 0.75, 0.72), 0.03))
    parts.append(box("metal", (length, -0.62, 0.33), (length + 0.18, 0.62, 0.43), 0.04))
    parts.append(box("tyre", (length, -0.32, 0.50), (length + 0.15, 0.32, 0.66), 0.04))
    return assemble(parts)


def airplane(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a flying airplane: ``airliner`` (swept wings, jets) or ``propeller`` (straight wing)."""
    return _airliner(rng) if form == "airliner" else _propeller_plane(rng)


def _airliner(rng: np.random.Generator) -> MeshModel:
    radius, span, sweep = rng.uniform(0.25, 0.30), rng.uniform(1.75, 2.1), rng.uniform(0.75, 1.05)
    hull = melt(
        [
            Limb("body", (-0.9, 0, 0), (1.45, 0, 0), radius, radius),
            Limb("body", (1.45, 0, 0), (1.85, 0, -0.05), radius, radius * 0.45),
            Limb("body", (-0.9, 0, 0), (-2.0, 0, 0.16), radius, radius * 0.35),
        ],
        0.12,
    )
    tips = [(-sweep, span, 0.12), (-sweep - 0.28, span, 0.12)]
    wing = solid("body", [(0.65, 0.15, -0.10), (-0.25, 0.15, -0.10), *tips], 0.035)
    tail = solid("body", [(-1.45, 0.05, 0.15), (-1.95, 0.05, 0.18), (-1.95, 0.75, 0.25), (-2.2, 0.75, 0.25)], 0.03)
    fin = solid("accent", [(-1.35, 0, 0.2), (-1.95, 0, 0.2), (-2.0, 0, 0.95), (-2.3, 0, 0.95)], 0.035)
    y = span * 0.38
    jets = mirrored(solid("metal", [(0.50, y, -0.30), (0.02, y, -0.28)], 0.13))
    jets += mirrored(disc("glass", (0.61, y, -0.30), 0, 0.10, 0.06, 0.02))
    y, windows = radius * 0.95, []
    for x in np.arange(-0.95, 1.3, 0.27):
        windows += mirrored(solid("glass", [(x - 0.04, y, 0.07), (x + 0.04, y, 0.07)], 0.055))
    cockpit = box("glass", (1.55, -0.16, 0.06), (1.76, 0.16, 0.19), 0.05)
    return assemble([hull, *mirrored(wing), *mirrored(tail), fin, *jets, *windows, cockpit])


def _propeller_plane(rng: np.random.Generator) -> MeshModel:
    span, high = rng.uniform(1.65, 1.95), bool(rng.integers(2))
    z = 0.30 if high else -0.16
    hull = melt(
        [
            Limb("body", (-0.3, 0, 0), (0.95, 0, 0), 0.29, 0.25),
            Limb("body", (-0.3, 0, 0), (-1.65, 0, 0.12), 0.27, 0.09),
        ],
        0.12,
    )
    wing = box("body", (-0.1, -span, z - 0.05), (0.52, span, z + 0.05), 0.045)
    tail = box("body", (-1.75, -0.68, 0.12), (-1.40, 0.68, 0.19), 0.03)
    fin = solid("accent", [(-1.25, 0, 0.15), (-1.75, 0, 0.15), (-1.6, 0, 0.72), (-1.82, 0, 0.72)], 0.035)
    canopy = solid("glass", [(-0.15, 0, 0.16), (0.40, 0, 0.18)], 0.20)
    blades = _propeller(1.24, rng.uniform(0, np.pi))
    struts = mirrored(solid("metal", [(0.35, 0.2, -0.15), (0.40, 0.42, -0.48)], 0.035))
    wheels = mirrored(disc("tyre", (0.40, 0.45, -0.52), 1, 0.14, 0.10, 0.03))
    spinner = solid("accent", [(1.16, 0, 0), (1.28, 0, 0)], 0.09)
    return assemble([hull, wing, tail, fin, canopy, spinner, *blades, *struts, *wheels])


def _propeller(x: float, angle: float) -> list[Part]:
    blades = []
    for turn in (0, 2 * np.pi / 3, 4 * np.pi / 3):
        tip = (x, 0.52 * float(np.cos(angle + turn)), 0.52 * float(np.sin(angle + turn)))
        blades.append(solid("tyre", [(x, 0, 0), tip], 0.045))
    return blades
