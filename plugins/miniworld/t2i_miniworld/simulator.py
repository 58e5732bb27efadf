"""Generator `simulator`: renders the scene that a prompt expects, with faults at known rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from t2i_core.api import (
    Failure,
    Generated,
    ImageRequest,
    Instance,
    ObjectClass,
    Prompt,
    Relation,
    SceneObject,
    Truth,
)
from t2i_core.api import Scene as AskedScene
from t2i_core.api.mask import PackedMask

from t2i_miniworld.classes import KINDS
from t2i_miniworld.faults import Draw, FaultRates, apply, extra_of, wrong_thing
from t2i_miniworld.laws import ATTRIBUTES, Laws, choose, dress, leaf_of, leaf_probabilities, parse_skews, worn
from t2i_miniworld.layout import MOST, PREDICATES, NoArrangement, plan
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Placed, PlacedScene, ScenePlan, Thing, Tie
from t2i_miniworld.sign_classes import names_signs
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LEAVES
from t2i_miniworld.workers import map_ordered

if TYPE_CHECKING:
    from t2i_miniworld.render import RenderedPicture


class CannotDraw(ValueError):
    """Raised for a prompt that the simulator cannot draw."""


@dataclass(frozen=True)
class Simulator:
    """Generator that renders expected scenes in several processes."""

    options: SimulatorOptions

    @property
    def settings(self) -> dict[str, object]:
        """Settings for the manifest."""
        return {
            "size": self.options.size,
            "spp": self.options.spp,
            "renderer": "mitsuba scalar_rgb, box filter",
            "device": "cpu",
        }

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request with its picture, in order; a prompt that cannot be drawn is a failure."""
        return map_ordered(partial(simulate, self.options), requests, self.options.workers)


def simulate(options: SimulatorOptions, request: ImageRequest) -> Generated | Failure:
    """Draw one request. The result depends only on options, prompt and seed."""
    from t2i_miniworld.render import draw

    if names_signs(request.prompt.scene):
        return _simulate_signs(options, request)
    try:
        scene = commission(options, request)
    except CannotDraw as reason:
        return Failure(str(reason), final=True)
    picture = draw(scene, options.size, options.spp)
    return Generated(picture.image, truth=truth(scene, picture, request.prompt))


def _simulate_signs(options: SimulatorOptions, request: ImageRequest) -> Generated | Failure:
    """Draw a request for signs or boards."""
    from t2i_miniworld.sign_picture import describe_signs, draw_signs
    from t2i_miniworld.signs import UnreadableSign, plan_signs

    asked = request.prompt.scene
    assert asked is not None
    try:
        scene = plan_signs(asked, Draw(faults_of(options), *key_of(options, request)))
    except UnreadableSign as reason:
        return Failure(str(reason), final=True)
    picture = draw_signs(scene, options.size, options.spp)
    return Generated(picture.image, truth=describe_signs(scene, picture, request.prompt))


def commission(options: SimulatorOptions, request: ImageRequest) -> PlacedScene:
    """Return the scene that is drawn for a request, with faults applied.

    Raises:
        CannotDraw: If the prompt cannot be drawn.
    """
    return err(prepare(options, request), request, Draw(faults_of(options), *key_of(options, request)))


def prepare(options: SimulatorOptions, request: ImageRequest) -> ScenePlan:
    """Return the places of everything that may be shown, independent of the rates of faults.

    Raises:
        CannotDraw: If the prompt cannot be drawn.
    """
    cast, key = cast_of(options, request), key_of(options, request)
    try:
        return plan(cast.things, *key, ties=cast.ties, instead=cast.instead, extra=cast.extra)
    except NoArrangement as reason:
        raise CannotDraw(str(reason)) from None


@dataclass(frozen=True)
class Cast:
    """Everything that a picture may show, before it is laid out; see `ScenePlan`."""

    things: Sequence[Thing]
    instead: Sequence[Thing]
    extra: Thing
    ties: tuple[Tie, ...]


def cast_of(options: SimulatorOptions, request: ImageRequest) -> Cast:
    """Choose, by the laws, what a request leaves open and what faults may draw.

    Raises:
        CannotDraw: If the prompt cannot be drawn.
    """
    asked = request.prompt.scene
    if asked is None:
        raise CannotDraw("the prompt has only a text; the simulator needs a prompt with an expected scene")
    wanted, ties = spread(asked)
    key = key_of(options, request)
    laws = Laws(options.hyponyms, parse_skews(options.skew), options.salt)
    things = [choose_thing(one, laws, slot, *key) for slot, one in enumerate(wanted)]
    instead = [wrong_thing(thing, slot, laws, *key) for slot, thing in enumerate(things)]
    extra = choose_thing(wanted[extra_of(len(wanted), *key)], laws, len(wanted), *key)
    return Cast(things, instead, extra, ties)


def key_of(options: SimulatorOptions, request: ImageRequest) -> tuple[str, int, int]:
    """Return the key of all random streams of a picture: prompt, seed and salt."""
    return request.prompt.scene_digest, request.seed, options.salt


def err(prepared: ScenePlan, request: ImageRequest, draw: Draw) -> PlacedScene:
    """Return the scene that a model with these faults draws, from the plan of a request."""
    asked = request.prompt.scene
    assert asked is not None
    groups = [number for number, one in enumerate(asked.objects) for _ in range(one.count)]
    return apply(prepared, groups, draw)


def faults_of(options: SimulatorOptions) -> FaultRates:
    """Return the rates of faults among the options."""
    return FaultRates(**{field.name: getattr(options, field.name) for field in fields(FaultRates)})


def spread(scene: AskedScene) -> tuple[list[SceneObject], tuple[Tie, ...]]:
    """Return one entry per thing to draw, in the prompt's order, and the relations between them.

    Raises:
        CannotDraw: If something cannot be drawn.
    """
    wanted: list[SceneObject] = []
    first = []
    for one in scene.objects:
        _check(one)
        first.append(len(wanted))
        wanted += [one] * one.count
    if not 1 <= len(wanted) <= MOST:
        raise CannotDraw(f"the simulator draws 1 to {MOST} things, not {len(wanted)}")
    for relation in scene.relations:
        _check_relation(relation, scene)
    return wanted, tuple(Tie(first[r.subject], r.predicate, first[r.object]) for r in scene.relations)


def choose_thing(wanted: SceneObject, laws: Laws, slot: int, *key: str | int) -> Thing:
    """Choose, by the laws, the leaf and all else that a prompt leaves open for one object."""
    leaf = choose(leaf_probabilities(laws, wanted.cls), "leaf", slot, *key)
    form, coat = dress(leaf, wanted.attributes, laws, slot, *key)
    return Thing(LEAVES[leaf], wanted.colour, form, coat)


def _check(wanted: SceneObject) -> None:
    leaves = leaves_under(wanted.cls)
    if not leaves:
        raise CannotDraw(f"the mini world has no {wanted.cls.name!r}; it has {', '.join(KINDS)}")
    if type(wanted.count) is not int or wanted.count < 1:
        raise CannotDraw(f"the number of {wanted.cls.name} must be 1 or more (got {wanted.count!r})")
    if wanted.colour is not None and wanted.colour not in PAINTS:
        raise CannotDraw(f"the mini world has no {wanted.colour!r} paint; it has {', '.join(PAINTS)}")
    if wanted.attributes and {LEAVES[leaf] for leaf in leaves} != {"human"}:
        raise CannotDraw(f"only a human has attributes ({', '.join(ATTRIBUTES)}), not a {wanted.cls.name}")
    for attribute, value in wanted.attributes.items():
        if attribute not in ATTRIBUTES:
            raise CannotDraw(f"a human has no {attribute!r}; its attributes are {', '.join(ATTRIBUTES)}")
        if value not in ATTRIBUTES[attribute]:
            raise CannotDraw(f"{attribute} must be one of {', '.join(ATTRIBUTES[attribute])} (got {value!r})")
    if wanted.attributes.get("coat", wanted.colour) != wanted.colour and wanted.colour is not None:
        raise CannotDraw(f"a {wanted.colour} human cannot wear a {wanted.attributes['coat']} coat")


def _check_relation(relation: Relation, scene: AskedScene) -> None:
    if relation.predicate not in PREDICATES:
        raise CannotDraw(
            f"the simulator knows no relation {relation.predicate!r}; it knows {', '.join(PREDICATES)}"
        )
    ends = (relation.subject, relation.object)
    if relation.subject == relation.object or not all(0 <= end < len(scene.objects) for end in ends):
        raise CannotDraw("a relation must be between two of the prompt's objects")
    if any(scene.objects[end].count != 1 for end in ends):
        raise CannotDraw("a relation must be between objects with a count of 1")


def truth(scene: PlacedScene, picture: RenderedPicture, prompt: Prompt) -> Truth:
    """Return the ground truth of a picture."""
    height, width = picture.owner.shape
    return Truth((width, height), instances(scene, picture), prompt.scene, prompt.text)


def instances(scene: PlacedScene, picture: RenderedPicture) -> tuple[Instance, ...]:
    """Return every thing with at least one visible pixel, in the scene's order."""
    masks = [PackedMask.pack(np.asarray(picture.owner == number)) for number in range(len(scene.placed))]
    return tuple(annotation(one, mask) for one, mask in zip(scene.placed, masks, strict=True) if mask.data)


def annotation(placed: Placed, mask: PackedMask) -> Instance:
    """Return the annotation of a thing that is visible in a mask."""
    cls = ObjectClass(placed.thing.kind, KINDS[placed.thing.kind].synset)
    return Instance(cls, placed.thing.paint, mask.box, mask, attributes(placed))


def attributes(placed: Placed) -> dict[str, str]:
    """Return further attributes of a thing: its body, its leaf, and what a human wears."""
    described = {"form": placed.form, "synset": leaf_of(placed.thing.kind, placed.form)}
    coat = placed.thing.paint or placed.coat
    if placed.coat is not None and coat is not None:
        described |= {"coat": coat, **worn(placed.form)}
    return described
