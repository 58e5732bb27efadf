"""From things asked for to a scene: places, poses, camera and light, all drawn from named streams.

The layout is drawn for everything that is asked for, and paint has no part in it: leaving a thing out
afterwards, or painting it otherwise, moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from scipy.spatial import ConvexHull

from t2i_miniworld import camera
from t2i_miniworld.classes import KINDS, VARIANTS, model
from t2i_miniworld.laws import Laws, choose, dress, leaves_of
from t2i_miniworld.palette import RGB
from t2i_miniworld.scene import Place, Placed, Scene, Stage, Thing, Tie
from t2i_miniworld.shapes.mesh import FloatArray, IntArray, Model
from t2i_miniworld.streams import stream

#: The most things one scene is asked for.
MOST = 4
#: A thing shows at least this share of its own silhouette, and of the picture (both on a coarse grid).
LEAST_VISIBLE, LEAST_AREA = 0.75, 0.015
#: Between two things of one kind the picture shows a gap of this share of its side, so that both are counted.
LEAST_GAP = 0.05
#: What a relation says is so by this factor: the boxes' centres are that much farther apart along its axis.
LEAST_TIE = 1.5

_ATTEMPTS = 60
_GRID, _FINE_GRID = 40, 80
_SAMPLES = 2500

#: Muted, so that no ground reads as a paint of its own.
_GROUNDS: tuple[RGB, ...] = (
    (186, 178, 162), (168, 170, 164), (150, 152, 150), (196, 188, 178),
    (172, 164, 150), (158, 162, 168), (204, 200, 192),
)  # fmt: skip
_BACKGROUNDS: tuple[RGB, ...] = (
    (206, 210, 212), (222, 218, 210), (188, 194, 198), (214, 206, 196), (198, 200, 194), (228, 226, 222),
)  # fmt: skip


#: For each number of things, the arrangements to choose from.
_ARRANGEMENTS: dict[int, tuple[tuple[Place, ...], ...]] = {
    1: ((Place(0.5, 0.86, 0.88, 0.76),),),
    2: (
        (Place(0.27, 0.84, 0.48, 0.72), Place(0.73, 0.84, 0.48, 0.72)),
        (Place(0.29, 0.70, 0.46, 0.62), Place(0.72, 0.92, 0.50, 0.68)),
        (Place(0.28, 0.92, 0.50, 0.68), Place(0.71, 0.70, 0.46, 0.62)),
        (Place(0.50, 0.50, 0.80, 0.40), Place(0.50, 0.95, 0.84, 0.43)),
    ),
    3: (
        (Place(0.18, 0.82, 0.33, 0.62), Place(0.50, 0.82, 0.33, 0.62), Place(0.82, 0.82, 0.33, 0.62)),
        (Place(0.27, 0.52, 0.45, 0.42), Place(0.73, 0.52, 0.45, 0.42), Place(0.50, 0.94, 0.50, 0.44)),
        (Place(0.50, 0.50, 0.46, 0.40), Place(0.26, 0.94, 0.47, 0.46), Place(0.74, 0.94, 0.47, 0.46)),
        (Place(0.50, 0.38, 0.60, 0.28), Place(0.50, 0.67, 0.60, 0.27), Place(0.50, 0.96, 0.62, 0.27)),
    ),
    4: (
        (
            Place(0.27, 0.50, 0.44, 0.40),
            Place(0.73, 0.50, 0.44, 0.40),
            Place(0.27, 0.94, 0.46, 0.43),
            Place(0.73, 0.94, 0.46, 0.43),
        ),
    ),
}  # fmt: skip

_OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}
PREDICATES = tuple(_OPPOSITE)


class NoArrangement(ValueError):
    """Relations that no arrangement of the things keeps all at once."""


def lay_out(things: Sequence[Thing], *key: str | int, ties: tuple[Tie, ...] = ()) -> Scene:
    """Place 1 to `MOST` things on a stage: a pure function of their kinds, forms and ties, and of ``key``.

    What a thing leaves open is drawn: the leaf of its kind evenly, then a form of that leaf evenly.
    Raises ValueError for an unknown kind or too many things, NoArrangement where ties exclude each other.
    """
    if not 1 <= len(things) <= MOST:
        raise ValueError(f"a scene holds 1 to {MOST} things, not {len(things)}")
    for thing in things:
        if thing.kind not in KINDS:
            raise ValueError(f"the mini world has no {thing.kind!r}; it has {', '.join(KINDS)}")
    arrangements = _keeping(len(things), ties)
    stage = _draw_stage(stream("stage", *key))
    posed = [pose(slot, thing, *key) for slot, thing in enumerate(things)]
    best: tuple[float, Scene] | None = None
    for attempt in range(_ATTEMPTS):
        placed = _arrange(posed, arrangements, stage, attempt, stream("places", attempt, *key))
        scene = Scene(stage, placed)
        margin = min(margins(scene, ties))
        if ties and margin > 0:
            # Whichever way round a fault leaves the first two, the picture says so as clearly.
            margin = min(margin, *margins(exchanged(scene, ties[0]), (_turned(ties[0]),)))
        if best is None or margin > best[0]:
            best = margin, scene
        if margin >= 1:
            break
    assert best is not None
    return best[1]


def pose(slot: int, thing: Thing, *key: str | int) -> Placed:
    """Draw body, look and heading of a thing, and what it leaves open; `fit` gives it a place and its size."""
    kind = KINDS[thing.kind]
    form, coat = thing.form, thing.coat
    if form is None or (coat is None and "coat" in kind.paint):
        leaves = leaves_of(thing.kind)
        leaf = choose(dict.fromkeys(leaves, 1 / len(leaves)), "leaf", slot, *key)
        drawn = dress(leaf, {}, Laws(), slot, *key)
        form, coat = form or drawn[0], coat or drawn[1]
    rng = stream("pose", slot, *key)
    turn = rng.uniform(*kind.turn)
    return Placed(
        slot=slot,
        thing=thing,
        form=form,
        coat=coat,
        variant=int(rng.integers(VARIANTS)),
        look=int(rng.integers(len(kind.coats))),
        stretch=(rng.uniform(0.94, 1.06), rng.uniform(0.94, 1.06), rng.uniform(0.94, 1.06)),
        yaw=-turn if rng.random() < 0.5 else turn - 180,
        place=Place(0.5, 0.5, 1.0, 1.0),
        scale=1.0,
        position=(0.0, 0.0, 0.0),
    )


def fit(placed: Placed, place: Place, stage: Stage) -> Placed:
    """Move and scale a thing until it fills its place: the middle of its lower edge at (u, v)."""
    points = _hull(placed.thing.kind, placed.form, placed.variant)
    lift = KINDS[placed.thing.kind].lift
    # Room below a hovering thing, for its shadow.
    bottom, height = (place.v - 0.2 * place.height, 0.8 * place.height) if lift else (place.v, place.height)
    u, v, scale = place.u, bottom, 1.0
    for _ in range(6):
        x, y = camera.ground_point(u, max(v, camera.horizon(stage.elevation) + 0.08), stage.elevation)
        placed = replace(placed, place=place, scale=scale, position=(x, y, lift * scale))
        at, _ = camera.project(world_points(points, placed), stage.elevation)
        low, high = at.min(axis=0), at.max(axis=0)
        scale *= float(min(place.width / (high[0] - low[0]), height / (high[1] - low[1])))
        u += place.u - float(low[0] + high[0]) / 2
        v += bottom - float(high[1])
    return placed


def exchanged(scene: Scene, tie: Tie) -> Scene:
    """The scene with the two things of a tie in each other's places; nothing else moves."""
    first, second = scene.placed[tie.subject], scene.placed[tie.object]
    moved = {
        first.slot: fit(first, second.place, scene.stage),
        second.slot: fit(second, first.place, scene.stage),
    }
    return replace(scene, placed=tuple(moved.get(placed.slot, placed) for placed in scene.placed))


def add_extra(scene: Scene, thing: Thing, ties: tuple[Tie, ...], *key: str | int) -> Placed:
    """One thing more, put where all things of the scene are seen.

    Its place suits the scene whether or not the first tie's things are exchanged.
    """
    posed = pose(len(scene.placed), thing, *key)
    scenes = [scene, exchanged(scene, ties[0])] if ties else [scene]
    best: tuple[tuple[float, float], Placed] | None = None
    for attempt in range(_ATTEMPTS):
        rng = stream("extra-place", attempt, *key)
        side = rng.uniform(0.22, 0.38) * (1 - 0.35 * attempt / _ATTEMPTS)
        place = Place(rng.uniform(0.08, 0.92), rng.uniform(0.30, 0.98), side, side)
        extra = fit(posed, place, scene.stage)
        # To be seen comes first, to be kept apart second.
        margin = min(margins(replace(one, placed=(*one.placed, extra))) for one in scenes)
        if best is None or margin > best[0]:
            best = margin, extra
        if min(margin) >= 1:
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


def _arrange(
    posed: Sequence[Placed],
    arrangements: Sequence[Sequence[tuple[Place, ...]]],
    stage: Stage,
    attempt: int,
    rng: np.random.Generator,
) -> tuple[Placed, ...]:
    """Give each thing a place of a random arrangement, in random order, a little out of line."""
    orders = arrangements[int(rng.integers(len(arrangements)))]
    places = orders[int(rng.integers(len(orders)))]
    # Later attempts draw smaller things: there is more room between them.
    smallest = 0.62 if len(posed) == 1 else 0.80 - 0.15 * attempt / _ATTEMPTS
    placed = []
    for thing, place in zip(posed, places, strict=True):
        size = rng.uniform(smallest, 1.0)
        du, dv = rng.uniform(-0.03, 0.03), rng.uniform(-0.04, 0.03)
        if len(posed) == 1:
            du, dv = du * 3, dv * 2
        moved = Place(place.u + du, min(place.v + dv, 0.97), place.width * size, place.height * size)
        placed.append(fit(thing, moved, stage))
    return tuple(placed)


@cache
def _keeping(count: int, ties: tuple[Tie, ...]) -> tuple[tuple[tuple[Place, ...], ...], ...]:
    """The arrangements of ``count`` things, each with the orders of its places that keep all ties."""
    kept = []
    for places in _ARRANGEMENTS[count]:
        orders = tuple(
            order
            for order in permutations(places)
            if all(_clearness(_middle(order[tie.subject]), _middle(order[tie.object]), tie) >= 1 for tie in ties)
        )
        if orders:
            kept.append(orders)
    if not kept:
        raise NoArrangement("no arrangement of the things keeps all these relations")
    return tuple(kept)


def _middle(place: Place) -> tuple[float, float]:
    return place.u, place.v - place.height / 2


def _clearness(subject: tuple[float, float], object_: tuple[float, float], tie: Tie) -> float:
    """How clearly two centres (u, v) keep a tie: 1 when by `LEAST_TIE`, 1 / `LEAST_TIE` when just so."""
    du, dv = subject[0] - object_[0], subject[1] - object_[1]
    along, across = {"left": (-du, dv), "right": (du, dv), "above": (-dv, du), "below": (dv, du)}[tie.predicate]
    return along / max(LEAST_TIE * abs(across), LEAST_GAP)


def _turned(tie: Tie) -> Tie:
    return replace(tie, predicate=_OPPOSITE[tie.predicate])


def margins(scene: Scene, ties: tuple[Tie, ...] = ()) -> tuple[float, float]:
    """How well all things are seen, and how well kept apart and tied: 1 where every floor is kept, else less."""
    shown = [
        camera.project(
            world_points(_surface(placed.thing.kind, placed.form, placed.variant), placed), scene.stage.elevation
        )
        for placed in scene.placed
    ]
    owner = _owners(shown)
    seen = apart = 1.0
    for number, (at, _) in enumerate(shown):
        cells = np.count_nonzero(owner == number)
        silhouette = len(np.unique(np.floor(at * _GRID).astype(int) @ (1, 100_000)))
        seen = min(seen, cells / silhouette / LEAST_VISIBLE, cells / _GRID**2 / LEAST_AREA)
    for one, other in combinations(range(len(shown)), 2):
        if scene.placed[one].thing.kind == scene.placed[other].thing.kind:
            apart = min(apart, _gap(shown[one][0], shown[other][0]) / LEAST_GAP)
    if seen > 0:
        for tie in ties:
            apart = min(apart, _clearness(_centre(owner == tie.subject), _centre(owner == tie.object), tie))
    return seen, apart


def _owners(shown: Sequence[tuple[FloatArray, FloatArray]]) -> IntArray:
    """Which thing is nearest in each cell of the coarse grid, row by row; -1 for none."""
    owner = np.full(_GRID**2, -1)
    cells, depths, numbers = [], [], []
    for number, (at, depth) in enumerate(shown):
        cell = np.floor(at * _GRID).astype(int)
        inside = np.all((cell >= 0) & (cell < _GRID), axis=1)
        cells.append(cell[inside] @ (1, _GRID))
        depths.append(depth[inside])
        numbers.append(np.full(np.count_nonzero(inside), number))
    # Nearest points last: they overwrite those behind them.
    order = np.argsort(-np.concatenate(depths), kind="stable")
    owner[np.concatenate(cells)[order]] = np.concatenate(numbers)[order]
    return owner.reshape(_GRID, _GRID)


def _centre(mask: NDArray[np.bool_]) -> tuple[float, float]:
    """The middle of a mask's box, in shares of the picture."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return (columns[0] + columns[-1] + 1) / 2 / _GRID, (rows[0] + rows[-1] + 1) / 2 / _GRID


def _gap(one: FloatArray, other: FloatArray) -> float:
    """What shows between two silhouettes given by points (N, 2), in shares of the picture; 0 if they touch."""
    between = np.maximum(one.min(axis=0) - other.max(axis=0), other.min(axis=0) - one.max(axis=0)).max()
    if between >= LEAST_GAP:
        return float(between)
    low = np.minimum(one.min(axis=0), other.min(axis=0))
    cells = [np.floor((points - low) * _FINE_GRID).astype(int) for points in (one, other)]
    free = np.ones(np.maximum(cells[0].max(axis=0), cells[1].max(axis=0)) + 1, dtype=bool)
    free[tuple(cells[0].T)] = False
    # From centre to centre: one cell of that is theirs.
    return max(float(distance_transform_edt(free)[tuple(cells[1].T)].min()) - 1, 0) / _FINE_GRID


@cache
def _hull(kind: str, form: str, variant: int) -> FloatArray:
    """The corners (N, 3) of a model's convex hull: all that its box in a picture depends on."""
    vertices = model(kind, form, variant).vertices
    corners: IntArray = ConvexHull(vertices).vertices
    return vertices[corners]


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
