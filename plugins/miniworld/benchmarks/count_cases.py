"""Cases of `count_faults`: settings of the simulator's faults and laws, and what to count in their scenes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from count_rows import Rows, mean, share, spread
from scipy.stats import binom
from t2i_core.api import ImageRequest, ObjectClass, Prompt, Relation, SceneObject, Truth
from t2i_core.api import Scene as AskedScene
from t2i_miniworld.annotations import relation_of
from t2i_miniworld.laws import Laws, leaf_probabilities
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene_match import fits
from t2i_miniworld.streams import stream
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS, LEAVES

#: Rate of a fault in cases that need only one rate.
RATE = 0.3
_ANIMAL = ObjectClass("animal", "animal.n.01")
_HUMAN, _DOG, _BUS, _BEAR, _ROOT = (*(LABELS[at] for at in (0, 4, 3, 18)), ObjectClass("entity", "entity.n.01"))
_VOTERS, _IMAGES = 9, 8


@dataclass(frozen=True)
class Case:
    """Scenes with certain options, and what to count in them.

    Attributes:
        name: Name of the case.
        options: Options of the simulator.
        request: Function from the number of a scene to its request.
        count: Function from ground truths, in order, to rows of the table.
        laid: Whether the count depends on places.
        times: Factor of the number of scenes.
    """

    name: str
    options: dict[str, Any]
    request: Callable[[int], ImageRequest]
    count: Callable[[str, list[Truth]], Rows]
    laid: bool = False
    times: int = 1


def _request(
    prompt: int, seed: int, objects: Sequence[SceneObject], relations: Sequence[Relation] = ()
) -> ImageRequest:
    scene = AskedScene(tuple(objects), tuple(relations))
    return ImageRequest(Prompt(f"{prompt}", f"prompt {prompt}", scene), seed, seed)


def _kinds(number: int, count: int) -> list[ObjectClass]:
    """Return different kinds, all equally likely."""
    return [LABELS[index] for index in stream("count-kinds", number).permutation(len(LABELS))[:count]]


def _paints(number: int, count: int) -> list[str]:
    names = list(PAINTS)
    return [names[index] for index in stream("count-paints", number).permutation(len(names))[:count]]


def _three(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(cls) for cls in _kinds(number, 3)])


def _left_out(truth: Truth) -> list[bool]:
    """Return for each requested thing whether it is missing."""
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
    """Return the requested colours and the shown ones."""
    assert truth.asked is not None
    asked = [wanted.colour for wanted in truth.asked.objects for _ in range(wanted.count)]
    return asked, [there.colour for there in truth.instances]


def _count_wrong_colours(case: str, truths: list[Truth]) -> Rows:
    pairs = [pair for truth in truths for pair in zip(*_colours(truth), strict=True)]
    wrong = [(asked, shown) for asked, shown in pairs if asked != shown]
    yield share(case, "a thing in another colour", RATE, [asked != shown for asked, shown in pairs])
    right = [asked == shown for asked, shown in map(_colours, truths)]
    yield share(case, "both of two in their colours", (1 - RATE) ** 2, right)
    names = list(PAINTS)
    # distance in the list of paints, 1 to 7, for any requested paint
    steps = Counter((names.index(str(shown)) - names.index(str(asked))) % 8 for asked, shown in wrong)
    yield spread(case, "which of the other seven", [1 / 7] * 7, [steps[step] for step in range(1, 8)])


def _two_of_each(number: int) -> ImageRequest:
    objects = zip(_kinds(number, 2), _paints(number, 2), strict=True)
    return _request(number, number, [SceneObject(cls, paint, 2) for cls, paint in objects])


def _count_swaps(case: str, truths: list[Truth]) -> Rows:
    """Count exchanged colours: the reversed list, because the things of one object are neighbours in it."""
    colours = [_colours(truth) for truth in truths]
    yield share(case, "colours exchanged", RATE, [shown == asked[::-1] for asked, shown in colours])
    kept = [sorted(map(str, shown)) == sorted(map(str, asked)) for asked, shown in colours]
    yield share(case, "the same two colours in the picture", 1, kept)


def _count_colour_errors(case: str, truths: list[Truth]) -> Rows:
    colours = [_colours(truth) for truth in truths]
    right, swapped = (1 - RATE) ** 2 + RATE**2 / 7, RATE * (1 - RATE) + (1 - RATE) * RATE / 7
    yield share(case, "the first in its colour: (1-s)(1-c) + s c/7", right, [a[0] == b[0] for a, b in colours])
    yield share(case, "in the second's: s(1-c) + (1-s) c/7", swapped, [a[1] == b[0] for a, b in colours])


_CLASSES = (_BUS, _DOG, _ANIMAL, _ROOT)


def _one_of_a_class(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(_CLASSES[number % len(_CLASSES)])])


def _count_wrong_objects(case: str, truths: list[Truth]) -> Rows:
    for number, cls in enumerate(_CLASSES):
        right = [t.instances[0].attributes["synset"] in leaves_under(cls) for t in truths[number :: len(_CLASSES)]]
        under, all_ = len(leaves_under(cls)), len(LEAVES)
        expected = 1 - RATE * (all_ - under) / (all_ - 1)
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
        yield share(case, f"{asked + 1} where {asked} asked", RATE, [n == asked + 1 for n in numbers])
        yield share(case, f"{asked} or {asked + 1}", 1, [n in (asked, asked + 1) for n in numbers])
    more = [len(truth.instances) == number % 4 + 2 for number, truth in enumerate(truths)]
    yield share(case, "one more than asked, of all these", RATE, more)
    yield share(
        case,
        "all of one class and colour",
        1,
        [len({(i.cls, i.colour) for i in t.instances}) == 1 for t in truths],
    )


def _count_numbers(case: str, truths: list[Truth]) -> Rows:
    for asked in range(1, 5):
        numbers = [len(truth.instances) for truth in truths[asked - 1 :: 4]]
        all_, one_gone = float(binom.pmf(0, asked - 1, RATE)), float(binom.pmf(1, asked - 1, RATE))
        expected = (1 - RATE) * all_ + RATE * one_gone
        what = f"{asked} where {asked} asked: (1-e)(1-d)^(M-1) + e (M-1) d (1-d)^(M-2)"
        yield share(case, what, expected, [n == asked for n in numbers])


def _of_asked(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(_BEAR), SceneObject(_BUS)])


def _count_found(case: str, truths: list[Truth]) -> Rows:
    first, second = zip(*map(_left_out, truths), strict=True)
    become = RATE / (len(LEAVES) - 1)
    here = (1 - RATE) * (1 - RATE)
    # The second may also be what the first became; what the second becomes shows only where it is not dropped.
    yield share(case, "the first found: 1 - w(1 - (1-d) w/36)", 1 - RATE * (1 - (1 - RATE) * become),
                [not out for out in first])  # fmt: skip
    yield share(case, "the second found: 1 - (1 - (1-d)(1-w))(1 - w/36)", 1 - (1 - here) * (1 - become),
                [not out for out in second])  # fmt: skip


def related(number: int) -> ImageRequest:
    """Request two of PaintSkills' 21 kinds, all 441 pairs equally likely, in one of four relations."""
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
    yield share(case, "as stated", 1 - RATE, stated)
    yield share(case, "the other way round", RATE, turned)
    yield share(case, "one of the two", 1, [a or b for a, b in zip(stated, turned, strict=True)])
    # Expected in 21 of 441 pairs; use the actual share of these requests.
    alike_ = sum(same) / len(same)
    read = [a or (s and b) for a, b, s in zip(stated, turned, same, strict=True)]
    what = "right by PaintSkills' rule: (1-f) + f times the pairs of one kind"
    yield share(case, what, 1 - RATE + RATE * alike_, read)


def _count_wrong_flips(case: str, truths: list[Truth]) -> Rows:
    """Count pairs of two different kinds with one leaf each."""
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
    expected = (1 - RATE) ** 2 * (1 - RATE) + (RATE / (len(LEAVES) - 1)) ** 2 * RATE
    yield share(case, "both there and as stated: (1-w)^2 (1-f) + (w/36)^2 f", expected, right)


def _an_animal(number: int) -> ImageRequest:
    """Request eight images of each prompt in turn."""
    return _request(number // _IMAGES, number % _IMAGES, [SceneObject(_ANIMAL)])


def _count_leaves(law: Any, case: str, truths: list[Truth]) -> Rows:
    # The salt of this case determines the order of leaves.
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
    """Request nine images of each prompt in turn."""
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
    """Count drops in pairs of scenes that share a seed or a prompt, and therefore a rate."""
    left_out = [_left_out(truth)[1] for truth in truths]
    first, second = left_out[0::2], left_out[1::2]
    yield share(case, "the second left out: E r", _moment(1), first)
    both = [a and b for a, b in zip(first, second, strict=False)]
    yield share(case, "left out in both of two scenes: E r^2", _moment(2), both)


def _moment(power: int) -> float:
    """Return the mean power of a rate whose logit is normal with the mean logit(`RATE`) and deviation 1."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    rates = 1 / (1 + np.exp(-(np.log(RATE / (1 - RATE)) + points)))
    return float((weights * rates**power).sum() / weights.sum())


def _of_one_seed(number: int) -> ImageRequest:
    return _request(number, number // 2, [SceneObject(_DOG), SceneObject(_BUS)])


def _of_one_prompt(number: int) -> ImageRequest:
    return _request(number // 2, number, [SceneObject(_DOG), SceneObject(_BUS)])


CASES = (
    *(Case(f"drop={rate}", {"drop": rate}, _three, partial(_count_drops, rate)) for rate in (0.2, 0.3, 0.4, 0.6)),
    Case("wrong_object=0.3", {"wrong_object": RATE}, _one_of_a_class, _count_wrong_objects, times=2),
    Case("wrong_color=0.3", {"wrong_color": RATE}, _two_painted, _count_wrong_colours),
    Case("swap_colors=0.3", {"swap_colors": RATE}, _two_painted, _count_swaps),
    Case("swap_colors=0.3, two of each", {"swap_colors": RATE}, _two_of_each, _count_swaps),
    Case("extra=0.3", {"extra": RATE}, _one_to_four, _count_extras),
    Case("flip_relation=0.3", {"flip_relation": RATE}, related, _count_flips, laid=True),
    Case(
        "swap_colors=0.3, wrong_color=0.3",
        {"swap_colors": RATE, "wrong_color": RATE}, _two_painted, _count_colour_errors,
    ),
    Case("drop=0.3, extra=0.3", {"drop": RATE, "extra": RATE}, _one_to_four, _count_numbers),
    Case("drop=0.3, wrong_object=0.3", {"drop": RATE, "wrong_object": RATE}, _of_asked, _count_found),
    Case(
        "wrong_object=0.3, flip_relation=0.3",
        {"wrong_object": RATE, "flip_relation": RATE}, related, _count_wrong_flips, laid=True,
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
    Case("drop=0.3, seed_sd=1", {"drop": RATE, "seed_sd": 1.0}, _of_one_seed, _count_effects, times=2),
    Case("drop=0.3, prompt_sd=1", {"drop": RATE, "prompt_sd": 1.0}, _of_one_prompt, _count_effects, times=2),
)  # fmt: skip
