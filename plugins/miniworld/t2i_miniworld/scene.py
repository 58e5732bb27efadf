"""Description of a scene before it is rendered: requested things, placed things, and the stage."""

from __future__ import annotations

from dataclasses import dataclass, field

from t2i_miniworld.palette import RGB

Point = tuple[float, float, float]
LinearRGB = tuple[float, float, float]


@dataclass(frozen=True)
class Thing:
    """A requested thing; None for what the prompt leaves open.

    Attributes:
        kind: A key of `classes.KINDS`.
        paint: Colour of the whole thing; None keeps its natural look.
        form: One of the kind's bodies.
        coat: Paint of a human's coat.
    """

    kind: str
    paint: str | None = None
    form: str | None = None
    coat: str | None = None


@dataclass(frozen=True)
class Tie:
    """A relation: ``subject`` is ``predicate`` (left, right, above, below) of ``object`` in the picture.

    ``subject`` and ``object`` are slots: indices among the requested things.
    """

    subject: int
    predicate: str
    object: int


@dataclass(frozen=True)
class Place:
    """A box for one thing: middle ``u``, lower edge ``v``, width and height, as fractions of the picture."""

    u: float
    v: float
    width: float
    height: float


@dataclass(frozen=True)
class Placed:
    """A thing on the stage, with nothing left open.

    Attributes:
        slot: Index among the requested things, which names its random streams; an extra thing has the next index.
        form: One of the kind's bodies.
        variant: Variant of the body.
        look: Natural look.
        coat: Paint of a human's coat; None for other kinds, and for a human who is painted completely.
        stretch: Factors along its own x, y and z axes.
        scale: Size in world units.
        yaw: Rotation about the vertical in degrees; 0 if it faces the right of the picture.
        place: Box that it is fitted into.
        position: Ground point below its middle, and its height above the ground, in world units.
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
    """Camera, light and background colours of a picture.

    Attributes:
        elevation: Angle of the camera above the ground in degrees.
        sun_azimuth: Angle of the sun from straight behind the camera in degrees, positive to the right.
        sun_elevation: Angle of the sun above the ground in degrees.
        sun: Brightness of a white surface in full sun.
        ambient: Brightness of a white surface in the shade.
        warmth: Tint of the sun from -1 (cool) to 1 (warm).
        ground: Colour of the ground.
        background: Colour of the sky.
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
    """A complete scene: a stage with things. The same scene gives the same bytes on every machine."""

    stage: Stage
    placed: tuple[Placed, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class ScenePlan:
    """Everything that a picture may show, with or without faults, in its place.

    Attributes:
        scene: The requested things.
        instead: Replacement of each of them, for the fault `wrong_object`; empty if that fault cannot happen.
        extra: Additional thing, for the fault `extra`; None if that fault cannot happen.
        ties: Relations between the requested things.
    """

    scene: PlacedScene
    instead: tuple[Placed, ...] = ()
    extra: Placed | None = None
    ties: tuple[Tie, ...] = ()
