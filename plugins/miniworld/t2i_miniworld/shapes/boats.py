"""Boats ashore: open hulls with what makes each kind. Lengths are in metres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t2i_miniworld.shapes.mesh import FloatArray, MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid
from t2i_miniworld.shapes.tubes import hull, tube


@dataclass(frozen=True)
class _Lines:
    """A hull's lines: half its length and breadth, its depth amidships, and how far its ends rise.

    ``double`` hulls are pointed at both ends; others have a flat stern, ``stern`` of the breadth wide.
    """

    half: float
    beam: float
    depth: float
    bow_rise: float
    stern_rise: float
    stern: float
    double: bool

    def breadth(self, t: float) -> float:
        """Return half the breadth at t, from -1 (stern) to 1 (bow)."""
        if self.double:
            return float(self.beam * max(1 - abs(t) ** 2.2, 0.0) ** 0.85)
        if t < -0.1:
            return self.beam * (1 - (1 - self.stern) * ((-0.1 - t) / 0.9) ** 2)
        return float(self.beam * max(1 - ((t + 0.1) / 1.1) ** 2.4, 0.0) ** 0.8)

    def rim(self, t: float) -> float:
        """Return the height of the rim at t."""
        return float(self.depth + (self.bow_rise if t > 0 else self.stern_rise) * abs(t) ** 2.4)

    def keel(self, t: float) -> float:
        """Return the height of the keel at t: it curves up to a pointed end."""
        end = abs(t) if self.double or t > 0 else 0.0
        return 0.45 * self.rim(t) * end**5

    def section(self, t: float, inset: float) -> FloatArray:
        """Return points (17, 3) from the left rim over the keel to the right rim."""
        angle = np.linspace(0, np.pi, 17)
        breadth = max(self.breadth(t) - inset, 0.002)
        keel = min(self.keel(t) + inset, self.rim(t) - 0.01)
        full = 0.62
        y = breadth * np.sign(np.cos(angle)) * np.abs(np.cos(angle)) ** full
        z = self.rim(t) - (self.rim(t) - keel) * np.abs(np.sin(angle)) ** full
        x = np.full_like(y, t * (self.half - inset))
        return np.stack([x, y, z], axis=1)

    def shell(self) -> list[Part]:
        """Return the open hull with its rim, and its transom if it has one."""
        stations = [float(np.sin(t)) for t in np.linspace(-np.pi / 2, np.pi / 2, 33)]
        parts = hull("body", "inside", self.section, stations, wall=0.05)
        line = [(t * self.half, self.breadth(t), self.rim(t)) for t in stations]
        parts += mirrored(tube("rim", line, 0.045, 0.04))
        if not self.double:
            edge = [tuple(float(c) for c in point) for point in self.section(-1, 0.03)]
            parts.append(solid("body", [(x + 0.02, y, z) for x, y, z in edge], 0.035))
        return parts

    def thwart(self, t: float, below: float, deep: float) -> Part:
        """Build a plank from side to side, ``below`` the rim and ``deep`` along the boat."""
        wide, z = self.breadth(t) - 0.06, self.rim(t) - below
        return box("bench", (t * self.half - deep / 2, -wide, z - 0.05), (t * self.half + deep / 2, wide, z), 0.02)


def boat(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a boat: ``canoe`` with a paddle, ``rowboat`` with oars, or ``motorboat`` with an outboard motor."""
    return assemble({"canoe": _canoe, "rowboat": _rowboat, "motorboat": _motorboat}[form](rng))


def _canoe(rng: np.random.Generator) -> list[Part]:
    rise = rng.uniform(0.26, 0.38)
    lines = _Lines(rng.uniform(1.75, 2.0), rng.uniform(0.40, 0.46), rng.uniform(0.38, 0.44), rise, rise, 0, True)
    parts = lines.shell()
    parts += [lines.thwart(t, 0.03, 0.10) for t in (-0.02, 0.3)]
    parts += [lines.thwart(t, 0.09, 0.24) for t in (-0.55, 0.58)]
    # A paddle across the rims.
    z, x = lines.rim(0) + 0.06, rng.uniform(-0.5, -0.1)
    shaft = [(x - 0.35, -0.55, z), (x + 0.35, 0.75, z)]
    parts.append(solid("oar", shaft, 0.03))
    parts += _blade((x - 0.35, -0.55, z), (x - 0.55, -0.92, z - 0.03), 0.10)
    return parts


def _rowboat(rng: np.random.Generator) -> list[Part]:
    lines = _Lines(
        rng.uniform(1.35, 1.5), rng.uniform(0.62, 0.70), rng.uniform(0.50, 0.58),
        rng.uniform(0.16, 0.24), rng.uniform(0.05, 0.1), rng.uniform(0.62, 0.74), False,
    )  # fmt: skip
    parts = lines.shell()
    parts += [lines.thwart(t, 0.14, 0.28) for t in (-0.72, -0.05, 0.5)]
    at, out = 0.16, rng.uniform(0.45, 0.7)
    y, z = lines.breadth(at) + 0.03, lines.rim(at) + 0.07
    inner = (at * lines.half - 0.1, 0.20, z + 0.16)
    outer = (at * lines.half - 0.25 * out / 0.5, y + out, z - 0.18)
    tip = (outer[0] - 0.22, outer[1] + 0.34, outer[2] - 0.12)
    parts += mirrored(solid("oar", [inner, (at * lines.half, y, z)], 0.034))
    parts += mirrored(solid("oar", [(at * lines.half, y, z), outer], 0.034))
    parts += mirrored(solid("metal", [(at * lines.half, y, z - 0.08), (at * lines.half, y, z)], 0.05))
    for part in _blade(outer, tip, 0.11):
        parts += mirrored(part)
    return parts


def _blade(start: tuple[float, float, float], end: tuple[float, float, float], wide: float) -> list[Part]:
    corners = [start, (end[0] - wide, end[1], end[2]), (end[0] + wide, end[1], end[2])]
    return [solid("oar", corners, 0.025)]


def _motorboat(rng: np.random.Generator) -> list[Part]:
    lines = _Lines(
        rng.uniform(1.75, 1.95), rng.uniform(0.70, 0.80), rng.uniform(0.66, 0.76),
        rng.uniform(0.10, 0.18), 0.0, rng.uniform(0.84, 0.92), False,
    )  # fmt: skip
    parts = lines.shell()
    half, front = lines.half, 0.24
    # The foredeck, a little arched.
    deck = []
    for t in np.linspace(front, 0.97, 9):
        deck += [(t * half, y * lines.breadth(t), lines.rim(t)) for y in (-0.96, 0.96)]
        deck.append((t * half, 0.0, lines.rim(t) + 0.07 * (1.1 - t)))
    parts.append(solid("body", deck, 0.02))
    wide, z = lines.breadth(front) * 0.86, lines.rim(front)
    foot, head, tall = (front + 0.10) * half, (front - 0.02) * half, rng.uniform(0.34, 0.44)
    pane = [(foot, 0, z), (head, 0, z + tall)]
    sides = [(foot - 0.22, 1), (foot - 0.22, -1)]
    for x, side in sides:
        corner = [(x, side * wide, z), (x - 0.10, side * wide * 0.9, z + tall)]
        parts.append(solid("glass", [*pane, *corner], 0.025))
        back = (x - 0.55, side * wide * 1.02, z)
        parts.append(solid("glass", [*corner, back], 0.025))
        parts.append(solid("metal", [pane[1], corner[1]], 0.03))
        parts.append(solid("metal", [corner[1], back], 0.03))
    for y in (-0.33, 0.33):
        parts.append(box("seat", (-0.30, y - 0.24, 0.15), (0.12, y + 0.24, 0.58), 0.06))
        parts.append(box("seat", (-0.40, y - 0.24, 0.30), (-0.26, y + 0.24, z + 0.14), 0.06))
    parts.append(box("seat", (-half + 0.12, -0.5, 0.15), (-half + 0.55, 0.5, 0.55), 0.06))
    stern = -half - 0.22
    parts.append(box("motor", (stern - 0.20, -0.17, z - 0.02), (stern + 0.20, 0.17, z + 0.42), 0.09))
    parts.append(box("metal", (stern - 0.08, -0.08, 0.10), (stern + 0.10, 0.08, z + 0.05), 0.04))
    parts.append(box("metal", (stern + 0.0, -0.10, z - 0.22), (-half + 0.05, 0.10, z - 0.06), 0.04))
    parts.append(solid("metal", [(stern - 0.12, 0, 0.16), (stern + 0.16, 0, 0.16)], 0.07))
    parts.append(disc("metal", (stern - 0.22, 0, 0.16), 0, 0.17, 0.05, 0.02))
    stripe = [(t * half, lines.breadth(t) * 1.0 + 0.012, lines.rim(t) - 0.16) for t in np.linspace(-0.98, 0.9, 24)]
    parts += mirrored(tube("stripe", stripe, 0.02, 0.045))
    return parts
