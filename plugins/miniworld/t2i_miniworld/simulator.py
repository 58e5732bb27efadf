"""Generator `simulator`: draws the scene that a prompt expects, less its faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from t2i_core import Failure, Generated, ImageRequest, Instance, ObjectClass, Prompt, Truth
from t2i_core import Scene as AskedScene
from t2i_core.masks import PackedMask

from t2i_miniworld.classes import KINDS
from t2i_miniworld.faults import Faults, apply
from t2i_miniworld.layout import MOST, lay_out
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Scene, Thing
from t2i_miniworld.vocabulary import find
from t2i_miniworld.workers import map_ordered

if TYPE_CHECKING:
    from t2i_miniworld.render import Picture


class CannotDraw(ValueError):
    """A prompt that the simulator has no picture for."""


@dataclass(frozen=True)
class Simulator:
    """Draws with the given options, in as many processes as they say."""

    options: SimulatorOptions

    @property
    def settings(self) -> dict[str, object]:
        """What the manifest says of the drawing."""
        return {"size": self.options.size, "spp": self.options.spp, "renderer": "mitsuba scalar_rgb, box filter"}

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Draw each request, in order; a prompt that cannot be drawn is a failure that says why."""
        return map_ordered(partial(simulate, self.options), requests, self.options.workers)


def simulate(options: SimulatorOptions, request: ImageRequest) -> Generated | Failure:
    """Draw one request: a pure function of options, prompt and seed."""
    from t2i_miniworld.render import draw

    try:
        scene = commission(options, request)
    except CannotDraw as reason:
        return Failure(str(reason), final=True)
    picture = draw(scene, options.size, options.spp)
    return Generated(picture.image, truth=truth(scene, picture, request.prompt))


def commission(options: SimulatorOptions, request: ImageRequest) -> Scene:
    """The scene that is drawn for a request, faults applied. Raises CannotDraw where there is none."""
    if request.prompt.scene is None:
        raise CannotDraw("the simulator draws what a prompt expects, and this one says only a text")
    asked = things(request.prompt.scene)
    prompt, seed = request.prompt.scene_digest, request.seed
    faults = Faults(options.drop, options.wrong_color, options.seed_sd, options.prompt_sd)
    return apply(lay_out(asked, prompt, seed, options.salt), faults, prompt, seed, options.salt)


def things(scene: AskedScene) -> list[Thing]:
    """What to draw for an expected scene, in the prompt's order. Raises CannotDraw where something cannot be."""
    if scene.relations:
        raise CannotDraw("the simulator does not place things by relations")
    asked = []
    for wanted in scene.objects:
        kind = find(wanted.cls)
        if kind is None:
            raise CannotDraw(f"the mini world has no {wanted.cls.name!r}; it has {', '.join(KINDS)}")
        if wanted.colour is not None and wanted.colour not in PAINTS:
            raise CannotDraw(f"the mini world has no {wanted.colour!r} paint; it has {', '.join(PAINTS)}")
        asked += [Thing(kind, wanted.colour)] * wanted.count
    if not 1 <= len(asked) <= MOST:
        raise CannotDraw(f"the simulator draws 1 to {MOST} things, not {len(asked)}")
    return asked


def truth(scene: Scene, picture: Picture, prompt: Prompt) -> Truth:
    """What the picture really shows: every thing with at least one pixel, in the prompt's order."""
    height, width = picture.owner.shape
    instances = []
    for number, placed in enumerate(scene.placed):
        mask = PackedMask.pack(np.asarray(picture.owner == number))
        if mask.data:
            cls = ObjectClass(placed.thing.kind, KINDS[placed.thing.kind].synset)
            instances.append(Instance(cls, placed.thing.paint, mask.box, mask, {"form": placed.form}))
    return Truth((width, height), tuple(instances), prompt.scene, prompt.text)
