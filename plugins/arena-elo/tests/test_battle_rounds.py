"""Battles in rounds: what is drawn next, when the battles end, and intervals that hold for them."""

from __future__ import annotations

import runpy
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.special import stdtrit
from t2i_arena_elo.battle_looks import BattleLook, count_tests, list_boundaries, list_gaps, look_at, widen
from t2i_arena_elo.battle_rounds import BattleRounds
from t2i_arena_elo.battles import Battles
from t2i_arena_elo.fit import maximise
from t2i_arena_elo.options import EloOptions
from t2i_arena_elo.propensities import FLOOR, find_propensities, list_pairs
from t2i_arena_elo.ratings import MEAN, POINTS, UNEQUAL, rate
from t2i_arena_elo.resampling import find_freedom, find_influence
from t2i_arena_elo.rows import LOOK, PROPENSITY, battles_of
from t2i_arena_elo.weighted_ratings import weigh_ratings
from t2i_core.statistics import statistic_intervals

ACTIVE = runpy.run_path(str(Path(__file__).parent.parent / "benchmarks" / "active.py"), run_name="active")
STRENGTHS = st.lists(st.floats(-3, 3), min_size=2, max_size=7).map(np.array)


def contrast(models, first, second):
    found = np.zeros((1, models))
    found[0, first], found[0, second] = 1, -1
    return found


@settings(deadline=None)
@given(STRENGTHS, st.floats(0.01, 1), st.integers(0, 1000))
def test_propensities_have_the_share_as_mean_and_keep_to_their_floor(theta, share, seed):
    contrasts = np.random.default_rng(seed).normal(size=(3, len(theta)))
    found = find_propensities(theta, share, contrasts - contrasts.mean(axis=1, keepdims=True))
    assert found.mean() == pytest.approx(share)
    assert found.min() >= FLOOR * share * (1 - 1e-12)
    assert found.max() <= 1


def test_of_equal_models_the_pair_in_question_is_drawn_twice_as_often_as_those_with_one_of_them():
    """c'Bx is 2/K for the pair itself, 1/K for pairs with one of the two, and 0 for the others."""
    found = find_propensities(np.zeros(6), 0.1, contrast(6, 0, 1))
    chance = dict(zip(zip(*list_pairs(6), strict=True), found, strict=True))
    assert chance[0, 1] == pytest.approx(2 * chance[0, 2])
    assert chance[2, 3] == pytest.approx(FLOOR * 0.1)


@settings(deadline=None, max_examples=30)
@given(STRENGTHS, st.integers(0, 1000))
def test_no_other_propensities_of_the_same_mean_tell_more(theta, seed):
    """The variance that is minimised, written out, is smaller than that of any other draws."""
    rng = np.random.default_rng(seed)
    first, second = list_pairs(len(theta))
    wanted = contrast(len(theta), 0, 1)
    spread = 1 / (4 * np.cosh((theta[first] - theta[second]) / 2) ** 2)
    own = np.eye(len(theta))[first] - np.eye(len(theta))[second]
    moves = (own @ np.linalg.pinv((own.T * spread) @ own) @ wanted.T)[:, 0]
    share = 0.05
    best = find_propensities(theta, share, wanted)
    others = share * (FLOOR + (1 - FLOOR) * rng.dirichlet(np.ones(len(first)), 20) * len(first))
    for other in others[(others <= 1).all(axis=1)]:
        assert (spread * moves**2 / best).sum() <= (spread * moves**2 / other).sum() * 1.02


def begin(models=3, prompts=100, **options):
    found = BattleRounds(tuple(f"m{i}" for i in range(models)), EloOptions(**options))
    found.begin([f"p{n}" for n in range(prompts)])
    return found


def battles_of_round(rounds, rng, theta, names):
    """All pairs of some prompts, by known strengths."""
    places = np.array(list(combinations(range(len(theta)), 2)) * len(names))
    prompt = np.repeat(np.arange(len(names)), len(places) // len(names))
    odds = 1 / (1 + np.exp(theta[places[:, 1]] - theta[places[:, 0]]))
    lost = (rng.random(len(places)) > odds).astype(int)
    return Battles.coded(rounds.models, names, left=places[:, 0], right=places[:, 1], prompt=prompt, verdict=lost)


def test_prompts_are_dealt_to_rounds_of_ten_and_more_the_same_each_time():
    rounds, again, other = begin(until="best"), begin(until="best"), begin(until="best", draw_seed=1)
    here = {n for n in range(100) if rounds.find(f"p{n}") is not None}
    assert len(here) == 12
    assert here == {n for n in range(100) if again.find(f"p{n}") is not None}
    assert here != {n for n in range(100) if other.find(f"p{n}") is not None}
    assert sum(begin(prompts=35, until="best").find(f"p{n}") is not None for n in range(35)) == 11
    assert sum(begin(prompts=9, until="best").find(f"p{n}") is not None for n in range(9)) == 9


@pytest.mark.parametrize("goal", ["best", "ranks"])
def test_battles_end_when_the_goal_is_surely_reached(goal):
    theta, rng = np.array([1.5, 0.0, -1.5]), np.random.default_rng(0)
    rounds, looks = begin(until=goal, prompts=400), 1
    while rounds.add(
        battles_of_round(rounds, rng, theta, [f"p{n}" for n in range(400) if rounds.find(f"p{n}") is not None])
    ):
        looks += 1
    assert rounds.is_reached
    assert looks < 8
    assert "error of at most 5%" in rounds.verdict
    assert ("m0 is surely the best" if goal == "best" else "(m0, m1, m2)") in rounds.verdict


def test_equal_models_use_all_prompts_and_none_is_called_the_best():
    rounds, rng = begin(until="best", share=0.5, active=True), np.random.default_rng(0)
    while rounds.add(
        battles_of_round(
            rounds, rng, np.zeros(3), [f"p{n}" for n in range(100) if rounds.find(f"p{n}") is not None]
        )
    ):
        assert not rounds.verdict
    assert "no model is surely the best after 100% of the prompts (look 8 of 8)" in rounds.verdict


def test_a_model_that_never_loses_is_not_called_the_best_because_its_strength_does_not_exist():
    rounds, names = begin(models=2, until="best"), [f"p{n}" for n in range(100)]
    won = battles_of_round(rounds, np.random.default_rng(0), np.array([50.0, -50.0]), names)
    while rounds.add(won):
        pass
    assert not rounds.is_reached
    assert rounds.verdict.endswith("never lost to another, or never met it: m0 | m1")


def test_a_look_needs_battles_of_every_model():
    battles = Battles.coded(
        ("a", "b", "c"), ("p", "q"), left=np.zeros(2, int), right=np.ones(2, int), prompt=np.arange(2),
        verdict=np.arange(2),
    )  # fmt: skip
    assert look_at(battles, "half", True) is None
    rounds = begin(models=3, active=True, share=0.5)
    assert rounds.add(Battles.of([], rounds.models))


def test_a_goal_needs_differences_with_the_best_or_of_neighbours():
    theta = np.array([0.0, 2.0, 1.0])
    assert list_gaps("best", theta) == [(1, 2), (1, 0)]
    assert list_gaps("ranks", theta) == [(1, 2), (2, 0)]
    assert (count_tests("best", 5), count_tests("ranks", 5)) == (4, 10)


def test_scores_are_those_of_students_t():
    look = BattleLook(np.array([1.0, 0.0]), np.eye(2) / 2, np.full((2, 2), 10.0), 11, (("a", "b"),))
    assert look.errors()[0, 1] == pytest.approx(1)
    # P(t > 1) with 10 degrees of freedom is .1704, as P(N > .9525)
    assert look.scores()[0, 1] == pytest.approx(0.9525, abs=1e-3)
    assert look.scores()[1, 0] == pytest.approx(-0.9525, abs=1e-3)


def test_an_interval_of_the_last_look_of_one_is_a_plain_one_and_early_looks_are_wider():
    assert widen([1.0]) == pytest.approx(1)
    assert widen([0.25]) > widen([0.25, 0.5]) > widen([0.25, 0.5, 1.0]) > 1
    assert list_boundaries((0.5, 1.0), 3)[0] > list_boundaries((0.5, 1.0))[0]


@pytest.mark.parametrize(
    "given",
    [
        {"active": True},
        {"active": True, "share": 0.5, "pilot": "votes.csv"},
        {"until": "best", "battles": ["votes.csv"]},
        {"until": "best", "protocol": "taxonomy"},
        {"until": "first"},
        {"rounds": 4},
    ],
)
def test_options_that_exclude_each_other_are_refused(given):
    with pytest.raises(ValidationError):
        EloOptions(**given)


# intervals ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn():
    """Battles of 60 prompts that were drawn with two probabilities, as a table of a run has them."""
    rng = np.random.default_rng(3)
    theta, lines = np.array([0.8, 0.0, -0.3]), []
    for prompt in range(60):
        for i, j in combinations(range(3), 2):
            chance = 0.9 if i == 0 else 0.3
            if rng.random() < chance:
                for a, b in ((i, j), (j, i)):
                    won = rng.random() < 1 / (1 + np.exp(theta[b] - theta[a] - 0.2))
                    lines.append(
                        {
                            "model_a": f"m{i}", "model_b": f"m{j}",
                            "prompt": f"p{prompt}", "cluster": f"p{prompt}",
                            "measure": "win", "value": float(won == (a == i)), "judge": "",
                            "shown": "first" if a == i else "second", "verdict": "left" if won else "right",
                            PROPENSITY: chance, LOOK: 0.5 if prompt < 30 else 1.0,
                        }
                    )  # fmt: skip
    return pd.DataFrame(lines)


def half_widths(table, options):
    found = weigh_ratings(table, options)
    ends = statistic_intervals(found.rate, table["prompt"].to_numpy(), None, rounds=4000)
    return {name: (each.value, (each.hi - each.lo) / 2) for name, each in ends.items()}


def test_a_runs_intervals_are_the_sandwich_of_the_weighted_scores(drawn):
    ratings = rate(battles_of(drawn))
    assert UNEQUAL in ratings.notes
    table = ratings.table.set_index("model")
    assert (table["low"] == table["sandwich_low"]).all()
    found = half_widths(drawn, EloOptions(active=True, share=0.5))
    data, prompts = weigh_ratings(drawn, EloOptions()).data, drawn["prompt"].factorize()[0]
    moves = find_influence(data, weigh_ratings(drawn, EloOptions()).model_fit.fit, order=True, prior=0)
    freedom = dict(zip(("m0", "m1", "m2"), np.diag(find_freedom(moves, prompts)), strict=False))
    for model in ("m0", "m1", "m2"):
        value, half = found[model]
        assert value == pytest.approx(table.loc[model, "rating"])
        wider = stdtrit(freedom[model], 0.975) / stdtrit(59, 0.975)
        assert wider > 1
        assert half == pytest.approx((table.loc[model, "rating"] - table.loc[model, "low"]) * wider, rel=0.05)


def test_battles_weigh_inversely_to_their_propensity(drawn):
    """The same fit as that of a table with each battle as often as it weighs: 3 for .3, and 1 for .9."""
    repeated = pd.concat([drawn, *[drawn[drawn[PROPENSITY] == 0.3]] * 2], ignore_index=True)
    found = weigh_ratings(drawn, EloOptions()).model_fit.fit.theta
    plain = weigh_ratings(repeated.drop(columns=[PROPENSITY, LOOK]), EloOptions())
    assert found == pytest.approx(plain.model_fit.fit.theta, abs=1e-6)
    assert weigh_ratings(drawn, EloOptions()).rate(np.ones(len(drawn)))["m0"] == pytest.approx(
        MEAN + POINTS * found[0]
    )


def test_a_battle_moves_the_ratings_as_far_as_leaving_it_out_does(drawn):
    """Of few battles, so that each has some leverage; without it, squared moves are a sixth smaller."""
    found = weigh_ratings(drawn.iloc[:40].reset_index(drop=True), EloOptions(position=False))
    data, fit = found.data, found.model_fit.fit
    moves = np.empty((len(data.left), data.models))
    for each in range(len(data.left)):
        weight = np.ones(len(data.left))
        weight[each] = 0
        moves[each] = fit.theta - maximise(data.tally(weight), order=False, start=fit).theta
    influence = find_influence(data, fit, order=False, prior=0)
    spread = (influence[:, :-1] ** 2).sum() / (moves**2).sum()
    assert spread == pytest.approx(1, abs=0.08)


def test_intervals_after_a_goal_are_repeated_ones(drawn):
    plain, wide = (half_widths(drawn, EloOptions(share=0.5, until=goal)) for goal in (None, "best"))
    for model in ("m0", "m1", "m2"):
        assert wide[model][0] == pytest.approx(plain[model][0])
        assert wide[model][1] == pytest.approx(plain[model][1] * widen([0.5, 1.0]), rel=1e-6)


@pytest.mark.slow
def test_intervals_cover_the_truth_of_pairs_that_answers_chose():
    world = ACTIVE["ActiveWorld"](ACTIVE["make_ladder"](4, 0.3), 80, 0.5)
    found = ACTIVE["summarize"](world, EloOptions(active=True, share=0.4), 200)
    assert 0.92 <= found.ratings <= 0.98
    until = ACTIVE["summarize"](world, EloOptions(active=True, share=0.4, until="best"), 200)
    assert until.repeated >= 0.93
    assert until.wrong <= 0.05


@pytest.mark.slow
def test_repeated_intervals_cover_the_truth_of_models_that_differ_much():
    """The few battles of rare pairs weigh much: with as many degrees of freedom as prompts, 90 % are covered."""
    world = ACTIVE["ActiveWorld"](ACTIVE["make_ladder"](8, 0.3, 1.0), 300, 0.5)
    found = ACTIVE["summarize"](world, EloOptions(active=True, share=0.05, until="best"), 60)
    assert found.repeated >= 0.94


def test_degrees_of_freedom_count_the_prompts_that_carry_the_variance():
    influence = np.array([[1.0, 0.0], [-1.0, 0.5], [1.0, 0.0], [-0.5, 0.0], [-0.5, 0.0]])
    found = find_freedom(influence, np.array([0, 1, 2, 3, 3]))
    assert found[0, 0] == pytest.approx(3)  # four prompts of equal moves
    assert found[1, 1] == 1  # one prompt moves the second strength; fewer than one degree is none
    moves = np.array([1.0, -1.5, 1.0, -1.0])
    assert found[0, 1] == found[1, 0] == pytest.approx((moves**2).sum() ** 2 / (moves**4).sum() - 1)
