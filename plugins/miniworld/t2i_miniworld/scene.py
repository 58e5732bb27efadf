"""What a picture shows, before it is drawn: things asked for, things placed, and the stage around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from t2i_miniworld.palette import RGB

Point = tuple[float, float, float]
LinearRGB = tuple[float, float, float]


@dataclass(frozen=True)
class Thing:
    """What a prompt asks for, and what it leaves open (None).

    kind   a key of `classes.KINDS`
    paint  a colour of the whole thing; None keeps its natural look
    form   one of the kind's bodies
    coat   the paint of a human's coat
    """

    kind: str
    paint: str | None = None
    form: str | None = None
    coat: str | None = None


@dataclass(frozen=True)
class Tie:
    """Thing ``subject`` stands ``predicate`` (left, right, above, below) of thing ``object`` in the picture.

    Both are slots: places among the things asked for.
    """

    subject: int
    predicate: str
    object: int


@dataclass(frozen=True)
class Place:
    """A box in the picture for one thing: middle ``u``, lower edge ``v``, and size, in shares of the picture."""

    u: float
    v: float
    width: float
    height: float


@dataclass(frozen=True)
class Placed:
    """One thing on the stage, with nothing left open.

    slot     its place among the things asked for, which names its random streams; an extra one counts on
    form, variant, look   which of the kind's bodies and natural looks
    coat     the paint of a human's coat (unless all of it is painted), None for every other kind
    stretch  factors along its own x, y and z; ``scale`` its size in world units
    yaw      turn about the vertical, degrees, 0 when its nose points to the right of the picture
    place    the box that it is fitted into
    position the ground point below its middle, and the height at which it stands, world units
    """

    slot: int
    thing: Thing
    form: str
    coat: str | None
    variant: int
    look: int
    stretch: Point
    yaw: float
    place: Place
    scale: float
    position: Point


@dataclass(frozen=True)
class Stage:
    """Camera, light and colours: all that a picture has without its things.

    elevation     degrees of the camera above the ground
    sun_azimuth   degrees from straight behind the camera, positive to the right; ``sun_elevation`` above ground
    sun, ambient  how brightly a white surface glows in full sun, and in the shade
    warmth        -1 (cool) to 1 (warm) tint of the sun
    """

    elevation: float
    sun_azimuth: float
    sun_elevation: float
    sun: float
    ambient: float
    warmth: float
    ground: RGB
    background: RGB


@dataclass(frozen=True)
class PlacedScene:
    """A stage with things on it, complete: the same scene gives the same bytes wherever it is drawn."""

    stage: Stage
    placed: tuple[Placed, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class ScenePlan:
    """All that a picture may show, whatever faults happen, each thing in its place.

    scene    the things asked for
    instead  for each of them what a wrong object would be; empty where none is foreseen
    extra    one thing more, if one is foreseen
    ties     the relations between the things asked for
    """

    scene: PlacedScene
    instead: tuple[Placed, ...] = ()
    extra: Placed | None = None
    ties: tuple[Tie, ...] = ()
