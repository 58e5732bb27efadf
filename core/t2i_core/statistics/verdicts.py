"""Verdicts on several models that grow together: which pairs are decided, and which models may stop.

Repeated confidence intervals of several pairs are Bonferroni's. Pairs are decided by Holm's method on repeated p:
while r of m pairs differ, the others are tested with the error alpha / (m - r).

References:
    S. Holm, A simple sequentially rejective multiple test procedure (1979).
    C. Jennison and B. W. Turnbull, Group Sequential Methods with Applications to Clinical Trials (2000),
        chapter 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from .comparison import holm
from .design import Floats
from .estimate import Range
from .look_cells import has_values
from .looks import Look
from .pair_test import Decision, PairLook, PairTest, StopEstimate
from .sequential import NEVER

ALPHA = 0.05
"""The error of all pairs together."""

Pair = tuple[str, str]
Goal = Literal["verdict", "best"]
"""`verdict`: each pair is decided. `best`: no model is left that may be better than the others."""


@dataclass(frozen=True)
class FamilyLook:
    """All pairs at one look.

    Attributes:
        look: The look.
        models: The models that were drawn up to it.
        pairs: The pairs that were open before it.
        p: Their repeated p, adjusted by Holm's method; empty unless it was asked for.
        kept: The models that are not surely worse than another one, in order.
        left: The models that need further images, in order; none if the run stops.
    """

    look: Look
    models: tuple[str, ...]
    pairs: Mapping[Pair, PairLook]
    p: Mapping[Pair, float]
    kept: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """All pairs of models that grow together.

    Attributes:
        looks: The looks so far.
        decisions: The decision on each pair; None while it is open.
        tests: The test of each pair.
        alpha: The error of all pairs together.
    """

    looks: tuple[FamilyLook, ...]
    decisions: Mapping[Pair, Decision | None]
    tests: Mapping[Pair, PairTest]
    alpha: float

    @cached_property
    def estimates(self) -> Mapping[Pair, StopEstimate]:
        """The estimate and interval of each pair at its last look."""
        return {pair: test.estimate(self.alpha / len(self.tests)) for pair, test in self.tests.items()}


def follow_pairs(
    read: Callable[[Pair, Look], Floats],
    models: Sequence[str],
    looks: Sequence[Look],
    end: Look,
    *,
    goal: Goal = "verdict",
    margin: float | None = None,
    alpha: float = ALPHA,
    crossed: bool = True,
    bounds: Range = (None, None),
    higher_is_better: bool = True,
    with_p: bool = False,
) -> Family:
    """Follow all pairs of models from look to look, until the goal is reached or the looks end.

    The same cells always give the same looks and decisions. A look at which a pair has no cell in common leaves it
    open, and is none of its test.

    Args:
        read: Returns the differences of a pair up to a look, shape (prompts, seeds) of the look or larger; NaN
            where one of both has no value. Called for models that are still drawn only.
        models: The models.
        looks: The looks so far, or all that are planned.
        end: The planned end.
        goal: When the run may stop.
        margin: A pair is decided, too, if its repeated interval lies within this, in the unit of the measure. If
            None, only differences are decided.
        alpha: The error of all pairs together.
        crossed: True if prompts share their seeds.
        bounds: The range of the differences.
        higher_is_better: False if the best model is the lowest.
        with_p: True to find repeated p-values, which takes longer than all the rest.
    """
    pairs = [(a, b) for number, a in enumerate(models) for b in models[number + 1 :]]
    tests = {pair: PairTest(end, crossed, bounds) for pair in pairs}
    decisions: dict[Pair, Decision | None] = dict.fromkeys(pairs)
    drawn, done = tuple(models), []
    for look in looks:
        active = [pair for pair in pairs if decisions[pair] is None and set(pair) <= set(drawn)]
        found = {pair: _take_look(tests[pair], look, read(pair, look), alpha / len(pairs)) for pair in active}
        different, levels = _find_differences(tests, found, decisions, alpha)
        decisions |= different
        for pair, own in found.items():
            if decisions[pair] is None and margin is not None and -margin < own.lo and own.hi < margin:
                decisions[pair] = "close"
        found = {
            pair: replace(
                own,
                decision=decisions[pair],
                boundary=tests[pair].find_boundaries(levels[pair])[-1] if pair in levels else own.boundary,
            )
            for pair, own in found.items()
        }
        kept = _list_kept(models, decisions, higher_is_better)
        left = _list_left([model for model in drawn if goal == "verdict" or model in kept], decisions)
        adjusted = _adjust_p(tests) if with_p else {}
        done.append(FamilyLook(look, drawn, found, {pair: adjusted[pair] for pair in found if with_p}, kept, left))
        if not left:
            break
        drawn = left
    return Family(tuple(done), decisions, tests, alpha)


def follow_pair(
    table: Floats,
    looks: Sequence[Look],
    end: Look | None = None,
    *,
    margin: float | None = None,
    alpha: float = ALPHA,
    crossed: bool = True,
    bounds: Range = (None, None),
) -> tuple[tuple[PairLook, ...], StopEstimate]:
    """Follow one paired difference until it is decided or the looks end.

    Args:
        table: The differences, shape (prompts, seeds) of the last look that is reached, or larger.
        looks: The looks.
        end: The planned end; if None, the last look.
        margin: See `follow_pairs`, also for the other arguments.

    Returns:
        The looks up to the stop, and the estimate at the stop.
    """
    family = follow_pairs(
        lambda pair, look: table,
        ("a", "b"),
        looks,
        end or looks[-1],
        margin=margin,
        alpha=alpha,
        crossed=crossed,
        bounds=bounds,
    )
    return tuple(look.pairs["a", "b"] for look in family.looks), family.estimates["a", "b"]


def _take_look(test: PairTest, look: Look, table: Floats, alpha: float) -> PairLook:
    """Add a look to a pair's test and return what it shows, without its decision."""
    if not has_values(table, look):
        return PairLook(look, math.nan, 0.0, 0.0, 0.0, NEVER, math.nan, math.nan, 0)
    test.add(look, table)
    return test.read_look(alpha)


def _find_differences(
    tests: Mapping[Pair, PairTest],
    found: Mapping[Pair, PairLook],
    decisions: Mapping[Pair, Decision | None],
    alpha: float,
) -> tuple[dict[Pair, Decision], dict[Pair, float]]:
    """Return the open pairs that differ, by Holm's method on repeated p, and the error of each pair's test."""
    different: dict[Pair, Decision] = {}
    levels: dict[Pair, float] = {}
    before = sum(decision in ("higher", "lower") for decision in decisions.values())
    tested = [pair for pair, look in found.items() if look.n]
    while True:
        level = alpha / max(1, len(tests) - before - len(different))
        levels |= {pair: level for pair in tested if pair not in different}
        new = [pair for pair in tested if pair not in different and tests[pair].is_crossed(level)]
        if not new:
            return different, levels
        different |= {pair: "higher" if found[pair].diff > 0 else "lower" for pair in new}


def _adjust_p(tests: Mapping[Pair, PairTest]) -> dict[Pair, float]:
    adjusted = holm([test.find_repeated_p() if test.looks else 1.0 for test in tests.values()])
    return dict(zip(tests, map(float, adjusted), strict=True))


def _list_kept(
    models: Sequence[str], decisions: Mapping[Pair, Decision | None], higher_is_better: bool
) -> tuple[str, ...]:
    """Return the models that are not surely worse than another one."""
    better = "higher" if higher_is_better else "lower"
    decided = [(pair, decision) for pair, decision in decisions.items() if decision in ("higher", "lower")]
    worse = {b if decision == better else a for (a, b), decision in decided}
    return tuple(model for model in models if model not in worse)


def _list_left(candidates: Sequence[str], decisions: Mapping[Pair, Decision | None]) -> tuple[str, ...]:
    """Return the models, of those that may be drawn further, that are in an open pair."""
    open_pairs = [
        pair for pair, decision in decisions.items() if decision is None and set(pair) <= set(candidates)
    ]
    return tuple(model for model in candidates if any(model in pair for pair in open_pairs))
