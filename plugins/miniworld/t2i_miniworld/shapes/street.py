"""Hydrants, signs, lights and benches. Lengths are in metres, roughly life size."""

from __future__ import annotations

import itertools

import numpy as np

from t2i_miniworld.shapes.mesh import MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid
from t2i_miniworld.shapes.turned import lathe, tube

#: The strokes of four letters, each in a square from (0, 0) to (1, 1).
_LETTERS: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "S": (
        (
            (1, 0.80), (0.78, 1), (0.22, 1), (0, 0.80), (0, 0.68), (0.2, 0.54),
            (0.8, 0.46), (1, 0.32), (1, 0.20), (0.78, 0), (0.22, 0), (0, 0.20),
        ),
    ),
    "T": (((0, 1), (1, 1)), ((0.5, 1), (0.5, 0))),
    "O": (((0.3, 0), (0.7, 0), (1, 0.25), (1, 0.75), (0.7, 1), (0.3, 1), (0, 0.75), (0, 0.25), (0.3, 0)),),
    "P": (((0, 0), (0, 1), (0.72, 1), (1, 0.86), (1, 0.60), (0.72, 0.46), (0, 0.46)),),
}  # fmt: skip


def fire_hydrant(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a hydrant with three outlets, the largest to the front: ``dome`` or ``flat-top``."""
    barrel, shoulder = rng.uniform(0.165, 0.20), rng.uniform(0.58, 0.68)
    flange = barrel + rng.uniform(0.065, 0.09)
    parts = [
        lathe("body", [(flange + 0.03, 0), (flange + 0.03, 0.07), (barrel + 0.03, 0.08), (barrel, 0.16),
                       (barrel, shoulder)]),
        lathe("cap", [(flange, shoulder), (flange, shoulder + 0.065)]),
    ]  # fmt: skip
    top = shoulder + 0.06
    if form == "dome":
        rise = rng.uniform(0.20, 0.27)
        arc = [(barrel * 1.12 * np.cos(a), top + rise * np.sin(a)) for a in np.linspace(0, 1.25, 8)]
        parts.append(lathe("cap", arc))
        peak = top + rise * 0.93
        for angle in np.arange(6) * np.pi / 3 + 0.26:
            rib = [
                (r * np.cos(angle) * 1.02, r * np.sin(angle) * 1.02, z)
                for r, z in [(barrel * 1.12 * np.cos(a), top + rise * np.sin(a)) for a in (0.05, 0.5, 0.9, 1.2)]
            ]
            parts += tube("cap", rib, 0.017)
    else:
        rise = rng.uniform(0.10, 0.15)
        parts.append(lathe("body", [(barrel * 1.02, top), (barrel * 1.02, top + rise)]))
        parts.append(
            lathe("cap", [(barrel + 0.05, top + rise), (barrel + 0.05, top + rise + 0.09)], rounding=0.03)
        )
        peak = top + rise + 0.08
    parts.append(lathe("cap", [(0.075, peak - 0.02), (0.065, peak + 0.05)]))
    parts.append(box("bolt", (-0.036, -0.036, peak + 0.03), (0.036, 0.036, peak + 0.12), 0.01))
    for angle in np.arange(8) * np.pi / 4 + 0.2:
        for reach, z in ((flange, 0.085), (flange - 0.025, shoulder + 0.075)):
            x, y = reach * np.cos(angle), reach * np.sin(angle)
            parts.append(solid("bolt", [(x, y, z - 0.02), (x, y, z)], 0.017))
    outlet, height = rng.uniform(0.10, 0.125), shoulder - rng.uniform(0.15, 0.19)
    parts += [
        disc("body", (barrel, 0, height - 0.02), 0, outlet * 1.12, 0.16, 0.02),
        disc("cap", (barrel + 0.10, 0, height - 0.02), 0, outlet * 1.32, 0.07, 0.022),
        box("bolt", (barrel + 0.11, -0.034, height - 0.054), (barrel + 0.19, 0.034, height + 0.014), 0.01),
    ]
    parts += mirrored(disc("body", (0, barrel + 0.03, height + 0.03), 1, outlet * 0.82, 0.16, 0.02))
    parts += mirrored(disc("cap", (0, barrel + 0.11, height + 0.03), 1, outlet * 1.02, 0.06, 0.02))
    parts += mirrored(
        box("bolt", (-0.027, barrel + 0.12, height + 0.003), (0.027, barrel + 0.19, height + 0.057), 0.01)
    )
    return assemble(parts)


def stop_sign(form: str, rng: np.random.Generator) -> MeshModel:
    """Build an octagonal STOP sign on a ``tall`` or a ``short`` post."""
    plate = 0.5
    bottom = rng.uniform(0.50, 0.68) if form == "tall" else rng.uniform(0.22, 0.32)
    centre, post = bottom + plate, rng.uniform(0.038, 0.046)
    parts = [
        solid("post", [(-0.06, 0, 0.03), (-0.06, 0, centre + plate * 0.7)], post),
        lathe("post", [(0.15, 0), (0.15, 0.03), (0.065, 0.06), (0.055, 0.10)], (-0.06, 0), 0.012),
        _octagon("rim", plate, centre, 0.0, 0.022),
        _octagon("groove", plate * 0.94, centre, 0.006, 0.022),
        _octagon("body", plate * 0.92, centre, 0.012, 0.022),
    ]
    width, height, gap = 0.145, plate * rng.uniform(0.50, 0.56), 0.066
    for number, letter in enumerate("STOP"):
        left = (number - 2) * (width + gap) + gap / 2
        for stroke in _LETTERS[letter]:
            path = [(left + u * width, centre + (v - 0.5) * height) for u, v in stroke]
            parts += tube("groove", [(0.020, y, z) for y, z in path], 0.030)
            parts += tube("letter", [(0.034, y, z) for y, z in path], 0.0215)
    return assemble(parts)


def _octagon(material: str, reach: float, centre: float, x: float, thickness: float) -> Part:
    """Build an eight-sided plate facing x, ``reach`` from its middle to its edges."""
    corner = (reach - thickness) / np.cos(np.pi / 8)
    angles = np.arange(8) * np.pi / 4 + np.pi / 8
    return solid(material, [(x, corner * np.cos(a), centre + corner * np.sin(a)) for a in angles], thickness)


def traffic_light(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a traffic light: one head on a ``pole``, two side by side (``double``), or one ``hanging``."""
    half, deep = rng.uniform(0.20, 0.23), rng.uniform(0.13, 0.16)
    tall, post = rng.uniform(1.05, 1.18), rng.uniform(0.055, 0.065)
    low = rng.uniform(0.30, 0.42) if form == "hanging" else rng.uniform(0.50, 0.66)
    top = low + tall
    if form == "double":
        y = half + rng.uniform(0.06, 0.10)
        parts = [*_head(-y, low, half, deep, tall), *_head(y, low, half, deep, tall)]
        parts += [solid("post", [(-0.02, -y, z), (-0.02, y, z)], 0.045) for z in (low + 0.22, top - 0.22)]
        parts.append(solid("post", [(-0.02, 0, 0.03), (-0.02, 0, top - 0.02)], post))
    elif form == "hanging":
        side = half + rng.uniform(0.14, 0.20)
        parts = [
            *_head(0, low, half, deep, tall),
            *tube("post", [(0, -side, 0.03), (0, -side, top + 0.16), (0, 0.04, top + 0.16)], post),
            solid("post", [(0, 0, top - 0.03), (0, 0, top + 0.16)], 0.05),
        ]
        return assemble([*parts, _foot(0, -side)])
    else:
        parts = _head(0, low, half, deep, tall)
        parts.append(solid("post", [(-0.02, 0, 0.03), (-0.02, 0, low + 0.05)], post * 1.2))
        parts.append(lathe("post", [(0.11, low - 0.05), (0.13, low + 0.01)], (-0.02, 0)))
    return assemble([*parts, _foot(-0.02, 0)])


def _foot(x: float, y: float) -> Part:
    return lathe("post", [(0.18, 0), (0.18, 0.04), (0.11, 0.08), (0.09, 0.18), (0.06, 0.19)], (x, y), 0.015)


def _head(y: float, low: float, half: float, deep: float, tall: float) -> list[Part]:
    """Build the housing around (0, y) from ``low`` up, its lamps to the front."""
    parts = [
        box("body", (-deep, y - half, low), (deep, y + half, low + tall), 0.05),
        box(
            "body",
            (-deep * 0.7, y - half * 0.7, low - 0.04),
            (deep * 0.7, y + half * 0.7, low + tall + 0.05),
            0.03,
        ),
    ]
    lamp = min(half * 0.67, tall / 6 * 0.80)
    for number, colour in enumerate(("stop", "caution", "go")):
        z = low + tall * (5 - 2 * number) / 6
        parts.append(disc("gap", (deep, y, z), 0, lamp * 1.14, 0.05, 0.015))
        parts.append(disc(colour, (deep + 0.01, y, z), 0, lamp, 0.08, 0.035))
        hood = [
            (
                np.cos(angle) * lamp * 1.16,
                np.sin(angle) * lamp * 1.16,
                0.04 + 0.17 * np.sin(max(angle, 0.0)) ** 0.6,
            )
            for angle in np.clip(np.linspace(-0.15, np.pi + 0.15, 11), 0, np.pi)
        ]
        for (v, w, reach), (v2, w2, reach2) in itertools.pairwise(hood):
            edge = [(deep, y + v, z + w), (deep + reach, y + v, z + w)]
            edge += [(deep, y + v2, z + w2), (deep + reach2, y + v2, z + w2)]
            parts.append(solid("body", edge, 0.014))
    return parts


def bench(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a bench that faces x: ``slatted``, with a back and arm rests, or a bare ``plank`` on two trestles."""
    return _park_bench(rng) if form == "slatted" else _plank_bench(rng)


def _park_bench(rng: np.random.Generator) -> MeshModel:
    half, seat = rng.uniform(0.78, 0.95), rng.uniform(0.42, 0.47)
    deep, top = rng.uniform(0.46, 0.52), rng.uniform(0.86, 0.96)
    side, rake = half - rng.uniform(0.08, 0.14), rng.uniform(0.10, 0.16)
    parts: list[Part] = []
    for share in (0.1, 0.37, 0.64, 0.91):
        x = deep * share
        parts.append(box("body", (x - 0.058, -half, seat - 0.02), (x + 0.058, half, seat + 0.035), 0.015))
    slats = int(rng.integers(3, 5))
    wide = 0.33 / slats
    for share in (np.arange(slats) + 0.7) / slats:
        x, z = -rake * share, seat + 0.06 + (top - seat - 0.08) * share
        ends = [(x, y, z + up) for y in (-half + 0.02, half - 0.02) for up in (0.025 - wide / 2, wide / 2 - 0.025)]
        parts.append(solid("body", ends, 0.024))
    arm = seat + rng.uniform(0.18, 0.22)
    frame = [(deep - 0.02, seat - 0.03), (0.0, seat - 0.03), (-rake, top - 0.02)]
    legs = [(deep - 0.03, seat - 0.03), (deep + 0.02, 0.028)], [(0.02, seat - 0.03), (-0.06, 0.028)]
    rest = [(deep - 0.03, seat - 0.03), (deep - 0.01, arm), (-rake * 0.55, arm)]
    for path in (frame, *legs, rest):
        for y in (side, -side):
            parts += tube("frame", [(x, y, z) for x, z in path], 0.026)
    parts += mirrored(box("body", (-rake * 0.5, side - 0.05, arm), (deep + 0.03, side + 0.05, arm + 0.045), 0.015))
    return assemble(parts)


def _plank_bench(rng: np.random.Generator) -> MeshModel:
    half, deep, seat = rng.uniform(0.72, 0.88), rng.uniform(0.17, 0.21), rng.uniform(0.42, 0.48)
    parts = [
        box("body", (-deep, -half, seat - 0.075), (deep, half, seat), 0.02),
        box("body", (-0.03, -half + 0.2, seat * 0.40), (0.03, half - 0.2, seat * 0.40 + 0.085), 0.015),
    ]
    foot, splay = half - rng.uniform(0.16, 0.22), rng.uniform(0.0, 0.05)
    for x in (-1, 1):
        ends = [(x * (deep - 0.06), foot, seat - 0.06), (x * (deep - 0.02), foot + splay, 0.04)]
        parts += mirrored(solid("body", ends, 0.04))
    parts += mirrored(solid("body", [(x, foot, seat - 0.10) for x in (0.04 - deep, deep - 0.04)], 0.04))
    parts += mirrored(
        solid("body", [(x, foot + splay / 2, seat * 0.44) for x in (0.05 - deep, deep - 0.05)], 0.036)
    )
    return assemble(parts)
