"""From things asked for to a scene: places, poses, camera and light, all drawn from named streams.

The layout is drawn for everything that is asked for, and paint has no part in it: leaving a thing out
afterwards, or painting it otherwise, moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from t2i_miniworld import camera
from t2i_miniworld.classes import KINDS, VARIANTS, model
from t2i_miniworld.palette import RGB
from t2i_miniworld.scene import Placed, Scene, Stage, Thing
from t2i_miniworld.shapes.mesh import FloatArray, Model
from t2i_miniworld.streams import stream

#: The most things one scene holds.
MOST = 4
#: A thing shows at least this share of its own silhouette, and of the picture (both on a coarse grid).
LEAST_VISIBLE, LEAST_AREA = 0.75, 0.015

_ATTEMPTS = 60
_GRID = 40
_SAMPLES = 2500

#: Muted, so that no ground reads as a paint of its own.
_GROUNDS: tuple[RGB, ...] = (
    (186, 178, 162), (168, 170, 164), (150, 152, 150), (196, 188, 178),
    (172, 164, 150), (158, 162, 168), (204, 200, 192),
)  # fmt: skip
_BACKGROUNDS: tuple[RGB, ...] = (
    (206, 210, 212), (222, 218, 210), (188, 194, 198), (214, 206, 196), (198, 200, 194), (228, 226, 222),
)  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """A box in the picture for one thing: middle ``u``, lower edge ``v``, and size, in shares of the picture."""

    u: float
    v: float
    width: float
    height: float


#: For each number of things, the arrangements to choose from.
_ARRANGEMENTS: dict[int, tuple[tuple[Slot, ...], ...]] = {
    1: ((Slot(0.5, 0.86, 0.88, 0.76),),),
    2: (
        (Slot(0.27, 0.84, 0.48, 0.72), Slot(0.73, 0.84, 0.48, 0.72)),
        (Slot(0.29, 0.70, 0.46, 0.62), Slot(0.72, 0.92, 0.50, 0.68)),
        (Slot(0.28, 0.92, 0.50, 0.68), Slot(0.71, 0.70, 0.46, 0.62)),
    ),
    3: (
        (Slot(0.18, 0.82, 0.33, 0.62), Slot(0.50, 0.82, 0.33, 0.62), Slot(0.82, 0.82, 0.33, 0.62)),
        (Slot(0.27, 0.52, 0.45, 0.42), Slot(0.73, 0.52, 0.45, 0.42), Slot(0.50, 0.94, 0.50, 0.44)),
        (Slot(0.50, 0.50, 0.46, 0.40), Slot(0.26, 0.94, 0.47, 0.46), Slot(0.74, 0.94, 0.47, 0.46)),
    ),
    4: (
        (
            Slot(0.27, 0.50, 0.44, 0.40),
            Slot(0.73, 0.50, 0.44, 0.40),
            Slot(0.27, 0.94, 0.46, 0.43),
            Slot(0.73, 0.94, 0.46, 0.43),
        ),
    ),
}  # fmt: skip


def lay_out(things: Sequence[Thing], *key: str | int) -> Scene:
    """Place 1 to `MOST` things on a stage: a pure function of their kinds and of ``key``.

    Raises ValueError for an unknown kind or too many things.
    """
    if not 1 <= len(things) <= MOST:
        raise ValueError(f"a scene holds 1 to {MOST} things, not {len(things)}")
    for thing in things:
        if thing.kind not in KINDS:
            raise ValueError(f"the mini world has no {thing.kind!r}; it has {', '.join(KINDS)}")
    stage = _draw_stage(stream("stage", *key))
    posed = [_pose(slot, thing, stream("pose", slot, *key)) for slot, thing in enumerate(things)]
    best: tuple[float, Scene] | None = None
    for attempt in range(_ATTEMPTS):
        placed = _arrange(posed, stage, stream("places", attempt, *key))
        margin = _visibility(placed, stage)
        if best is None or margin > best[0]:
            best = margin, Scene(stage, placed)
        if margin >= 1:
            break
    assert best is not None
    return best[1]


def world_points(points: FloatArray, placed: Placed) -> FloatArray:
    """Points (N, 3) of a thing's own model, moved to where it stands in the world."""
    angle = np.radians(placed.yaw)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    stretched = points * np.asarray(placed.stretch)
    return (stretched @ turn.T) * placed.scale + np.asarray(placed.position)


def _draw_stage(rng: np.random.Generator) -> Stage:
    return Stage(
        elevation=rng.uniform(9, 16),
        sun_azimuth=rng.uniform(25, 65) * rng.choice((-1, 1)),
        sun_elevation=rng.uniform(36, 62),
        sun=rng.uniform(0.72, 0.95),
        ambient=rng.uniform(0.42, 0.56),
        warmth=rng.uniform(-0.5, 1),
        ground=_jitter(_GROUNDS[rng.integers(len(_GROUNDS))], rng),
        background=_jitter(_BACKGROUNDS[rng.integers(len(_BACKGROUNDS))], rng),
    )


def _jitter(colour: RGB, rng: np.random.Generator) -> RGB:
    shade = rng.uniform(0.90, 1.06)
    red, green, blue = (int(min(255, channel * shade)) for channel in colour)
    return red, green, blue


def _pose(slot: int, thing: Thing, rng: np.random.Generator) -> Placed:
    """Draw body, look and heading; place and size come later."""
    kind = KINDS[thing.kind]
    turn = rng.uniform(*kind.turn)
    return Placed(
        slot=slot,
        thing=thing,
        form=kind.forms[rng.integers(len(kind.forms))],
        variant=int(rng.integers(VARIANTS)),
        coat=int(rng.integers(len(kind.coats))),
        stretch=(rng.uniform(0.94, 1.06), rng.uniform(0.94, 1.06), rng.uniform(0.94, 1.06)),
        yaw=-turn if rng.random() < 0.5 else turn - 180,
        scale=1.0,
        position=(0.0, 0.0, 0.0),
    )


def _arrange(posed: Sequence[Placed], stage: Stage, rng: np.random.Generator) -> tuple[Placed, ...]:
    """Give each thing a slot of a random arrangement, in random order, a little out of line."""
    arrangements = _ARRANGEMENTS[len(posed)]
    slots = arrangements[rng.integers(len(arrangements))]
    smallest = 0.62 if len(posed) == 1 else 0.80
    placed = []
    for thing, place in zip(posed, rng.permutation(len(slots)), strict=True):
        slot, size = slots[place], rng.uniform(smallest, 1.0)
        du, dv = rng.uniform(-0.03, 0.03), rng.uniform(-0.04, 0.03)
        if len(posed) == 1:
            du, dv = du * 3, dv * 2
        fitted = Slot(slot.u + du, min(slot.v + dv, 0.97), slot.width * size, slot.height * size)
        placed.append(_fit(thing, fitted, stage))
    return tuple(placed)


def _fit(placed: Placed, slot: Slot, stage: Stage) -> Placed:
    """Move and scale a thing until it fills its slot: the middle of its lower edge at (u, v)."""
    points = _surface(placed.thing.kind, placed.form, placed.variant)
    lift = KINDS[placed.thing.kind].lift
    if lift:
        # Room below a hovering thing, for its shadow.
        slot = replace(slot, v=slot.v - 0.2 * slot.height, height=0.8 * slot.height)
    u, v, scale = slot.u, slot.v, placed.scale
    for _ in range(6):
        x, y = camera.ground_point(u, max(v, camera.horizon(stage.elevation) + 0.08), stage.elevation)
        placed = replace(placed, scale=scale, position=(x, y, lift * scale))
        at, _ = camera.project(world_points(points, placed), stage.elevation)
        low, high = at.min(axis=0), at.max(axis=0)
        scale *= float(min(slot.width / (high[0] - low[0]), slot.height / (high[1] - low[1])))
        u += slot.u - float(low[0] + high[0]) / 2
        v += slot.v - float(high[1])
    return placed


def _visibility(placed: Sequence[Placed], stage: Stage) -> float:
    """How well the least visible thing is seen: 1 when every floor is kept, less when not."""
    cells, depths, owners, alone = [], [], [], []
    for number, thing in enumerate(placed):
        points = world_points(_surface(thing.thing.kind, thing.form, thing.variant), thing)
        at, depth = camera.project(points, stage.elevation)
        cell = np.floor(at * _GRID).astype(int)
        alone.append(len(np.unique(cell @ (1, 100_000))))
        inside = np.all((cell >= 0) & (cell < _GRID), axis=1)
        cells.append(cell[inside] @ (1, _GRID))
        depths.append(depth[inside])
        owners.append(np.full(inside.sum(), number))
    # Nearest points first: the first point in a cell owns it.
    order = np.argsort(np.concatenate(depths), kind="stable")
    _, first = np.unique(np.concatenate(cells)[order], return_index=True)
    seen = np.bincount(np.concatenate(owners)[order][first], minlength=len(placed))
    margins = [
        min(count / silhouette / LEAST_VISIBLE, count / _GRID**2 / LEAST_AREA)
        for count, silhouette in zip(seen, alone, strict=True)
    ]
    return float(min(*margins, 1.0))


@cache
def _surface(kind: str, form: str, variant: int) -> FloatArray:
    """Points (N, 3) spread evenly over a model's skin."""
    built: Model = model(kind, form, variant)
    a, b, c = (built.vertices[built.faces[:, corner]] for corner in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    rng = stream("surface", kind, form, variant)
    chosen = rng.choice(len(area), size=_SAMPLES, p=area / area.sum())
    u, v = rng.random((2, _SAMPLES, 1))
    over = u + v > 1
    u, v = np.where(over, 1 - u, u), np.where(over, 1 - v, v)
    return a[chosen] + u * (b - a)[chosen] + v * (c - a)[chosen]
