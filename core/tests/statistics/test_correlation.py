"""Rank correlations held to scipy's, to all permutations, and to simulation."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from t2i_core.statistics import kendall, spearman

PAIRS = st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), max_size=30)
SHORT = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=5)
ORDERS = st.integers(3, 8).flatmap(lambda n: st.permutations(range(n)))
SCIPYS = {spearman: stats.spearmanr, kendall: stats.kendalltau}


@given(PAIRS)
def test_values_are_scipys(pairs) -> None:
    a, b = np.array(pairs, float).reshape(-1, 2).T
    for ours, theirs in SCIPYS.items():
        found = ours(a, b)
        assert found.n == len(a)
        if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
            assert math.isnan(found.value)
            assert math.isnan(found.p)
            continue
        expected = theirs(a, b)
        assert found.value == pytest.approx(expected.statistic, abs=1e-12)
        if len(a) > 8:
            assert found.p == pytest.approx(max(expected.pvalue, 2 / math.factorial(len(a))))


@settings(max_examples=30)
@given(SHORT)
def test_p_is_that_of_all_permutations_ties_too(pairs) -> None:
    a, b = np.array(pairs, float).T
    for ours, theirs in SCIPYS.items():
        found = ours(a, b)
        if not math.isnan(found.value):
            every = [abs(theirs(a, order).statistic) for order in permutations(b)]
            assert found.p == pytest.approx(np.mean(np.array(every) >= abs(found.value) - 1e-9))


@given(ORDERS)
def test_p_of_kendall_is_scipys_exact(order) -> None:
    expected = stats.kendalltau(range(len(order)), order, method="exact")
    assert kendall(range(len(order)), order).p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    ("n", "p"), [(3, 1 / 3), (4, 1 / 12), (8, 2 / math.factorial(8)), (9, 2 / math.factorial(9))]
)
def test_a_perfect_order_of_few_has_a_p(n, p) -> None:
    """Three models in the same order by two judges: before, p was 0."""
    for ours in SCIPYS:
        for sign in (1, -1):
            found = ours(range(n), sign * np.arange(n))
            assert found.value == pytest.approx(sign)
            assert found.p == pytest.approx(p)


@given(PAIRS)
def test_intervals_stay_in_their_range(pairs) -> None:
    a, b = np.array(pairs, float).reshape(-1, 2).T
    for ours in SCIPYS:
        found = ours(a, b)
        if found.n < 5 or math.isnan(found.value):
            assert math.isnan(found.lo)
            assert math.isnan(found.hi)
            assert found.method.startswith("none")
        else:
            assert -1 <= found.lo <= found.value <= found.hi <= 1
            assert found.lo < found.hi
            assert found.method == "Fisher's z"


@pytest.mark.parametrize("n", [5, 20, 1000, 1_000_000])
def test_a_perfect_order_has_a_lower_end(n) -> None:
    for ours in SCIPYS:
        found = ours(np.arange(n), np.arange(n))
        assert (-1 if n == 5 else 0.8) < found.lo < found.hi <= 1


def test_values_that_are_not_finite_are_left_out() -> None:
    a, b = [1, 2, math.nan, 4, 5, 3], [1, 2, 3, math.inf, 4, 9]
    for ours in SCIPYS:
        assert ours(a, b) == ours([1, 2, 5, 3], [1, 2, 4, 9])


def test_bad_arguments_are_refused() -> None:
    for ours in SCIPYS:
        with pytest.raises(ValueError, match="must pair up"):
            ours([1, 2], [1, 2, 3])
        with pytest.raises(ValueError, match="level must lie"):
            ours([1, 2], [1, 2], level=95)


@pytest.mark.long
@pytest.mark.parametrize("n", [5, 7, 20, 100])
@pytest.mark.parametrize("r", [0.0, 0.5, 0.8])
def test_intervals_hold(n, r) -> None:
    """Pairs of a normal distribution; the bar is 93 % less two Monte-Carlo errors."""
    rng, worlds = np.random.default_rng(0), 500
    truth = {spearman: 6 / math.pi * math.asin(r / 2), kendall: 2 / math.pi * math.asin(r)}
    held = dict.fromkeys(truth, 0)
    for _ in range(worlds):
        a = rng.standard_normal(n)
        b = r * a + math.sqrt(1 - r**2) * rng.standard_normal(n)
        for ours, value in truth.items():
            found = ours(a, b)
            held[ours] += found.lo <= value <= found.hi
    bar = 0.93 - 2 * math.sqrt(0.05 * 0.95 / worlds)
    assert [ours.__name__ for ours, count in held.items() if count < bar * worlds] == []
