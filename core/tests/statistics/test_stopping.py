"""Looks, boundaries and verdicts of runs that grow until they are decided."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from t2i_core.statistics import mean_interval, paired_difference
from t2i_core.statistics.interval_width import follow_width
from t2i_core.statistics.look_cells import estimate_look_components, find_information, find_progress
from t2i_core.statistics.looks import Look, plan_looks
from t2i_core.statistics.pair_test import SPENDING, PairTest
from t2i_core.statistics.sequential import find_boundaries, find_next_boundary
from t2i_core.statistics.verdicts import Family, Goal, follow_pair, follow_pairs

PROMPTS, SEEDS = 100, 4
LOOKS = plan_looks(PROMPTS, SEEDS, 5)


def draw(
    rng: np.random.Generator, mean: float = 0.0, seed_sd: float = 0.0, shape: tuple[int, int] = (PROMPTS, SEEDS)
) -> NDArray[np.float64]:
    """Return differences with effects of prompts, seeds and images."""
    prompts, seeds = shape
    table = mean + rng.normal(0, 0.2, (prompts, 1)) + rng.normal(0, seed_sd, (1, seeds))
    return np.asarray(table + rng.normal(0, 0.4, shape))


@given(st.integers(10, 3000), st.integers(1, 64), st.integers(1, 12))
def test_looks_are_nested_rectangles_that_end_with_the_whole(prompts: int, seeds: int, count: int) -> None:
    looks = plan_looks(prompts, seeds, count)
    assert looks[-1] == Look(prompts, seeds)
    assert len(looks) <= count
    assert all(look.prompts >= 10 for look in looks)
    for a, b in pairwise(looks):
        assert a.prompts <= b.prompts
        assert a.seeds <= b.seeds
        assert a.images < b.images
        assert a.seeds == b.seeds or a.prompts == prompts  # seeds grow for all prompts


@given(st.integers(10, 1000), st.integers(1, 64), st.integers(80, 5000))
def test_most_images_limit_the_planned_end(prompts: int, seeds: int, most: int) -> None:
    end = plan_looks(prompts, seeds, most_images=most)[-1]
    assert end.images <= most
    assert end.prompts == prompts or end.seeds <= 8
    assert end == Look(prompts, seeds) or end.images + max(end.prompts, end.seeds) > most


def test_too_few_prompts_have_no_looks() -> None:
    with pytest.raises(ValueError, match="at least 10 prompts"):
        plan_looks(9, 4)
    with pytest.raises(ValueError, match="80 images"):
        plan_looks(100, 8, most_images=79)


@pytest.mark.parametrize("crossed", [True, False])
@pytest.mark.parametrize("lost", [0, 37])
def test_a_single_look_is_the_paired_comparison(crossed: bool, lost: int) -> None:
    table = draw(np.random.default_rng(1), 0.05, 0.1)
    table.ravel()[np.random.default_rng(2).permutation(table.size)[:lost]] = np.nan
    (look,), stop = follow_pair(table, LOOKS[-1:], crossed=crossed)
    prompt, seed = np.nonzero(~np.isnan(table))
    value = table[prompt, seed]
    plain = paired_difference(value, np.zeros_like(value), prompt, seed, crossed=crossed)
    assert (look.diff, look.se) == pytest.approx((plain.diff, plain.se))
    assert (look.lo, look.hi) == pytest.approx((plain.lo, plain.hi), abs=1e-6)
    assert (stop.lo, stop.hi, stop.p) == pytest.approx((plain.lo, plain.hi, plain.p), abs=1e-6)
    assert stop.diff == pytest.approx(plain.diff, abs=1e-6)
    assert (look.decision is not None) == (plain.p <= 0.05)


def test_a_pair_is_decided_exactly_if_the_repeated_interval_excludes_0() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        path, _ = follow_pair(draw(rng, 0.08, 0.02), LOOKS)
        for look in path:
            assert (look.lo > 0 or look.hi < 0) == (look.decision is not None)
            assert (abs(look.statistic) >= look.boundary) == (look.decision is not None)
        assert [look.look for look in path] == list(LOOKS[: len(path)])


def test_the_last_look_has_all_information_and_spends_all_error() -> None:
    table = draw(np.random.default_rng(4), 0.0, 0.05)
    path, _ = follow_pair(table, LOOKS)
    assert path[-1].information == 1
    fractions = find_information(estimate_look_components(table), LOOKS, LOOKS[-1])
    assert all(a < b for a, b in pairwise(fractions))
    even = np.tile([[0.5], [-0.5]], (PROMPTS // 2, SEEDS)) * 1.0  # only prompts vary: information grows with them
    path, _ = follow_pair(even, LOOKS)
    assert [look.information for look in path] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [look.boundary for look in path] == pytest.approx(
        find_boundaries([0.2, 0.4, 0.6, 0.8, 1.0], spending=SPENDING)
    )


def test_the_error_is_spent_by_prompts_while_only_they_grow() -> None:
    """Whatever the first looks say about seeds: with four of them, their effect is anybody's guess."""
    table = draw(np.random.default_rng(11), 0.0, 0.4)
    path, _ = follow_pair(table, LOOKS)
    boundaries: list[float] = []
    for look in path:
        components = estimate_look_components(table[: look.look.prompts])
        assert find_progress(components, look.look, LOOKS[-1]) == pytest.approx(look.look.prompts / PROMPTS)
        seen = find_information(components, [each.look for each in path[: len(boundaries) + 1]], LOOKS[-1])
        boundaries.append(find_next_boundary(seen, boundaries, 0.05, SPENDING, look.look.prompts / PROMPTS))
    assert path[0].information > 0.3
    assert [look.boundary for look in path] == pytest.approx(boundaries)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.floats(-0.2, 0.2))
def test_looks_so_far_are_the_same_when_the_run_goes_on(seed: int, mean: float) -> None:
    table = draw(np.random.default_rng(seed), mean, 0.05)
    path, _ = follow_pair(table, LOOKS, margin=0.1)
    for count in range(1, len(path) + 1):
        last = path[count - 1].look
        partial, _ = follow_pair(table[: last.prompts, : last.seeds], LOOKS[:count], LOOKS[-1], margin=0.1)
        assert partial == path[:count]


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_exchanging_the_models_mirrors_everything(seed: int) -> None:
    table = draw(np.random.default_rng(seed), 0.1)
    (path, stop), (mirrored, other) = follow_pair(table, LOOKS), follow_pair(-table, LOOKS)
    assert [look.statistic for look in path] == pytest.approx([-look.statistic for look in mirrored])
    assert (stop.diff, stop.lo, stop.hi) == pytest.approx((-other.diff, -other.hi, -other.lo), abs=1e-6)
    swap = {"higher": "lower", "lower": "higher", None: None}
    assert mirrored[-1].decision == swap[str(path[-1].decision) if path[-1].decision else None]


def test_equal_models_are_close_and_never_different() -> None:
    path, stop = follow_pair(np.zeros((200, 4)), plan_looks(200, 4), margin=0.05, bounds=(-1, 1))
    assert path[-1].decision == "close"
    assert len(path) > 1  # the first look is too small to be sure
    assert all(-1 <= look.lo <= 0 <= look.hi <= 1 for look in path)
    assert (stop.diff, stop.p) == (0, 1)
    assert -0.05 < stop.lo < 0 < stop.hi < 0.05


def test_scores_at_both_ends_of_the_range_are_decided() -> None:
    path, stop = follow_pair(np.ones((100, 4)), LOOKS, bounds=(-1, 1))
    assert path[-1].decision == "higher"
    assert 0 < stop.lo <= stop.diff == 1 == stop.hi


@pytest.mark.parametrize("axis", ["prompts", "seeds"])
def test_looks_that_bring_no_information_decide_nothing_new(axis: str) -> None:
    """Differences that are the same under every seed, or of every prompt, say nothing new where those grow."""
    table = np.zeros((40, 24))
    if axis == "prompts":
        table[[5, 20]] = 1
    else:
        table[:, [5, 20]] = 1
    path, stop = follow_pair(table, plan_looks(40, 24, 5), bounds=(-1, 1), margin=0.001)
    assert len(path) == 5
    assert all(a.information <= b.information for a, b in pairwise(path))
    assert path[-1].information == 1
    fractions = find_information(estimate_look_components(table), plan_looks(40, 24, 5), plan_looks(40, 24, 5)[-1])
    assert all(a < b for a, b in pairwise(fractions))
    assert all(look.decision is None for look in path)
    assert -1 <= stop.lo < stop.diff < stop.hi <= 1


@pytest.mark.long
def test_the_error_is_nominal_if_seeds_bring_no_information() -> None:
    rng, looks = np.random.default_rng(12), plan_looks(40, 24, 5)
    wrong = 0
    for _ in range(100):
        path, _ = follow_pair(np.repeat(rng.normal(0, 1, (40, 1)), 24, axis=1), looks)
        wrong += path[-1].decision is not None
    assert wrong <= 11  # 5 are expected


def test_a_look_without_values_leaves_a_pair_open() -> None:
    table = draw(np.random.default_rng(13), 0.5)
    table[: LOOKS[0].prompts] = np.nan
    path, stop = follow_pair(table, LOOKS, margin=0.05)
    first = path[0]
    assert (first.n, first.statistic, first.decision) == (0, 0, None)
    assert math.isnan(first.lo)
    assert path[-1].decision == "higher"
    assert stop.lo > 0
    family = follow_pairs(lambda pair, look: np.full_like(table, np.nan), "ab", LOOKS, LOOKS[-1], with_p=True)
    assert family.decisions == {("a", "b"): None}
    assert [look.p for look in family.looks] == [{("a", "b"): 1.0}] * len(LOOKS)
    assert math.isnan(family.estimates["a", "b"].diff)


def test_a_width_needs_values() -> None:
    table = draw(np.random.default_rng(14))
    table[: LOOKS[0].prompts] = np.nan
    found = follow_width(table, LOOKS, 0.5)
    assert math.isnan(found[0].hi)
    assert found[-1].hi - found[-1].lo <= 0.5


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_values_that_do_not_vary_are_sure_of_nothing_without_a_range(value: float) -> None:
    table = np.full((PROMPTS, SEEDS), value)
    path, stop = follow_pair(table, LOOKS, margin=0.05)
    assert [look.decision for look in path] == [None] * len(LOOKS)
    assert (stop.lo, stop.diff, stop.hi) == (-math.inf, value, math.inf)
    widths = follow_width(table + 2, LOOKS, 0.1)  # 0 and 1 would be proportions
    assert len(widths) == len(LOOKS)
    assert math.isinf(widths[-1].hi)


@pytest.mark.parametrize("score", [0.02, 0.98])
def test_rare_outcomes_give_finite_intervals_within_the_range(score: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        table = (rng.random((60, 3)) < score) * 1.0 - (rng.random((60, 3)) < score)
        path, stop = follow_pair(table, plan_looks(60, 3), bounds=(-1, 1), margin=0.1)
        for look in path:
            assert -1 <= look.lo <= look.diff <= look.hi <= 1
        assert -1 <= stop.lo <= stop.hi <= 1
        assert 0 <= stop.p <= 1


def test_repeated_p_meets_alpha_where_the_boundary_is_reached() -> None:
    rng = np.random.default_rng(6)
    seen = set()
    for _ in range(10):
        table = draw(rng, 0.1)
        test = PairTest(LOOKS[-1])
        for look in LOOKS[:3]:
            test.add(look, table)
        seen.add(test.is_crossed(0.05))
        assert (test.find_repeated_p() <= 0.05) == test.is_crossed(0.05)
        assert test.is_crossed(test.find_repeated_p() * 1.01)
    assert seen == {True, False}


def follow_models(means: dict[str, float], goal: Goal, **how: Any) -> Family:
    """Follow models whose values differ by their means, under the same noise of images."""
    rng = np.random.default_rng(8)
    values = {label: draw(rng, mean) for label, mean in means.items()}
    return follow_pairs(
        lambda pair, look: values[pair[0]] - values[pair[1]],
        list(means),
        LOOKS,
        LOOKS[-1],
        goal=goal,
        **how,
    )


def test_the_best_of_three_drops_the_worst_early() -> None:
    family = follow_models({"bad": 0.0, "best": 0.9, "good": 0.83}, "best")
    assert family.decisions["bad", "best"] == "lower"
    drawn = [look.models for look in family.looks]
    assert drawn[0] == ("bad", "best", "good")
    assert drawn[-1] == ("best", "good")
    assert family.looks[-1].left == () or family.looks[-1].look == LOOKS[-1]
    lowest = follow_models({"bad": 0.0, "best": 0.9, "good": 0.83}, "best", higher_is_better=False)
    assert "good" not in lowest.looks[-1].left
    assert len(lowest.looks) < len(family.looks)


def test_a_verdict_on_three_models_decides_each_pair() -> None:
    family = follow_models({"a": 0.0, "b": 0.9, "c": 0.6}, "verdict", margin=0.05, with_p=True)
    assert family.decisions == {("a", "b"): "lower", ("a", "c"): "lower", ("b", "c"): "higher"}
    assert all(p <= 0.05 for look in family.looks[-1:] for p in look.p.values())


def test_the_boundary_of_a_pair_is_the_one_that_decides_it() -> None:
    below = 0
    for mean in np.linspace(0.8, 0.99, 20):
        family = follow_models({"a": 0.0, "b": 0.9, "c": float(mean)}, "verdict")
        for pair, decision in family.decisions.items():
            path = [look.pairs[pair] for look in family.looks if pair in look.pairs]
            assert (abs(path[-1].statistic) >= path[-1].boundary) == (decision is not None)
            below += decision is not None and path[-1].lo < 0 < path[-1].hi
    assert below  # Holm decides pairs that Bonferroni would not


def test_width_is_the_plain_interval_of_the_first_narrow_look() -> None:
    rng = np.random.default_rng(9)
    table = (rng.random((100, 4)) < 0.8) * 1.0
    found = follow_width(table, LOOKS, 0.15, bounds=(0, 1))
    assert [estimate.hi - estimate.lo <= 0.15 for estimate in found] == [False] * (len(found) - 1) + [True]
    rows, columns = LOOKS[len(found) - 1].prompts, LOOKS[len(found) - 1].seeds
    prompt, seed = np.indices((rows, columns)).reshape(2, -1)
    plain = mean_interval(table[:rows, :columns].ravel(), prompt, seed, low=0, high=1)
    assert found[-1] == plain


@pytest.mark.slow
@pytest.mark.parametrize("seed_sd", [0.0, 0.1])
def test_error_and_coverage_are_nominal(seed_sd: float) -> None:
    """A small simulation; `benchmarks` holds that of 4,000 runs for each design."""
    rng = np.random.default_rng(10)
    worlds, tolerance = 300, 2 * math.sqrt(0.05 * 0.95 / 300)
    for mean in (0.0, 0.1):
        wrong = held = repeated = 0
        for _ in range(worlds):
            path, stop = follow_pair(draw(rng, mean, seed_sd, (60, 8)), plan_looks(60, 8))
            wrong += path[-1].decision is not None and mean == 0
            held += stop.lo <= mean <= stop.hi
            repeated += all(look.lo <= mean <= look.hi for look in path)
        assert wrong / worlds <= 0.05 + tolerance
        assert held / worlds >= 0.93 - tolerance
        assert repeated / worlds >= 0.95 - tolerance
