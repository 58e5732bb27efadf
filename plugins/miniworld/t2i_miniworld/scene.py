"""What a picture shows, before it is drawn: things asked for, things placed, and the stage around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from t2i_miniworld.palette import RGB

Point = tuple[float, float, float]
LinearRGB = tuple[float, float, float]


@dataclass(frozen=True)
class Thing:
    """What a prompt asks for: a kind (a key of `classes.KINDS`) and, where it says so, a paint."""

    kind: str
    paint: str | None = None


@dataclass(frozen=True)
class Placed:
    """One thing on the stage.

    slot     its place among the things asked for, which names its random streams
    form, variant, coat   which of the kind's bodies and natural looks
    stretch  factors along its own x, y and z; ``scale`` its size in world units
    yaw      turn about the vertical, degrees, 0 when its nose points to the right of the picture
    position the ground point below its middle, and the height at which it stands, world units
    """

    slot: int
    thing: Thing
    form: str
    variant: int
    coat: int
    stretch: Point
    yaw: float
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
class Scene:
    """A stage with things on it, complete: the same scene gives the same bytes wherever it is drawn."""

    stage: Stage
    placed: tuple[Placed, ...] = field(default_factory=tuple)
