"""Bikes and skateboards, in metres; tubes and wheels are as stout as a small picture needs."""

from __future__ import annotations

import numpy as np

from t2i_miniworld.shapes.mesh import FloatArray, MeshModel, Part, Point, assemble
from t2i_miniworld.shapes.solids import box, disc, mirrored, solid
from t2i_miniworld.shapes.tubes import hoop, quads, tube, whole


def bike(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a bike: ``diamond`` frame and straight handlebars, or ``step-through`` with swept ones and a rack."""
    step = form == "step-through"
    wheel, base, tall = rng.uniform(0.33, 0.37), rng.uniform(0.47, 0.52), rng.uniform(0.95, 1.06)
    rear, front = (-base, 0.0, wheel), (base + 0.04, 0.0, wheel)
    crank = (-0.06, 0.0, wheel - 0.05)
    seat = (-0.22, 0.0, 0.78 * tall)
    head, neck = (0.31, 0.0, 0.86 * tall), (0.36, 0.0, 0.68 * tall)
    stout = rng.uniform(0.042, 0.05)
    parts = [*_wheel(rear), *_wheel(front), *_guard(rear, wheel, 20, 165), *_guard(front, wheel, 50, 175)]
    parts += [solid("body", [crank, seat], stout), solid("body", [head, neck], stout + 0.008)]
    if step:
        parts.append(tube("body", _bend(neck, (0.12, 0, 0.34), crank), stout, up=(0, 1, 0)))
        parts.append(tube("body", _bend(head, (0.10, 0, 0.46), (-0.13, 0, 0.48)), stout * 0.85, up=(0, 1, 0)))
        rack = box("body", (-base - 0.22, -0.09, wheel * 2 + 0.11), (-0.26, 0.09, wheel * 2 + 0.17), 0.025)
        legs = mirrored(solid("body", [(-base, 0.07, wheel), (-base - 0.04, 0.07, wheel * 2 + 0.1)], 0.018))
        parts += [rack, *legs]
    else:
        parts += [solid("body", [neck, crank], stout), solid("body", [seat, head], stout)]
    for end in (crank, (seat[0] + 0.03, 0, seat[2] - 0.06)):
        parts += mirrored(solid("body", [(rear[0], 0.06, rear[2]), (end[0], 0.04, end[2])], 0.028))
    parts += mirrored(solid("body", [(front[0], 0.06, front[2]), (neck[0], 0.05, neck[2])], 0.032))
    return assemble([*parts, *_saddle(seat), *_handlebars(head, step, rng), *_drive(rear, crank, step)])


def _wheel(hub: Point) -> list[Part]:
    radius = hub[2]
    spokes = []
    for angle in np.linspace(0, np.pi, 5, endpoint=False) + 0.3:
        x, z = 0.8 * radius * np.cos(angle), 0.8 * radius * np.sin(angle)
        spokes.append(solid("metal", [(hub[0] - x, 0, hub[2] - z), (hub[0] + x, 0, hub[2] + z)], 0.008))
    tyre = hoop("tyre", hub, radius - 0.020, 0.020, 0.034)
    rim = hoop("body", hub, radius - 0.070, 0.040, 0.042)
    return [tyre, rim, *spokes, disc("metal", hub, 1, 0.05, 0.15, 0.02)]


def _guard(hub: Point, radius: float, start: float, end: float) -> list[Part]:
    """Build a mudguard over the wheel, between two angles (degrees from the front)."""
    angle = np.radians(np.linspace(start, end, 14))
    reach = radius + 0.035
    points = np.stack([hub[0] + reach * np.cos(angle), 0 * angle, hub[2] + reach * np.sin(angle)], axis=1)
    return [tube("body", points, 0.022, 0.062, up=(0, 1, 0))]


def _saddle(seat: Point) -> list[Part]:
    x, z = seat[0] - 0.03, seat[2] + 0.17
    post = solid("metal", [seat, (x, 0, z)], 0.022)
    nose = solid("saddle", [(x - 0.10, 0.06, z), (x - 0.10, -0.06, z), (x + 0.16, 0, z - 0.01)], 0.038)
    return [post, nose]


def _handlebars(head: Point, swept: bool, rng: np.random.Generator) -> list[Part]:
    x, z, wide = head[0], head[2] + rng.uniform(0.08, 0.14), 0.27
    stem = solid("metal", [head, (x, 0, z)], 0.026)
    back = -0.20 if swept else -0.05
    path = [(x + 0.06, 0.10), (x + 0.02, wide * 0.8), (x + back, wide)]
    bar = [(px, -py, z) for px, py in reversed(path)] + [(x + 0.06, 0, z)] + [(px, py, z) for px, py in path]
    grips = mirrored(solid("saddle", [(x + back + 0.05, wide * 0.95, z), (x + back - 0.05, wide, z)], 0.030))
    lamp = disc("lamp", (x + 0.13, 0, z - 0.13), 0, 0.055, 0.08, 0.02)
    return [stem, tube("metal", bar, 0.022), *grips, lamp]


def _drive(rear: Point, crank: Point, cased: bool) -> list[Part]:
    """Build chain ring, chain (or its case), cranks and pedals."""
    parts = []
    if cased:
        parts += mirrored(solid("body", [(rear[0], 0.085, rear[2]), (crank[0], 0.085, crank[2])], 0.062))
    else:
        parts += mirrored(disc("metal", (crank[0], 0.07, crank[2]), 1, 0.095, 0.03, 0.01))
        for dz in (-0.075, 0.075):
            chain = [(rear[0], 0.07, rear[2] + dz / 2), (crank[0], 0.07, crank[2] + dz)]
            parts += mirrored(solid("tyre", chain, 0.010))
    for side in (-1, 1):
        end = (crank[0] + side * 0.14, side * 0.11, crank[2] - side * 0.06)
        parts.append(solid("metal", [(crank[0], side * 0.10, crank[2]), end], 0.017))
        x, y, z = end
        pedal = [(x + dx, y + side * dy, z) for dx in (-0.05, 0.05) for dy in (0.03, 0.09)]
        parts.append(solid("saddle", pedal, 0.018))
    return parts


def _bend(a: Point, b: Point, c: Point) -> FloatArray:
    """Build a smooth curve (N, 3) from ``a`` to ``c``, drawn towards ``b``."""
    t = np.linspace(0, 1, 10)[:, None]
    curve: FloatArray = (1 - t) ** 2 * np.asarray(a) + 2 * t * (1 - t) * np.asarray(b) + t**2 * np.asarray(c)
    return curve


def skateboard(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a skateboard tipped up on its long edge, its underside with trucks and wheels to the front.

    ``street``: upturned at both ends; ``longboard``: long, flat and pointed. Its length runs along y.
    """
    long = form == "longboard"
    half = rng.uniform(0.47, 0.52) if long else rng.uniform(0.38, 0.42)
    wide = rng.uniform(0.125, 0.14)
    wheel = rng.uniform(0.050, 0.058) if long else rng.uniform(0.042, 0.048)
    parts = _deck(half, wide, 0.0 if long else rng.uniform(0.10, 0.13), pointed=long)
    axle = half * (0.66 if long else 0.56)
    for x in (-axle, axle):
        parts.append(box("metal", (x - 0.05, -0.05, -0.03), (x + 0.05, 0.05, -0.005), 0.01))
        parts.append(solid("metal", [(x, -0.10, -0.062), (x, 0.10, -0.062)], 0.016))
        parts.append(solid("metal", [(x, -0.02, -0.03), (x, 0.02, -0.06)], 0.024))
        for side in (-1, 1):
            parts.append(disc("wheel", (x, side * 0.10, -0.066), 1, wheel, 0.055, 0.014))
            parts.append(disc("metal", (x, side * 0.127, -0.066), 1, wheel * 0.4, 0.012, 0.004))
    lean = np.radians(rng.uniform(60, 68))
    # Its length goes from x to y, and it is tipped up: the underside looks to +x.
    tipped = np.array([[0, -np.cos(lean), -np.sin(lean)], [-1, 0, 0], [0, np.sin(lean), -np.cos(lean)]])
    return assemble([Part(part.vertices @ tipped.T, part.faces, part.material) for part in parts])


def _deck(half: float, wide: float, kick: float, pointed: bool) -> list[Part]:
    """Build the board. Its underside and edge take the paint; grip tape covers the middle of its top."""
    x = np.linspace(-1, 1, 41)
    rounded = np.sqrt(np.maximum(1 - np.maximum(np.abs(x) - 0.70, 0) ** 2 / 0.3**2, 0.0))
    outline = wide * (np.maximum(1 - np.abs(x) ** 2.6, 0) ** 0.6 if pointed else rounded)
    rise = kick * np.maximum((np.abs(x) - 0.62) / 0.38, 0) ** 1.4
    across = np.linspace(-1, 1, 9)
    skin = np.stack(
        [
            np.broadcast_to((x * half)[:, None], (41, 9)),
            outline[:, None] * across[None],
            rise[:, None] + 0.012 * across[None] ** 2,
        ],
        axis=-1,
    )
    thick = np.array([0, 0, 0.022])
    grid = np.arange(41 * 9).reshape(41, 9)
    taped = np.broadcast_to(np.abs(x)[:, None] < 0.6, (41, 9)).ravel()
    top = Part((skin + thick).reshape(-1, 3), quads(grid)[:, ::-1], np.where(taped, "grip", "body"))
    rim = skin.reshape(-1, 3)[np.concatenate([grid[:, 0], grid[-1], grid[::-1, -1], grid[0, ::-1]])]
    numbers = np.arange(len(rim) * 2).reshape(-1, 2)
    edge = whole("body", np.stack([rim, rim + thick], axis=1), quads(numbers)[:, ::-1])
    return [whole("body", skin, quads(grid)), top, edge]
