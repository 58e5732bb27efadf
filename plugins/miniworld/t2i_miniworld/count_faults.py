"""Count the simulator's faults and laws in its own annotations: ``python -m t2i_miniworld.count_faults``.

Draws scenes with one fault or law each, reads what their annotations say is there, and compares its share with the
rate that was set (or the number that follows from it). A right program fails one row in a million.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom, binomtest, chisquare
from t2i_core import Generated, ImageRequest, Instance, ObjectClass, Prompt, Relation, SceneObject, Truth
from t2i_core import Scene as AskedScene

from t2i_miniworld.laws import Laws, leaf_probabilities
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.oracle import fits, relation_of
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.simulator import simulate
from t2i_miniworld.streams import stream
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS, LEAVES
from t2i_miniworld.workers import map_ordered

#: A row passes where 999,999 of a million right programs do.
_ALARM = 1e-6
_ANIMAL = ObjectClass("animal", "animal.n.01")
_HUMAN, _DOG, _BUS, _ROOT = LABELS[0], LABELS[4], LABELS[3], ObjectClass("entity", "entity.n.01")
_RATE = 0.3
_VOTERS = 9


@dataclass(frozen=True)
class Row:
    """One line of the table: how often something was ``counted`` among ``n``, and how often it should be."""

    case: str
    what: str
    expected: float
    counted: int
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """The exact binomial interval of the share, that misses once in a million."""
        found = binomtest(self.counted, self.n).proportion_ci(1 - _ALARM, "exact")
        return float(found.low), float(found.high)

    @property
    def passes(self) -> bool:
        """Whether the expected share lies in the interval."""
        low, high = self.interval
        return low - 1e-12 <= self.expected <= high + 1e-12

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"| {self.case} | {self.what} | {self.expected:.4f} | {self.counted / self.n:.4f} | {self.n} "
            f"| {low:.3f} to {high:.3f} | {'yes' if self.passes else 'NO'} |"
        )


@dataclass(frozen=True)
class Spread:
    """One line of the table: the ``counts`` of several values, against their ``shares`` by a chi-square test."""

    case: str
    what: str
    shares: Sequence[float]
    counts: Sequence[int]

    @property
    def p(self) -> float:
        """The test's p-value."""
        return float(chisquare(self.counts, np.multiply(self.shares, sum(self.counts))).pvalue)

    @property
    def passes(self) -> bool:
        """Whether a right program gives such counts more often than once in a million."""
        return self.p > _ALARM

    def __str__(self) -> str:
        n = sum(self.counts)
        expected, counted = (f"{min(of):.4f} to {max(of):.4f}" for of in (self.shares, np.divide(self.counts, n)))
        return (
            f"| {self.case} | {self.what} | {expected} | {counted} | {n} | chi-square p = {self.p:.2g} "
            f"| {'yes' if self.passes else 'NO'} |"
        )


Rows = Iterator[Row | Spread]


@dataclass(frozen=True)
class Case:
    """Scenes with certain options, and what to count in them.

    request  number of the scene -> what to draw
    count    truths, in order -> rows of the table
    """

    name: str
    options: dict[str, Any]
    request: Callable[[int], ImageRequest]
    count: Callable[[str, list[Truth]], Rows]


def run(scenes: int, workers: int | None = None) -> Iterator[Row | Spread]:
    """Draw about ``scenes`` scenes, as many for each case, and count."""
    each = scenes // len(CASES)
    for case in CASES:
        requests = [case.request(number) for number in range(each)]
        drawn = map_ordered(partial(_annotations, case.options), requests, workers)
        yield from case.count(case.name, [truth for _, truth in drawn])


def _annotations(options: dict[str, Any], request: ImageRequest) -> Truth:
    drawn = simulate(SimulatorOptions(size=64, spp=1, **options), request)
    assert isinstance(drawn, Generated), drawn
    assert drawn.truth is not None
    return drawn.truth


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


def _count_drops(case: str, truths: list[Truth]) -> Rows:
    first, second, third = zip(*map(_left_out, truths), strict=True)
    n = len(truths)
    yield Row(case, "the first left out", 0, sum(first), n)
    yield Row(case, "the second left out", _RATE, sum(second), n)
    yield Row(case, "the third left out", _RATE, sum(third), n)
    both = sum(a and b for a, b in zip(second, third, strict=True))
    yield Row(case, "second and third left out", _RATE**2, both, n)
    all_there = sum(not (a or b) for a, b in zip(second, third, strict=True))
    yield Row(case, "all three there", (1 - _RATE) ** 2, all_there, n)


def _two_painted(number: int) -> ImageRequest:
    objects = zip(_kinds(number, 2), _paints(number, 2), strict=True)
    return _request(number, number, [SceneObject(cls, paint) for cls, paint in objects])


def _colours(truth: Truth) -> tuple[list[str | None], list[str | None]]:
    """The colours asked for, and those shown."""
    assert truth.asked is not None
    return [wanted.colour for wanted in truth.asked.objects], [there.colour for there in truth.instances]


def _count_wrong_colours(case: str, truths: list[Truth]) -> Rows:
    pairs = [pair for truth in truths for pair in zip(*_colours(truth), strict=True)]
    wrong = [(asked, shown) for asked, shown in pairs if asked != shown]
    right = sum(asked == shown for asked, shown in map(_colours, truths))
    yield Row(case, "a thing in another colour", _RATE, len(wrong), len(pairs))
    yield Row(case, "both of two in their colours", (1 - _RATE) ** 2, right, len(truths))
    names = list(PAINTS)
    # How far on in the list of paints: 1 to 7, whatever was asked.
    steps = Counter((names.index(str(shown)) - names.index(str(asked))) % 8 for asked, shown in wrong)
    yield Spread(case, "which of the other seven", [1 / 7] * 7, [steps[step] for step in range(1, 8)])


def _count_swaps(case: str, truths: list[Truth]) -> Rows:
    colours = [_colours(truth) for truth in truths]
    yield Row(case, "colours exchanged", _RATE, sum(shown == asked[::-1] for asked, shown in colours), len(truths))
    kept = sum(sorted(map(str, shown)) == sorted(map(str, asked)) for asked, shown in colours)
    yield Row(case, "the same two colours in the picture", 1, kept, len(truths))


_CLASSES = (_BUS, _DOG, _ANIMAL, _ROOT)


def _one_of_a_class(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(_CLASSES[number % len(_CLASSES)])])


def _count_wrong_objects(case: str, truths: list[Truth]) -> Rows:
    for number, cls in enumerate(_CLASSES):
        shown = truths[number :: len(_CLASSES)]
        right = sum(truth.instances[0].attributes["synset"] in leaves_under(cls) for truth in shown)
        under, all_ = len(leaves_under(cls)), len(LEAVES)
        expected = 1 - _RATE * (all_ - under) / (all_ - 1)
        yield Row(
            case, f"a thing under {cls.name} (1 - w (K - n)/(K - 1), n = {under})", expected, right, len(shown)
        )


def _one_to_four(number: int) -> ImageRequest:
    (cls,), (paint,) = _kinds(number, 1), _paints(number, 1)
    return _request(number, number, [SceneObject(cls, paint, count=number % 4 + 1)])


def _count_extras(case: str, truths: list[Truth]) -> Rows:
    for asked in range(1, 5):
        numbers = Counter(len(truth.instances) for truth in truths[asked - 1 :: 4])
        yield Row(case, f"{asked + 1} where {asked} asked", _RATE, numbers[asked + 1], numbers.total())
        yield Row(case, f"{asked} or {asked + 1}", 1, numbers[asked] + numbers[asked + 1], numbers.total())
    alike = sum(len({(i.cls, i.colour) for i in truth.instances}) == 1 for truth in truths)
    yield Row(case, "all of one class and colour", 1, alike, len(truths))


def _related(number: int) -> ImageRequest:
    """Two of PaintSkills' 21 kinds, all 441 pairs alike, in one of four relations."""
    rng = stream("count-pair", number)
    pair = [SceneObject(LABELS[index]) for index in rng.integers(21, size=2)]
    predicate = ("left", "right", "above", "below")[number % 4]
    return _request(number, number, pair, [Relation(0, predicate, 1)])


_OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}


def _count_flips(case: str, truths: list[Truth]) -> Rows:
    stated = turned = read = 0
    for truth in truths:
        assert truth.asked is not None
        (relation,), shown = truth.asked.relations, relation_of(*_two(truth))
        stated += shown == relation.predicate
        turned += shown == _OPPOSITE[relation.predicate]
        same = truth.instances[0].cls == truth.instances[1].cls
        read += shown == relation.predicate or (same and shown == _OPPOSITE[relation.predicate])
    n = len(truths)
    yield Row(case, "as stated", 1 - _RATE, stated, n)
    yield Row(case, "the other way round", _RATE, turned, n)
    yield Row(case, "right by PaintSkills' rule: (1-f) + f 21/441", 1 - _RATE + _RATE * 21 / 441, read, n)


def _two(truth: Truth) -> tuple[Instance, Instance]:
    first, second = truth.instances
    return first, second


def _an_animal(number: int) -> ImageRequest:
    return _request(number, number, [SceneObject(_ANIMAL)])


def _count_leaves(laws: Laws, case: str, truths: list[Truth]) -> Rows:
    shares = leaf_probabilities(laws, _ANIMAL)
    counts = Counter(truth.instances[0].attributes["synset"] for truth in truths)
    drawn = {leaf: share for leaf, share in shares.items() if share}
    yield Row(case, "a leaf that the law allows", 1, sum(counts[leaf] for leaf in drawn), len(truths))
    if len(drawn) > 1:
        yield Spread(
            case, f"which of {len(drawn)} animals", list(drawn.values()), [counts[leaf] for leaf in drawn]
        )


def _a_person(number: int) -> ImageRequest:
    """Nine images of one prompt after the other."""
    return _request(number // _VOTERS, number % _VOTERS, [SceneObject(_HUMAN)])


def _count_attributes(rate: float, case: str, truths: list[Truth]) -> Rows:
    worn = [truth.instances[0].attributes for truth in truths]
    hats = [each["hat"] == "yes" for each in worn]
    yield Row(case, "with a hat", rate, sum(hats), len(truths))
    yield Row(case, "with long hair", 0.5, sum(each["hair"] == "long" for each in worn), len(truths))
    coats = Counter(each["coat"] for each in worn)
    yield Spread(case, "colours of coats", [1 / len(PAINTS)] * len(PAINTS), [coats[paint] for paint in PAINTS])
    votes = [sum(hats[at : at + _VOTERS]) > _VOTERS / 2 for at in range(0, len(hats) - _VOTERS + 1, _VOTERS)]
    expected = float(binom.sf(_VOTERS // 2, _VOTERS, rate))
    yield Row(case, "most of nine images with a hat", expected, sum(votes), len(votes))


def _count_effects(case: str, truths: list[Truth]) -> Rows:
    """Scenes two by two share a seed, or a prompt: their rate is one and the same."""
    left_out = [_left_out(truth)[1] for truth in truths]
    first, second = left_out[0::2], left_out[1::2]
    yield Row(case, "the second left out: E r", _moment(1), sum(first), len(first))
    both = sum(a and b for a, b in zip(first, second, strict=False))
    yield Row(case, "left out in both of two scenes: E r^2", _moment(2), both, len(second))


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
    Case("drop=0.3", {"drop": _RATE}, _three, _count_drops),
    Case("wrong_object=0.3", {"wrong_object": _RATE}, _one_of_a_class, _count_wrong_objects),
    Case("wrong_color=0.3", {"wrong_color": _RATE}, _two_painted, _count_wrong_colours),
    Case("swap_colors=0.3", {"swap_colors": _RATE}, _two_painted, _count_swaps),
    Case("extra=0.3", {"extra": _RATE}, _one_to_four, _count_extras),
    Case("flip_relation=0.3", {"flip_relation": _RATE}, _related, _count_flips),
    *(
        Case(f"hyponyms={law}", {"hyponyms": law}, _an_animal, partial(_count_leaves, Laws(law)))
        for law in ("uniform", "fixed", "skewed")
    ),
    *(
        Case(f"skew=hat:yes:{rate}", {"skew": f"hat:yes:{rate}"}, _a_person, partial(_count_attributes, rate))
        for rate in (0.5, 0.6, 0.8, 1.0)
    ),
    Case("drop=0.3, seed_sd=1", {"drop": _RATE, "seed_sd": 1.0}, _of_one_seed, _count_effects),
    Case("drop=0.3, prompt_sd=1", {"drop": _RATE, "prompt_sd": 1.0}, _of_one_prompt, _count_effects),
)


def main() -> None:
    """Print the table; exit with 1 where a row fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    print("| set | counted | expected | share | of | misses one in a million | passes |")
    print("|---|---|---|---|---|---|---|")
    failed = 0
    for row in run(arguments.scenes, arguments.workers):
        print(row, flush=True)
        failed += not row.passes
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
