"""What another battle would tell, and the pairs that are drawn for it."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_arena_elo.battles import Battle, Battles
from t2i_arena_elo.fit import information
from t2i_arena_elo.ratings import decided_battles, fit_ratings
from t2i_arena_elo.sampling import gains


def variance(battles):
    """The sum of the ratings' variances, by the likelihood."""
    data, _, present = decided_battles(battles, "half")
    fit = fit_ratings(data, tuple(map(str, present)), order=False)
    return np.trace(np.linalg.pinv(information(data.tally(), fit.fit, order=False)[:-1, :-1])), fit.fit


def draws(a, b, count):
    return [Battle("", *pair, "tie") for _ in range(count) for pair in ((a, b),)]


def test_a_gain_is_what_another_battle_takes_from_the_variances():
    """All ties: the strengths stay 0 whatever is added, so that the fall can be seen."""
    battles = [*draws("a", "b", 20), *draws("b", "c", 5), *draws("a", "c", 2)]
    before, _ = variance(Battles.of(battles))
    falls = {
        pair: before - variance(Battles.of([*battles, Battle("", *pair, "tie")]))[0]
        for pair in (("a", "b"), ("a", "c"), ("b", "c"))
    }
    mean = np.mean(list(falls.values()))
    found = gains(Battles.of(battles))
    assert {frozenset(pair): fall / mean for pair, fall in falls.items()} == pytest.approx(found)
    assert found[frozenset("ab")] < 1 < found[frozenset("ac")]


def test_those_who_are_far_apart_tell_little(tournament):
    battles = tournament(np.random.default_rng(0), np.array([-2.0, 0.0, 0.1, 2.0]), 100)
    found = gains(battles)
    assert found[frozenset(("m0", "m3"))] < found[frozenset(("m1", "m2"))]
    assert np.mean(list(found.values())) == pytest.approx(1)


def test_without_battles_nothing_is_known():
    assert gains(Battles.of([])) == {}
