"""Layout of a scene: places, poses, camera and light, all drawn from named random streams.

The layout covers all requested things and everything that faults may replace or add, whether they do or not. Paint
does not affect it. Everything that may stand in one place keeps clear of everything that may stand in another, so
faults applied afterwards never move or hide other things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, permutations

import numpy as np
from scipy.spatial import ConvexHull

from t2i_miniworld import camera
from t2i_miniworld.classes import KINDS, VARIANTS, model
from t2i_miniworld.laws import Laws, choose, dress, leaves_of
from t2i_miniworld.owners import owners
from t2i_miniworld.palette import RGB
from t2i_miniworld.scene import Place, Placed, PlacedScene, ScenePlan, Stage, Thing, Tie
from t2i_miniworld.shapes.mesh import FloatArray, IntArray
from t2i_miniworld.streams import stream

#: Maximum number of requested things in a scene.
MOST = 4
#: Minimum visible area of a thing, as a fraction of the picture.
LEAST_AREA = 0.015
#: Minimum gap between the boxes of two things, as a fraction of the picture's side.
LEAST_GAP = 0.05
#: Minimum gap between a box and the picture's edge, as a fraction of its side.
LEAST_EDGE = 0.01
#: Minimum clearness of a relation: ratio of the distances of the boxes' centres along its axis and across it.
LEAST_TIE = 1.5

#: Number of layouts sketched at once, of rounds, and of promising sketches that are computed exactly.
_SKETCHES, _ROUNDS, _TRIALS = 256, 10, 4
#: Factor by which sketches exceed the minimums, because a thing's shape changes slightly with its place.
_SLACK = 1.1
#: Side in pixels of the picture on which areas are measured.
_GRID = 96

#: Muted colours, so that no ground is taken for a paint.
_GROUNDS: tuple[RGB, ...] = (
    (186, 178, 162), (168, 170, 164), (150, 152, 150), (196, 188, 178),
    (172, 164, 150), (158, 162, 168), (204, 200, 192),
)  # fmt: skip
_BACKGROUNDS: tuple[RGB, ...] = (
    (206, 210, 212), (222, 218, 210), (188, 194, 198), (214, 206, 196), (198, 200, 194), (228, 226, 222),
)  # fmt: skip


#: Arrangements to choose from, by number of things. An arrangement may have more places than things.
_ARRANGEMENTS: dict[int, tuple[tuple[Place, ...], ...]] = {
    1: ((Place(0.5, 0.86, 0.88, 0.76),),),
    2: (
        (Place(0.27, 0.84, 0.48, 0.72), Place(0.73, 0.84, 0.48, 0.72)),
        (Place(0.29, 0.70, 0.46, 0.62), Place(0.72, 0.92, 0.50, 0.68)),
        (Place(0.28, 0.92, 0.50, 0.68), Place(0.71, 0.70, 0.46, 0.62)),
        (Place(0.50, 0.48, 0.80, 0.42), Place(0.50, 0.95, 0.84, 0.44)),
        (Place(0.26, 0.46, 0.45, 0.42), Place(0.74, 0.46, 0.45, 0.42), Place(0.26, 0.95, 0.45, 0.43),
         Place(0.74, 0.95, 0.45, 0.43)),
    ),
    3: (
        (Place(0.18, 0.82, 0.33, 0.62), Place(0.50, 0.82, 0.33, 0.62), Place(0.82, 0.82, 0.33, 0.62)),
        (Place(0.27, 0.46, 0.45, 0.42), Place(0.73, 0.46, 0.45, 0.42), Place(0.50, 0.95, 0.50, 0.44)),
        (Place(0.50, 0.46, 0.46, 0.42), Place(0.26, 0.95, 0.47, 0.44), Place(0.74, 0.95, 0.47, 0.44)),
        (Place(0.50, 0.34, 0.60, 0.29), Place(0.50, 0.65, 0.60, 0.28), Place(0.50, 0.96, 0.62, 0.28)),
        (Place(0.26, 0.46, 0.45, 0.42), Place(0.74, 0.46, 0.45, 0.42), Place(0.26, 0.95, 0.45, 0.43),
         Place(0.74, 0.95, 0.45, 0.43)),
    ),
    4: (
        (Place(0.26, 0.46, 0.45, 0.42), Place(0.74, 0.46, 0.45, 0.42), Place(0.26, 0.95, 0.45, 0.43),
         Place(0.74, 0.95, 0.45, 0.43)),
        (Place(0.17, 0.46, 0.31, 0.42), Place(0.50, 0.46, 0.31, 0.42), Place(0.83, 0.46, 0.31, 0.42),
         Place(0.27, 0.95, 0.42, 0.43), Place(0.73, 0.95, 0.42, 0.43)),
        (Place(0.27, 0.46, 0.42, 0.42), Place(0.73, 0.46, 0.42, 0.42), Place(0.17, 0.95, 0.31, 0.43),
         Place(0.50, 0.95, 0.31, 0.43), Place(0.83, 0.95, 0.31, 0.43)),
        (Place(0.13, 0.80, 0.24, 0.60), Place(0.38, 0.80, 0.24, 0.60), Place(0.62, 0.80, 0.24, 0.60),
         Place(0.87, 0.80, 0.24, 0.60)),
        (Place(0.50, 0.29, 0.50, 0.24), Place(0.50, 0.52, 0.50, 0.22), Place(0.50, 0.75, 0.50, 0.22),
         Place(0.50, 0.98, 0.50, 0.22)),
    ),
}  # fmt: skip

PREDICATES = ("left", "right", "above", "below")


class NoArrangement(ValueError):
    """Raised if no arrangement of the things satisfies all relations."""


@dataclass(frozen=True)
class _Body:
    """A thing to be placed, with its aspect ratio (width by height) and the fraction of its box that it fills."""

    placed: Placed
    aspect: float
    fill: float

    @property
    def lifted(self) -> bool:
        return KINDS[self.placed.thing.kind].lift > 0


def lay_out(things: Sequence[Thing], *key: str | int, ties: tuple[Tie, ...] = ()) -> PlacedScene:
    """Place 1 to `MOST` things on a stage: `plan` without room for faults."""
    return plan(things, *key, ties=ties).scene


def plan(
    things: Sequence[Thing],
    *key: str | int,
    ties: tuple[Tie, ...] = (),
    instead: Sequence[Thing] = (),
    extra: Thing | None = None,
) -> ScenePlan:
    """Place 1 to `MOST` things and everything that faults may draw. The result depends only on the arguments.

    What a thing leaves open is drawn: a leaf of its kind uniformly, then a form of that leaf uniformly. The
    minimums also hold with the things of the first relation exchanged.

    Args:
        things: The requested things.
        key: Key of the random streams.
        ties: Relations between them.
        instead: Replacement of each thing; or empty.
        extra: An additional thing.

    Raises:
        ValueError: If a kind is unknown or there are too many things.
        NoArrangement: If the relations contradict each other.
    """
    if not 1 <= len(things) <= MOST:
        raise ValueError(f"a scene must have 1 to {MOST} things (got {len(things)})")
    for thing in things:
        if thing.kind not in KINDS:
            raise ValueError(f"the mini world has no {thing.kind!r}; it has {', '.join(KINDS)}")
    arrangements = _keeping(len(things), ties)
    stage = draw_stage(stream("stage", *key))
    right = [_body(pose(slot, thing, *key), stage) for slot, thing in enumerate(things)]
    wrong = [_body(pose(slot, thing, "instead", *key), stage) for slot, thing in enumerate(instead)]
    more = _body(pose(len(things), extra, *key), stage) if extra else None
    guests = _guests([*zip(right, wrong, strict=True)] if wrong else [(body,) for body in right], ties)
    best: tuple[float, ScenePlan] | None = None
    for attempt in range(_ROUNDS):
        rng = stream("places", attempt, *key)
        for places in _sketches(guests, more, arrangements, ties, attempt, rng):
            found = ScenePlan(
                PlacedScene(
                    stage, tuple(fit(body.placed, at, stage) for body, at in zip(right, places, strict=False))
                ),
                tuple(fit(body.placed, at, stage) for body, at in zip(wrong, places, strict=False)),
                fit(more.placed, places[-1], stage) if more else None,
                ties,
            )
            margin = margin_of(found)
            if best is None or margin > best[0]:
                best = margin, found
            if margin >= 1:
                return found
    assert best is not None
    return best[1]


def pose(slot: int, thing: Thing, *key: str | int) -> Placed:
    """Draw body, look, heading and all else that a thing leaves open; `fit` sets its place and size."""
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
    """Move and scale a thing so that it fills its place, with the middle of its lower edge at (u, v)."""
    points = _hull(placed.thing.kind, placed.form, placed.variant)
    lift = KINDS[placed.thing.kind].lift
    # leave room for the shadow below a hovering thing
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


def exchanged(placed: Sequence[Placed], tie: Tie, stage: Stage) -> list[Placed]:
    """Return the things with the two of a relation exchanged. No other thing moves."""
    there = {tie.subject: placed[tie.object].place, tie.object: placed[tie.subject].place}
    return [fit(one, there[one.slot], stage) if one.slot in there else one for one in placed]


def world_points(points: FloatArray, placed: Placed) -> FloatArray:
    """Transform points (N, 3) of a thing's model to world coordinates."""
    angle = np.radians(placed.yaw)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    stretched = points * np.asarray(placed.stretch)
    return (stretched @ turn.T) * placed.scale + np.asarray(placed.position)


def draw_stage(rng: np.random.Generator) -> Stage:
    """Draw camera, light and background colours."""
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


def _body(posed: Placed, stage: Stage) -> _Body:
    """Return the shape of a thing, measured in the middle of the picture."""
    (x0, y0, x1, y1), area = _seen(fit(posed, Place(0.5, 0.8, 0.5, 0.5), stage), stage)
    return _Body(posed, (x1 - x0) / (y1 - y0), area / (x1 - x0) / (y1 - y0))


def _guests(bodies: Sequence[tuple[_Body, ...]], ties: tuple[Tie, ...]) -> list[tuple[_Body, ...]]:
    """Return everything that may stand in each thing's place, including things that a relation may exchange."""
    guests = list(bodies)
    if ties:
        both = bodies[ties[0].subject] + bodies[ties[0].object]
        guests[ties[0].subject] = guests[ties[0].object] = both
    return guests


def _sketches(
    guests: Sequence[tuple[_Body, ...]],
    more: _Body | None,
    arrangements: Sequence[FloatArray],
    ties: tuple[Tie, ...],
    attempt: int,
    rng: np.random.Generator,
) -> list[list[Place]]:
    """Return places for all things, and for one ``more``, in the sketches that meet all minimums, or in the best.

    Each sketch assigns the places of a random arrangement in random order, with small random offsets.
    """
    count = len(guests)
    chosen = rng.integers(len(arrangements), size=_SKETCHES)
    order = rng.integers([len(arrangements[index]) for index in chosen])
    places = np.stack([arrangements[index][at] for index, at in zip(chosen, order, strict=True)])
    # later attempts use smaller things, which leaves more room between them
    low, high = (0.62 if count == 1 else 0.80) - 0.35 * attempt / _ROUNDS, 1 - 0.25 * attempt / _ROUNDS
    places[..., 2:] *= rng.uniform(low, high, (_SKETCHES, count, 1))
    # the smaller a single thing, the farther from the middle it may stand
    reach = (0.5 * (1 - places[..., 2]) if count == 1 else 0.03) - LEAST_EDGE
    places[..., 0] += reach * rng.uniform(-1, 1, (_SKETCHES, count))
    places[..., 1] = np.minimum(places[..., 1] + rng.uniform(-0.04, 0.03, (_SKETCHES, count)), 1 - LEAST_EDGE)
    boxes, areas = zip(*(_sketched(bodies, places[:, at]) for at, bodies in enumerate(guests)), strict=True)
    margins = _margins(boxes, areas, ties, _SLACK)
    found = []
    for number in np.argsort(-np.minimum(margins, 1), kind="stable")[:_TRIALS]:
        margin, spots = float(margins[number]), places[number]
        if more is not None:
            room, spot = _spot(more, [of[number] for of in boxes], rng)
            margin, spots = min(margin, room), np.vstack([spots, spot])
        found.append((margin, [Place(*spot) for spot in spots.tolist()]))
    return [at for margin, at in found if margin >= 1] or [max(found, key=lambda sketch: sketch[0])[1]]


def _spot(more: _Body, taken: Sequence[FloatArray], rng: np.random.Generator) -> tuple[float, FloatArray]:
    """Return the margin of a place and the place (4,), for one more thing among occupied boxes (V, 4)."""
    side = rng.uniform(0.14, 0.42, _SKETCHES)
    u, v = rng.uniform(0.06, 0.94, _SKETCHES), rng.uniform(0.30, 1 - LEAST_EDGE, _SKETCHES)
    places = np.stack([u, v, side, side], axis=1)
    boxes, areas = _sketched((more,), places)
    others = [np.broadcast_to(box, (_SKETCHES, *box.shape)) for box in taken]
    shown = [np.ones((_SKETCHES, len(box))) for box in taken]
    margins = _margins([*others, boxes], [*shown, areas], (), _SLACK)
    best = np.argmax(np.minimum(margins, 1))
    return float(margins[best]), places[best]


def _sketched(bodies: Sequence[_Body], places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return boxes (N, V, 4) and areas (N, V) of V bodies in N places (N, 4), approximating `fit`."""
    u, v, width, height = places.T
    boxes, areas = [], []
    for body in bodies:
        bottom, room = (v - 0.2 * height, 0.8 * height) if body.lifted else (v, height)
        w = np.minimum(width, room * body.aspect)
        boxes.append(np.stack([u - w / 2, bottom - w / body.aspect, u + w / 2, bottom], axis=1))
        areas.append(w * w / body.aspect * body.fill)
    return np.stack(boxes, axis=1), np.stack(areas, axis=1)


def _margins(
    boxes: Sequence[FloatArray], areas: Sequence[FloatArray], ties: tuple[Tie, ...], slack: float = 1.0
) -> FloatArray:
    """Return how well N layouts meet the minimums: 1 or more if all are met, less than 1 otherwise.

    Args:
        boxes: For each place, the boxes (N, V, 4) of everything that may stand there.
        areas: For each place, their areas (N, V).
        ties: Relations between the things.
        slack: Factor by which the minimums are raised.
    """
    union = [np.concatenate([of[..., :2].min(axis=1), of[..., 2:].max(axis=1)], axis=1) for of in boxes]
    margins = np.min([of.min(axis=1) for of in areas], axis=0) / LEAST_AREA / slack
    for box in union:
        room = np.minimum(box.min(axis=1), 1 - box.max(axis=1)) - LEAST_EDGE
        margins = np.minimum(margins, 1 + np.minimum(room, 0) / LEAST_GAP)
    for one, other in combinations(union, 2):
        between = np.maximum(one[:, :2] - other[:, 2:], other[:, :2] - one[:, 2:]).max(axis=1)
        margins = np.minimum(margins, between / LEAST_GAP / slack)
    centres = [(of[..., :2] + of[..., 2:]) / 2 for of in boxes]
    for tie in ties:
        clear = _clearness(centres[tie.subject][:, :, None], centres[tie.object][:, None], tie)
        margins = np.minimum(margins, clear.min(axis=(1, 2)) / slack)
    return margins


def margin_of(found: ScenePlan) -> float:
    """Return how well a plan meets the minimums, with or without faults: 1 or more if all are met."""
    stage = found.scene.stage
    casts = [found.scene.placed, found.instead] if found.instead else [found.scene.placed]
    casts += [tuple(exchanged(cast, tie, stage)) for cast in casts for tie in found.ties[:1]]
    more = [found.extra] if found.extra else []
    boxes, areas = [], []
    for place in [one.place for one in (*found.scene.placed, *more)]:
        guests = [one for cast in [*casts, more] for one in cast if one.place == place]
        seen = [_seen(one, stage) for one in guests]
        boxes.append(np.array([[box for box, _ in seen]]))
        areas.append(np.array([[area for _, area in seen]]))
    return float(_margins(boxes, areas, found.ties)[0])


def _seen(placed: Placed, stage: Stage) -> tuple[tuple[float, float, float, float], float]:
    """Return box and area of a single thing, as fractions of the picture; the box includes parts outside."""
    built = model(placed.thing.kind, placed.form, placed.variant)
    shown = owners([(world_points(built.vertices, placed), built.faces)], stage.elevation, _GRID) == 0
    return box_of(placed, stage), float(shown.mean())


def box_of(placed: Placed, stage: Stage) -> tuple[float, float, float, float]:
    """Return the box (x0, y0, x1, y1) of a thing as fractions of the picture; it may reach outside."""
    points = world_points(_hull(placed.thing.kind, placed.form, placed.variant), placed)
    at, _ = camera.project(points, stage.elevation)
    (x0, y0), (x1, y1) = at.min(axis=0).tolist(), at.max(axis=0).tolist()
    return x0, y0, x1, y1


@cache
def _keeping(count: int, ties: tuple[Tie, ...]) -> tuple[FloatArray, ...]:
    """Return, for each arrangement of ``count`` things, the orders (O, count, 4) of places that meet all ties."""
    kept = []
    for places in _ARRANGEMENTS[count]:
        orders = np.array(
            [[(p.u, p.v, p.width, p.height) for p in order] for order in permutations(places, count)]
        )
        middles = orders[..., :2] - orders[..., 2:] * (0, 0.5)
        keep = np.ones(len(orders), dtype=bool)
        for tie in ties:
            keep &= _clearness(middles[:, tie.subject], middles[:, tie.object], tie) >= 1
        if keep.any():
            kept.append(orders[keep])
    if not kept:
        raise NoArrangement("no arrangement of the things satisfies all these relations")
    return tuple(kept)


def _clearness(subject: FloatArray, object_: FloatArray, tie: Tie) -> FloatArray:
    """Return how clearly centres (..., 2) satisfy a relation: 1 at `LEAST_TIE`, 1 / `LEAST_TIE` at its limit."""
    du, dv = np.moveaxis(subject - object_, -1, 0)
    along, across = {"left": (-du, dv), "right": (du, dv), "above": (-dv, du), "below": (dv, du)}[tie.predicate]
    clear: FloatArray = along / np.maximum(LEAST_TIE * np.abs(across), LEAST_GAP)
    return clear


@cache
def _hull(kind: str, form: str, variant: int) -> FloatArray:
    """Return the corners (N, 3) of a model's convex hull, which determine its box in a picture."""
    vertices = model(kind, form, variant).vertices
    corners: IntArray = ConvexHull(vertices).vertices
    return vertices[corners]
