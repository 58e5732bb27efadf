"""STD and MAD: their ends, their chance levels, and their ranges for shares within intervals."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_bias.spread import by_chance, mad, mad_range, one_hot, spread, std, std_range

COUNTS = st.lists(st.integers(0, 200), min_size=2, max_size=8).filter(any)


@given(COUNTS, st.randoms())
def test_the_order_of_categories_does_not_matter(counts, random):
    mixed = random.sample(counts, len(counts))
    a, b = spread(counts), spread(mixed)
    assert (a.std, a.mad, a.printed) == pytest.approx((b.std, b.mad, b.printed), abs=1e-12)


@given(COUNTS, st.integers(1, 50))
def test_shares_alone_matter(counts, times):
    more = spread([times * count for count in counts])
    assert more.mad == pytest.approx(spread(counts).mad, abs=1e-12)


@given(COUNTS)
def test_all_lies_between_the_ends(counts):
    found, end = spread(counts), one_hot(len(counts))
    assert 0 <= found.mad <= found.std + 1e-12
    assert found.std <= end.std + 1e-12
    assert found.mad <= end.mad + 1e-12
    assert found.printed == pytest.approx(found.mad * len(counts) / (len(counts) - 1))


@given(st.integers(2, 12))
def test_the_ends_are_what_the_formulas_say(n):
    even, end = spread([3] * n), one_hot(n)
    assert (even.std, even.mad) == pytest.approx((0, 0), abs=1e-15)
    assert end.std == pytest.approx((n - 1) ** 0.5 / n)
    assert end.mad == pytest.approx(2 * (n - 1) / n**2)
    assert end.printed == pytest.approx(2 / n)


@st.composite
def boxes(draw):
    """Draw shares, and intervals that contain them."""
    shares = np.array(draw(st.lists(st.floats(0.001, 1), min_size=2, max_size=6)))
    shares /= shares.sum()
    down = np.array(draw(st.lists(st.floats(0, 0.4), min_size=len(shares), max_size=len(shares))))
    up = np.array(draw(st.lists(st.floats(0, 0.4), min_size=len(shares), max_size=len(shares))))
    return shares, np.maximum(shares - down, 0), np.minimum(shares + up, 1)


@given(boxes())
def test_intervals_stay_within_their_range(box):
    shares, lo, hi = box
    for of, range_of in ((mad, mad_range), (std, std_range)):
        least, most = range_of(lo, hi)
        assert least - 1e-9 <= float(of(shares)) <= most + 1e-9


@given(st.floats(0.01, 0.99), st.floats(0, 0.3), st.floats(0, 0.3))
def test_two_categories_give_the_interval_of_the_distance(share, down, up):
    lo, hi = max(share - down, 0), min(share + up, 1)
    ends = [abs(lo - 0.5), abs(hi - 0.5)]
    expected = (0 if lo <= 0.5 <= hi else min(ends), max(ends))
    box = np.array([lo, 1 - hi]), np.array([hi, 1 - lo])
    assert mad_range(*box) == pytest.approx(expected, abs=1e-9)
    assert std_range(*box) == pytest.approx(expected, abs=1e-9)


def test_an_interval_of_no_width_gives_the_value():
    shares = np.array([0.2, 0.1, 0.6, 0.1])
    for of, range_of in ((mad, mad_range), (std, std_range)):
        assert range_of(shares, shares) == pytest.approx((float(of(shares)),) * 2, abs=1e-6)


def test_an_unbiased_model_shows_some_mad_by_chance():
    assert by_chance(145, 2).mad == pytest.approx(0.033, abs=5e-4)
    assert by_chance(145, 2).std == by_chance(145, 2).mad
    assert by_chance(1, 4).mad == one_hot(4).mad


@pytest.mark.parametrize(("votes", "categories"), [(5, 2), (9, 2), (4, 3), (5, 4)])
def test_chance_is_the_mean_over_all_outcomes(votes, categories):
    expected = np.zeros(2)
    for counts in product(range(votes + 1), repeat=categories):
        if sum(counts) == votes:
            ways = factorial(votes) / prod(factorial(count) for count in counts)
            found = spread(counts)
            expected += ways / categories**votes * np.array([found.mad, found.std])
    chance = by_chance(votes, categories)
    assert chance.mad == pytest.approx(expected[0], abs=1e-12)
    assert chance.std == pytest.approx(expected[1], rel=0.01)
