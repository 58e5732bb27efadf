"""Count the simulator's faults and laws in its own annotations: ``python -m t2i_miniworld.count_faults``.

Makes scenes for each setting, reads what their annotations say is there, and compares how often it is so with the
rate that was set, or the number that follows from it. Annotations need no picture: what is counted is known before
anything is drawn, and most of it before anything has a place. Some scenes of each setting are drawn as well, and
must say the same.

Each row is a test. Its p-value must exceed the alarm, that is `ALARM` shared by all rows: of a thousand right
programs one fails anywhere in the table.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import binom
from t2i_core import Generated, ImageRequest, Instance, ObjectClass, Prompt, Relation, SceneObject, Truth
from t2i_core import Scene as AskedScene
from t2i_core.masks import PackedMask

from t2i_miniworld.annotations import relation_of
from t2i_miniworld.count_rows import Rows, alike, mean, share, spread
from t2i_miniworld.faults import Draw, Faults
from t2i_miniworld.laws import Laws, leaf_probabilities
from t2i_miniworld.layout import box_of, pose
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.oracle import fits
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Placed, Plan, Scene, Stage
from t2i_miniworld.simulator import annotation, cast_of, err, faults_of, key_of, prepare, simulate
from t2i_miniworld.streams import stream
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS, LEAVES
from t2i_miniworld.workers import map_ordered

#: One right program in a thousand fails a row of the table.
ALARM = 1e-3
_ANIMAL = ObjectClass("animal", "animal.n.01")
_HUMAN, _DOG, _BUS, _BEAR, _ROOT = (*(LABELS[at] for at in (0, 4, 3, 18)), ObjectClass("entity", "entity.n.01"))
_RATE = 0.3
_VOTERS, _IMAGES = 9, 8
#: Things without a place are never looked at.
_NOWHERE = Stage(12, 40, 45, 0.8, 0.5, 0, (180, 180, 180), (200, 200, 200))
_CHUNK = 250


@dataclass(frozen=True)
class Case:
    """Scenes with certain options, and what to count in them.

    request  number of the scene -> what to draw
    count    truths, in order -> rows of the table
    laid     what is counted depends on where things stand
    times    so many scenes for each that the table has of others
    """

    name: str
    options: dict[str, Any]
    request: Callable[[int], ImageRequest]
    count: Callable[[str, list[Truth]], Rows]
    laid: bool = False
    times: int = 1


def run(
    scenes: int = 5000,
    layouts: int = 1000,
    drawn: int = 14,
    workers: int | None = None,
    cases: Sequence[Case] | None = None,
) -> Rows:
    """Count in ``scenes`` scenes of each case, of which ``drawn`` are drawn; where places matter, in ``layouts``.

    Faults know nothing of layouts, which serve several cases; each case has a salt of its own for its faults.
    """
    cases = CASES if cases is None else cases
    pairs = [plan for _, plan in map_ordered(_pair_plan, _seen(range(layouts), "layouts"), workers)]
    yield from _independence(scenes)
    yield from _indifference(pairs)
    for salt, case in enumerate(cases, 1):
        options = SimulatorOptions(size=64, spp=1, salt=salt, **case.options)
        count = scenes * case.times
        chunks = [range(at, min(at + _CHUNK, count)) for at in range(0, count, _CHUNK)]
        jobs = [(numbers, [pairs[at % layouts] for at in numbers] if case.laid else []) for numbers in chunks]
        work = partial(_annotations, options, case.request, layouts)
        made = map_ordered(work, _seen(jobs, case.name), workers)
        truths = [truth for _, some in made for truth in some]
        yield from case.count(case.name, truths)
        if drawn:
            requests = [case.request(number) for number in range(drawn)]
            found = map_ordered(partial(_agrees, options), _seen(requests, f"{case.name}, drawn"), workers)
            yield share(case.name, "drawn pictures that say the same", 1, [agrees for _, agrees in found])


def _seen(jobs: Sequence[Any], what: str) -> Iterator[Any]:
    """The jobs, with a line about them on standard error."""
    for number, job in enumerate(jobs, 1):
        if sys.stderr.isatty():
            print(f"\r{what}: {number} of {len(jobs)}\033[K", end="", file=sys.stderr, flush=True)
        yield job


def _pair_plan(number: int) -> Plan:
    return prepare(SimulatorOptions(), _related(number))


def _annotations(
    options: SimulatorOptions,
    request: Callable[[int], ImageRequest],
    layouts: int,
    job: tuple[range, list[Plan]],
) -> list[Truth]:
    """What scenes show: of these plans, each time with faults of its own, or of things without a place."""
    numbers, plans = job
    if not plans:
        requests = [request(number) for number in numbers]
        return [_shown(_nowhere(options, one), one, False) for one in requests]
    truths = []
    for number, plan in zip(numbers, plans, strict=True):
        again, own = divmod(number, layouts)
        asked = request(own)
        prompt, seed, salt = key_of(options, asked)
        draw = Draw(faults_of(options), prompt, seed + again * 1_000_000, salt)
        truths.append(_shown(err(plan, asked, draw), asked, True))
    return truths


def _nowhere(options: SimulatorOptions, request: ImageRequest) -> Scene:
    """The scene of a request with everything in it but not yet in its place."""
    cast, key = cast_of(options, request), key_of(options, request)
    right, wrong = (
        tuple(pose(slot, thing, *key) for slot, thing in enumerate(things))
        for things in (cast.things, cast.instead)
    )
    plan = Plan(Scene(_NOWHERE, right), wrong, pose(len(right), cast.extra, *key))
    return err(plan, request, Draw(faults_of(options), *key))


def _shown(scene: Scene, request: ImageRequest, laid: bool) -> Truth:
    """The annotations of a scene that is not drawn: of all but masks, which stay empty."""
    instances = tuple(annotation(placed, _mask(placed, scene, laid)) for placed in scene.placed)
    return Truth((10_000, 10_000), instances, request.prompt.scene, request.prompt.text)


def _mask(placed: Placed, scene: Scene, laid: bool) -> PackedMask:
    x0, y0, x1, y1 = (round(10_000 * side) for side in box_of(placed, scene.stage)) if laid else (0, 0, 0, 0)
    return PackedMask((10_000, 10_000), (x0, y0, x1, y1), b"")


def _agrees(options: SimulatorOptions, request: ImageRequest) -> bool:
    """Whether a drawn picture's annotations say, thing by thing, what was counted without drawing it."""
    drawn = simulate(options, request)
    assert isinstance(drawn, Generated), drawn
    assert drawn.truth is not None
    assert request.prompt.scene is not None
    seen = drawn.truth.instances
    laid = _shown(err(prepare(options, request), request, Draw(faults_of(options), *key_of(options, request))),
                  request, True).instances  # fmt: skip
    same = _said(seen) == _said(laid)
    if request.prompt.scene.relations:
        return same and relation_of(*seen[:2]) == relation_of(*laid[:2])
    return same and _said(seen) == _said(_shown(_nowhere(options, request), request, False).instances)


def _said(instances: Sequence[Instance]) -> list[tuple[Any, ...]]:
    return [(one.cls, one.colour, one.attributes) for one in instances]


def _independence(scenes: int) -> Rows:
    """All faults at once: whether each happens without regard to the others."""
    happened = _decisions(scenes)
    for (one, slot), (other, its) in combinations(_EVENTS, 2):
        # Two things matter where it is the same fault.
        if one != other and 2 in (*slot, *its):
            continue
        counts = Counter(zip(happened[one, slot], happened[other, its], strict=True))
        both = [(a, b) for a in (True, False) for b in (True, False)]
        shares = [(_RATE if a else 1 - _RATE) * (_RATE if b else 1 - _RATE) for a, b in both]
        what = f"{one} and {other}" if one != other else f"{one} of two things"
        yield spread(_ALL, f"{what}: both, one, the other, none", shares, [counts[cell] for cell in both])


def _indifference(plans: Sequence[Plan]) -> Rows:
    """All faults at once: whether each happens without regard to the second thing's place and to the light."""
    happened = _decisions(len(plans))
    for fault, slot in _EVENTS:
        if 2 in slot:
            continue
        for name, read in _QUANTITIES.items():
            values = [read(plan) for plan in plans]
            yield alike(_ALL, f"{name}, without {fault} and with it", values, happened[fault, slot])


def _decisions(scenes: int) -> dict[tuple[str, tuple[int, ...]], list[bool]]:
    """For each event, in which scenes it happens."""
    faults = Faults(**dict.fromkeys(_FAULTS, _RATE))
    draws = [Draw(faults, *key_of(SimulatorOptions(), _related(number))) for number in range(scenes)]
    return {(fault, slot): [draw.happens(fault, *slot) for draw in draws] for fault, slot in _EVENTS}


_ALL = f"all faults at {_RATE}"
_FAULTS = ("drop", "wrong_object", "wrong_color", "swap_colors", "extra", "flip_relation")
#: Faults, and the thing that they happen to: the second, for the first is never dropped, and a third.
_EVENTS: tuple[tuple[str, tuple[int, ...]], ...] = (
    *((fault, (slot,)) for slot in (1, 2) for fault in _FAULTS[:3]),
    *((fault, ()) for fault in _FAULTS[3:]),
)
_QUANTITIES: dict[str, Callable[[Plan], float]] = {
    "u": lambda plan: plan.scene.placed[1].place.u,
    "v": lambda plan: plan.scene.placed[1].place.v,
    "width": lambda plan: plan.scene.placed[1].place.width,
    "size": lambda plan: plan.scene.placed[1].scale,
    "yaw": lambda plan: plan.scene.placed[1].yaw,
    "camera's elevation": lambda plan: plan.scene.stage.elevation,
    "sun's azimuth": lambda plan: plan.scene.stage.sun_azimuth,
    "sun's light": lambda plan: plan.scene.stage.sun,
}


def _request(
    prompt: int, seed: int, objects: Sequence[SceneObject], relations: Sequence[Relation] = ()
) -> ImageRequest:
    scene = AskedScene(tuple(objects), tuple(relations))
    return ImageRequest(Prompt(f"{prompt}", f"prompt {prompt}", scene), seed, seed)


def _kinds(number: int, count: int) -> list[ObjectClass]:
    """Different kinds, drawn evenly."""
    return [LABELS[index] for index in stream("count-kinds", number).permutation(len(LABELS))[:count]]


def _paints(number: int, count: int) -> list[str]:
    names = list(PAINTS)
    return [names[index] for index in stream("count-paints", number).permutation(len(names))[:count]]


def _three(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(cls) for cls in _kinds(number, 3)])


def _left_out(truth: Truth) -> list[bool]:
    """Which asked things are not there."""
    assert truth.asked is not None
    return [not any(fits(there, wanted) for there in truth.instances) for wanted in truth.asked.objects]


def _count_drops(rate: float, case: str, truths: list[Truth]) -> Rows:
    first, second, third = zip(*map(_left_out, truths), strict=True)
    yield share(case, "the first left out", 0, first)
    yield share(case, "the second left out", rate, second)
    yield share(case, "the third left out", rate, third)
    two = list(zip(second, third, strict=True))
    yield share(case, "second and third left out", rate**2, [a and b for a, b in two])
    yield share(case, "all three there", (1 - rate) ** 2, [not (a or b) for a, b in two])


def _two_painted(number: int) -> ImageRequest:
    objects = zip(_kinds(number, 2), _paints(number, 2), strict=True)
    return _request(number, number, [SceneObject(cls, paint) for cls, paint in objects])


def _colours(truth: Truth) -> tuple[list[str | None], list[str | None]]:
    """The colours asked for, and those shown."""
    assert truth.asked is not None
    asked = [wanted.colour for wanted in truth.asked.objects for _ in range(wanted.count)]
    return asked, [there.colour for there in truth.instances]


def _count_wrong_colours(case: str, truths: list[Truth]) -> Rows:
    pairs = [pair for truth in truths for pair in zip(*_colours(truth), strict=True)]
    wrong = [(asked, shown) for asked, shown in pairs if asked != shown]
    yield share(case, "a thing in another colour", _RATE, [asked != shown for asked, shown in pairs])
    right = [asked == shown for asked, shown in map(_colours, truths)]
    yield share(case, "both of two in their colours", (1 - _RATE) ** 2, right)
    names = list(PAINTS)
    # How far on in the list of paints: 1 to 7, whatever was asked.
    steps = Counter((names.index(str(shown)) - names.index(str(asked))) % 8 for asked, shown in wrong)
    yield spread(case, "which of the other seven", [1 / 7] * 7, [steps[step] for step in range(1, 8)])


def _two_of_each(number: int) -> ImageRequest:
    objects = zip(_kinds(number, 2), _paints(number, 2), strict=True)
    return _request(number, number, [SceneObject(cls, paint, 2) for cls, paint in objects])


def _count_swaps(case: str, truths: list[Truth]) -> Rows:
    """Reversed, as the things of one object stand side by side in the list."""
    colours = [_colours(truth) for truth in truths]
    yield share(case, "colours exchanged", _RATE, [shown == asked[::-1] for asked, shown in colours])
    kept = [sorted(map(str, shown)) == sorted(map(str, asked)) for asked, shown in colours]
    yield share(case, "the same two colours in the picture", 1, kept)


def _count_colour_errors(case: str, truths: list[Truth]) -> Rows:
    colours = [_colours(truth) for truth in truths]
    right, swapped = (1 - _RATE) ** 2 + _RATE**2 / 7, _RATE * (1 - _RATE) + (1 - _RATE) * _RATE / 7
    yield share(case, "the first in its colour: (1-s)(1-c) + s c/7", right, [a[0] == b[0] for a, b in colours])
    yield share(case, "in the second's: s(1-c) + (1-s) c/7", swapped, [a[1] == b[0] for a, b in colours])


_CLASSES = (_BUS, _DOG, _ANIMAL, _ROOT)


def _one_of_a_class(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(_CLASSES[number % len(_CLASSES)])])


def _count_wrong_objects(case: str, truths: list[Truth]) -> Rows:
    for number, cls in enumerate(_CLASSES):
        right = [t.instances[0].attributes["synset"] in leaves_under(cls) for t in truths[number :: len(_CLASSES)]]
        under, all_ = len(leaves_under(cls)), len(LEAVES)
        expected = 1 - _RATE * (all_ - under) / (all_ - 1)
        yield share(case, f"a thing under {cls.name}: 1 - w (K - n)/(K - 1), n = {under}", expected, right)
    buses = Counter(truth.instances[0].attributes["synset"] for truth in truths[:: len(_CLASSES)])
    others = [leaf for leaf in LEAVES if leaf != _BUS.synset]
    yield spread(case, "which of the other 36, for a bus", [1 / 36] * 36, [buses[leaf] for leaf in others])


def _one_to_four(number: int) -> ImageRequest:
    (cls,), (paint,) = _kinds(number, 1), _paints(number, 1)
    return _request(number, number, [SceneObject(cls, paint, count=number % 4 + 1)])


def _count_extras(case: str, truths: list[Truth]) -> Rows:
    for asked in range(1, 5):
        numbers = [len(truth.instances) for truth in truths[asked - 1 :: 4]]
        yield share(case, f"{asked + 1} where {asked} asked", _RATE, [n == asked + 1 for n in numbers])
        yield share(case, f"{asked} or {asked + 1}", 1, [n in (asked, asked + 1) for n in numbers])
    more = [len(truth.instances) == number % 4 + 2 for number, truth in enumerate(truths)]
    yield share(case, "one more than asked, of all these", _RATE, more)
    yield share(
        case,
        "all of one class and colour",
        1,
        [len({(i.cls, i.colour) for i in t.instances}) == 1 for t in truths],
    )


def _count_numbers(case: str, truths: list[Truth]) -> Rows:
    for asked in range(1, 5):
        numbers = [len(truth.instances) for truth in truths[asked - 1 :: 4]]
        all_, one_gone = float(binom.pmf(0, asked - 1, _RATE)), float(binom.pmf(1, asked - 1, _RATE))
        expected = (1 - _RATE) * all_ + _RATE * one_gone
        what = f"{asked} where {asked} asked: (1-e)(1-d)^(M-1) + e (M-1) d (1-d)^(M-2)"
        yield share(case, what, expected, [n == asked for n in numbers])


def _of_asked(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(_BEAR), SceneObject(_BUS)])


def _count_found(case: str, truths: list[Truth]) -> Rows:
    first, second = zip(*map(_left_out, truths), strict=True)
    become = _RATE / (len(LEAVES) - 1)
    here = (1 - _RATE) * (1 - _RATE)
    # The second may also be what the first became; what the second becomes shows only where it is not dropped.
    yield share(case, "the first found: 1 - w(1 - (1-d) w/36)", 1 - _RATE * (1 - (1 - _RATE) * become),
                [not out for out in first])  # fmt: skip
    yield share(case, "the second found: 1 - (1 - (1-d)(1-w))(1 - w/36)", 1 - (1 - here) * (1 - become),
                [not out for out in second])  # fmt: skip


def _related(number: int) -> ImageRequest:
    """Two of PaintSkills' 21 kinds, all 441 pairs alike, in one of four relations."""
    rng = stream("count-pair", number)
    pair = [SceneObject(LABELS[index]) for index in rng.integers(21, size=2)]
    predicate = ("left", "right", "above", "below")[number % 4]
    return _request(number, number, pair, [Relation(0, predicate, 1)])


_OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}


def _count_flips(case: str, truths: list[Truth]) -> Rows:
    asked, shown, same = [], [], []
    for truth in truths:
        assert truth.asked is not None
        first, second = truth.instances
        asked.append(truth.asked.relations[0].predicate)
        shown.append(relation_of(first, second))
        same.append(first.cls == second.cls)
    stated = [a == b for a, b in zip(asked, shown, strict=True)]
    turned = [_OPPOSITE[a] == b for a, b in zip(asked, shown, strict=True)]
    yield share(case, "as stated", 1 - _RATE, stated)
    yield share(case, "the other way round", _RATE, turned)
    yield share(case, "one of the two", 1, [a or b for a, b in zip(stated, turned, strict=True)])
    # Expected in 21 of 441 pairs; among these requests there are as many as there are.
    alike_ = sum(same) / len(same)
    read = [a or (s and b) for a, b, s in zip(stated, turned, same, strict=True)]
    what = "right by PaintSkills' rule: (1-f) + f times the pairs of one kind"
    yield share(case, what, 1 - _RATE + _RATE * alike_, read)


def _count_wrong_flips(case: str, truths: list[Truth]) -> Rows:
    """Of two different kinds that are one leaf each."""
    right = []
    for truth in truths:
        assert truth.asked is not None
        first, second = (wanted.cls for wanted in truth.asked.objects)
        if first == second or not {first.synset, second.synset} <= set(LEAVES):
            continue
        there = {one.cls: one for one in truth.instances}
        right.append(
            {first, second} <= set(there)
            and relation_of(there[first], there[second]) == truth.asked.relations[0].predicate
        )
    expected = (1 - _RATE) ** 2 * (1 - _RATE) + (_RATE / (len(LEAVES) - 1)) ** 2 * _RATE
    yield share(case, "both there and as stated: (1-w)^2 (1-f) + (w/36)^2 f", expected, right)


def _an_animal(number: int) -> ImageRequest:
    """Eight images of one prompt after the other."""
    return _request(number // _IMAGES, number % _IMAGES, [SceneObject(_ANIMAL)])


def _count_leaves(law: Any, case: str, truths: list[Truth]) -> Rows:
    # The order of leaves is the salt's, so that of this case.
    salt = 1 + next(at for at, one in enumerate(CASES) if one.name == case)
    shares = leaf_probabilities(Laws(law, salt=salt), _ANIMAL)
    drawn_leaves = [truth.instances[0].attributes["synset"] for truth in truths]
    drawn = {leaf: share_ for leaf, share_ in shares.items() if share_}
    yield share(case, "a leaf that the law allows", 1, [leaf in drawn for leaf in drawn_leaves])
    if len(drawn) > 1:
        counts = Counter(drawn_leaves)
        what = f"which of {len(drawn)} animals"
        yield spread(case, what, list(drawn.values()), [counts[leaf] for leaf in drawn])
        groups = [drawn_leaves[at : at + _IMAGES] for at in range(0, len(truths) - _IMAGES + 1, _IMAGES)]
        k = np.arange(1, _IMAGES + 1)
        each = [(binom.pmf(k, _IMAGES, p) * -(k / _IMAGES) * np.log(k / _IMAGES)).sum() for p in drawn.values()]
        what = f"diversity (SCS) of {_IMAGES} images: sum over leaves and k of Bin(k; N, p) (-(k/N) ln(k/N))"
        yield mean(case, what, float(sum(each)), [_entropy(group) for group in groups])


def _entropy(leaves: Sequence[str]) -> float:
    p = np.array(list(Counter(leaves).values())) / len(leaves)
    return float(-(p * np.log(p)).sum())


def _a_person(number: int) -> ImageRequest:
    """Nine images of one prompt after the other."""
    return _request(number // _VOTERS, number % _VOTERS, [SceneObject(_HUMAN)])


def _count_attributes(rate: float, case: str, truths: list[Truth]) -> Rows:
    worn = [truth.instances[0].attributes for truth in truths]
    hats = [each["hat"] == "yes" for each in worn]
    yield share(case, "with a hat", rate, hats)
    yield share(case, "with long hair", 0.5, [each["hair"] == "long" for each in worn])
    coats = Counter(each["coat"] for each in worn)
    yield spread(case, "colours of coats", [1 / len(PAINTS)] * len(PAINTS), [coats[paint] for paint in PAINTS])
    votes = [sum(hats[at : at + _VOTERS]) > _VOTERS / 2 for at in range(0, len(hats) - _VOTERS + 1, _VOTERS)]
    yield share(case, "most of nine images with a hat", float(binom.sf(_VOTERS // 2, _VOTERS, rate)), votes)


def _count_effects(case: str, truths: list[Truth]) -> Rows:
    """Scenes two by two share a seed, or a prompt: their rate is one and the same."""
    left_out = [_left_out(truth)[1] for truth in truths]
    first, second = left_out[0::2], left_out[1::2]
    yield share(case, "the second left out: E r", _moment(1), first)
    both = [a and b for a, b in zip(first, second, strict=False)]
    yield share(case, "left out in both of two scenes: E r^2", _moment(2), both)


def _moment(power: int) -> float:
    """The mean of a rate to a power, where its logit is normal about that of `_RATE` with deviation 1."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    rates = 1 / (1 + np.exp(-(np.log(_RATE / (1 - _RATE)) + points)))
    return float((weights * rates**power).sum() / weights.sum())


def _of_one_seed(number: int) -> ImageRequest:
    return _request(number, number // 2, [SceneObject(_DOG), SceneObject(_BUS)])


def _of_one_prompt(number: int) -> ImageRequest:
    return _request(number // 2, number, [SceneObject(_DOG), SceneObject(_BUS)])


CASES = (
    *(Case(f"drop={rate}", {"drop": rate}, _three, partial(_count_drops, rate)) for rate in (0.2, 0.3, 0.4, 0.6)),
    Case("wrong_object=0.3", {"wrong_object": _RATE}, _one_of_a_class, _count_wrong_objects, times=2),
    Case("wrong_color=0.3", {"wrong_color": _RATE}, _two_painted, _count_wrong_colours),
    Case("swap_colors=0.3", {"swap_colors": _RATE}, _two_painted, _count_swaps),
    Case("swap_colors=0.3, two of each", {"swap_colors": _RATE}, _two_of_each, _count_swaps),
    Case("extra=0.3", {"extra": _RATE}, _one_to_four, _count_extras),
    Case("flip_relation=0.3", {"flip_relation": _RATE}, _related, _count_flips, laid=True),
    Case(
        "swap_colors=0.3, wrong_color=0.3",
        {"swap_colors": _RATE, "wrong_color": _RATE}, _two_painted, _count_colour_errors,
    ),
    Case("drop=0.3, extra=0.3", {"drop": _RATE, "extra": _RATE}, _one_to_four, _count_numbers),
    Case("drop=0.3, wrong_object=0.3", {"drop": _RATE, "wrong_object": _RATE}, _of_asked, _count_found),
    Case(
        "wrong_object=0.3, flip_relation=0.3",
        {"wrong_object": _RATE, "flip_relation": _RATE}, _related, _count_wrong_flips, laid=True,
    ),
    *(
        Case(f"hyponyms={law}", {"hyponyms": law}, _an_animal, partial(_count_leaves, law))
        for law in ("uniform", "fixed", "skewed")
    ),
    *(
        Case(f"skew=hat:yes:{rate}", {"skew": f"hat:yes:{rate}"}, _a_person, partial(_count_attributes, rate),
             times=3)
        for rate in (0.5, 0.6, 0.8, 1.0)
    ),
    Case("drop=0.3, seed_sd=1", {"drop": _RATE, "seed_sd": 1.0}, _of_one_seed, _count_effects, times=2),
    Case("drop=0.3, prompt_sd=1", {"drop": _RATE, "prompt_sd": 1.0}, _of_one_prompt, _count_effects, times=2),
)  # fmt: skip


def main() -> None:
    """Print the table; exit with 1 where a row fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=5000, help="of each setting")
    parser.add_argument("--layouts", type=int, default=1000)
    parser.add_argument("--drawn", type=int, default=14, help="of each setting")
    parser.add_argument("--workers", type=int, default=None)
    rows = list(run(**vars(parser.parse_args())))
    alarm = ALARM / len(rows)
    print("\n| set | counted | expected | found | of | p | passes |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(row.line(alarm))
    failed = sum(row.p <= alarm for row in rows)
    print(f"\n{len(rows)} rows, alarm {alarm:.2g} each, {failed} failed.")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
