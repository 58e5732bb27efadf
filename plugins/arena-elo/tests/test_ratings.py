from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit
from t2i_arena_elo.battles import VERDICTS, Battle, Battles
from t2i_arena_elo.fit import BattleTally, groups, has_order_term, maximise
from t2i_arena_elo.ratings import POINTS, rate

QUICK = {"rounds": 2}


def ratings(battles, **options):
    table = rate(battles, **{**QUICK, **options}).table
    return dict(zip(table["model"], table["rating"], strict=True))


@pytest.mark.parametrize("case", ["arena-elo-01", "arena-elo-02"])
@pytest.mark.parametrize(("ties", "column"), [("half", "exact_MLE_ties_half_(centred_at_1000)"),
                                              ("omit", "exact_MLE_ties_omitted")])  # fmt: skip
def test_golden_ratings(golden, case, ties, column):
    data = golden(case)
    battles = Battles.of(Battle("", a, b, VERDICTS[said]) for a, b, said in data["inputs"]["battles[a,b,result]"])
    assert ratings(battles, ties=ties, order=False) == pytest.approx(data["expected"][column], abs=1e-6)


SETS = json.loads((Path(__file__).parent / "arena_rank.json").read_text())["sets"]


@pytest.mark.parametrize("recorded", SETS, ids=[f"{len(one['ratings'])} models" for one in SETS])
def test_ratings_and_sandwich_are_those_of_arena_rank(recorded):
    """Recorded, for arena-rank brings jax. It takes battles for independent, and the normal for the t."""
    battles = Battles.of(Battle("", a, b, v) for a, b, v, count in recorded["battles"] for _ in range(count))
    table = rate(battles, order=False, **QUICK).table.set_index("model")
    theirs = np.array([recorded["ratings"][model] for model in table.index])
    assert np.abs(table["rating"] - theirs[:, 0]).max() < 0.01
    width = (table["sandwich_high"] - table["sandwich_low"]) / (theirs[:, 2] - theirs[:, 1])
    assert width.to_numpy() == pytest.approx(1, abs=0.02)


def test_resampled_and_sandwich_intervals_agree(tournament):
    battles = tournament(np.random.default_rng(0), np.array([-0.5, 0.0, 0.2, 0.6]), 100, effect=0.5)
    table = rate(battles).table
    ratio = (table["high"] - table["low"]) / (table["sandwich_high"] - table["sandwich_low"])
    assert ratio.to_numpy() == pytest.approx(1, abs=0.12)


def test_the_position_is_told_apart_from_strength():
    """The left wins 60 of 100 between two that are alike, and 90 of 100 where it is the stronger."""
    counts = {("a", "b", "left"): 90, ("a", "b", "right"): 10, ("b", "a", "left"): 20, ("b", "a", "right"): 80}
    battles = Battles.of(Battle(f"p{n}", *key) for key, count in counts.items() for n in range(count))
    found = rate(battles)
    odds = np.log(0.9 / 0.1), np.log(0.2 / 0.8)
    table = found.table.set_index("model")["rating"]
    assert table["a"] - table["b"] == pytest.approx(POINTS * (odds[0] - odds[1]) / 2)
    assert found.position.points == pytest.approx(POINTS * (odds[0] + odds[1]) / 2)
    assert found.position.share == pytest.approx(expit((odds[0] + odds[1]) / 2))
    assert found.position.low < found.position.points < found.position.high


def test_one_pair_has_the_odds_of_its_wins():
    """Against a root found by itself: 7 wins of 10 and a prior-free likelihood."""
    battles = Battles.of([Battle("", "a", "b", "left")] * 7 + [Battle("", "a", "b", "right")] * 3)
    root = brentq(lambda gap: 7 - 10 * expit(gap), -5, 5)
    found = ratings(battles, order=False)
    assert found["a"] - found["b"] == pytest.approx(POINTS * root)


# what cannot be told ------------------------------------------------------------------------------------------


def test_a_model_that_never_loses_is_regularised_and_named():
    battles = Battles.of(
        [Battle(f"p{n}", "best", other, "left") for n, other in enumerate("abab")]
        + [Battle("q", "a", "b", "left"), Battle("q", "b", "a", "left")]
    )
    found = rate(battles)
    (note,) = (note for note in found.notes if "regularised" in note)
    assert "best | a, b" in note
    table = found.table.set_index("model")
    assert table["regularised"].all()
    assert 1000 < table.loc["best", "rating"] < 1400
    # twice as sure that it is better, further apart: no accident of an optimiser
    again = rate(Battles.of([*battles, *battles]))
    assert again.table.set_index("model").loc["best", "rating"] > table.loc["best", "rating"]


def test_models_that_never_met_are_regularised():
    battles = Battles.of([Battle("p", *pair, said) for pair in ("ab", "cd") for said in ("left", "right", "tie")])
    found = rate(battles)
    assert any("a, b | c, d" in note for note in found.notes)
    assert set(ratings(battles).values()) == {1000.0}


def test_without_a_decided_battle_there_are_no_ratings():
    found = rate(Battles.of([Battle("p", "a", "b", "unparsable")]))
    assert found.table["rating"].isna().all()
    assert found.notes == ("no battle was decided",)
    assert found.counts["unparsable"] == 1


def test_a_model_whose_battles_all_failed_has_none():
    battles = [Battle(f"p{n}", "a", "b", said) for n, said in enumerate(("left", "right", "tie"))]
    found = rate(Battles.of([*battles, Battle("p0", "a", "c", "refused")])).table.set_index("model")
    assert np.isnan(found.loc["c", "rating"])
    assert found.loc["c", "battles"] == 0
    assert not found["regularised"].any()
    assert found.loc[["a", "b"], "rating"].mean() == 1000


def test_one_prompt_gives_no_interval():
    battles = Battles.of([Battle("p", "a", "b", said) for said in ("left", "right", "left")])
    found = rate(battles)
    assert found.table[["low", "high", "sandwich_low"]].isna().all(axis=None)
    assert "one prompt, so intervals cannot be computed" in found.notes


def test_prompts_that_all_say_the_same_give_no_intervals():
    found = rate(Battles.of(Battle(f"p{n}", *pair, "tie") for n in range(20) for pair in ("ab", "ba")))
    assert found.table["rating"].tolist() == pytest.approx([1000, 1000])
    assert found.table[["low", "high", "sandwich_low", "sandwich_high"]].isna().all(axis=None)
    assert found.notes == ("no variation among prompts, so intervals cannot be computed",)


ORDERS = {
    "both orders of a stronger one": (["ab", "ba"], ["left", "right", "tie"], True),
    "one order alone": (["ab"], ["left", "right"], False),
    "the left always wins": (["ab", "ba"], ["left"], False),
    "a round of three": (["ab", "bc", "ca"], ["left", "right"], True),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_term_is_fitted_where_it_can_be_told(name):
    pairs, verdicts, told = ORDERS[name]
    battles = Battles.of(Battle(f"p{n}", *p, v) for n in range(2) for p in pairs for v in verdicts)
    found = rate(battles)
    assert (found.position is not None) == told
    assert any("shown first" in note for note in found.notes) != told


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 3), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=9))
def test_the_order_term_exists_where_no_direction_is_free(models, fights):
    """By brute force: no grid of strengths makes every verdict at least as likely with a larger term."""
    won, lost = np.zeros((2, models, models), bool)
    for a, b, left in fights:
        if a % models != b % models:
            (won if left else lost)[a % models, b % models] = True
    free = False
    for flat in np.ndindex(*[2 * models + 1] * models):
        theta = np.array(flat) - models
        for gamma in (1, -1):
            gap = theta[:, None] - theta[None, :] + gamma
            free |= bool((gap[won] >= 0).all() and (gap[lost] <= 0).all())
    assert has_order_term(won, lost) != free


def test_battles_under_any_weights_have_their_greatest_likelihood():
    """Whole steps of Newton's method jumped to and fro for ever under one of these rounds' weights."""
    fights = [("3", "0", "left", 2), ("3", "0", "left", 2), ("3", "1", "tie", 5), ("0", "2", "tie", 0),
        ("1", "2", "left", 3), ("1", "0", "tie", 5), ("2", "1", "left", 1), ("0", "3", "left", 4)]  # fmt: skip
    found = rate(Battles.of(Battle(f"p{prompt}", *told) for *told, prompt in fights), rounds=1000)
    assert np.isfinite(found.table["low"]).all()


def test_a_fit_far_from_its_start_is_where_the_likelihood_is_level():
    fought = np.zeros((3, 3))
    fought[0, 1] = fought[1, 0] = fought[1, 2] = fought[2, 1] = 1000.0
    wins = np.array([1999.999, 1500.0, 500.001])
    fit = maximise(BattleTally(fought, wins, np.array(2000.0)), order=True)
    odds = expit(fit.theta[:, None] - fit.theta[None, :] + fit.gamma)
    expected = (fought * odds).sum(axis=1) + (fought * (1 - odds)).sum(axis=0)
    assert expected == pytest.approx(wins, rel=1e-6)


# people -------------------------------------------------------------------------------------------------------


def votes(rng, annotators, prompts=40):
    """Annotators with different tastes: each one's view of a's lead over b differs."""
    taste = rng.normal(0.3, 1.0, annotators)
    return Battles.of(
        Battle(f"p{p}", "a", "b", "left" if rng.random() < expit(taste[j]) else "right", judge=f"j{j}", human=True)
        for p in range(prompts)
        for j in range(annotators)
    )


def test_annotators_who_differ_widen_the_intervals():
    battles = votes(np.random.default_rng(1), 12)
    alone = rate(Battles.of(Battle(b.prompt, b.left, b.right, b.verdict) for b in battles))
    found = rate(battles)
    assert found.clusters == "prompts x annotators"
    wide, narrow = ((r.table["high"] - r.table["low"]).iloc[0] for r in (found, alone))
    assert wide > 1.8 * narrow
    wide, narrow = ((r.table["sandwich_high"] - r.table["sandwich_low"]).iloc[0] for r in (found, alone))
    assert wide > 1.8 * narrow


def test_few_annotators_are_said():
    assert any("one annotator" in note for note in rate(votes(np.random.default_rng(2), 1), **QUICK).notes)
    assert any("3 annotators" in note for note in rate(votes(np.random.default_rng(2), 3), **QUICK).notes)


def test_models_verdicts_are_not_resampled_as_annotators():
    people = list(votes(np.random.default_rng(3), 4))
    model = [Battle(f"p{n}", "a", "b", "left" if n % 3 else "right", judge="vlm") for n in range(40)]
    found = rate(Battles.of([*people, *model]))
    assert any("4 annotators" in note for note in found.notes)
    assert np.isfinite(found.table["low"]).all()


# laws ---------------------------------------------------------------------------------------------------------

FIGHTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 3), st.sampled_from(VERDICTS)),
    min_size=1, max_size=40,
)  # fmt: skip


def drawn(fights):
    return [Battle(f"p{p}", f"m{a}", f"m{(a + step) % 4}", said) for p, a, step, said in fights]


@settings(deadline=None, max_examples=25)
@given(FIGHTS, st.booleans(), st.sampled_from(["half", "omit"]))
def test_exchanging_sides_and_verdicts_negates_the_position_alone(fights, order, ties):
    turn = {"left": "right", "right": "left"}
    battles = drawn(fights)
    turned = [Battle(b.prompt, b.right, b.left, turn.get(b.verdict, b.verdict)) for b in battles]
    one, other = (rate(Battles.of(each), order=order, ties=ties, **QUICK) for each in (battles, turned))
    values = [dict(zip(r.table["model"], r.table["rating"], strict=True)) for r in (one, other)]
    assert values[0] == pytest.approx(values[1], abs=1e-5, nan_ok=True)
    assert (one.position is None) == (other.position is None)
    if one.position is not None:
        assert one.position.points == pytest.approx(-other.position.points, abs=1e-5)


@settings(deadline=None, max_examples=25)
@given(FIGHTS)
def test_exchanging_two_models_names_exchanges_their_ratings(fights):
    names = {"m0": "m1", "m1": "m0"}
    battles = drawn(fights)
    other = ratings(
        Battles.of(
            Battle(b.prompt, names.get(b.left, b.left), names.get(b.right, b.right), b.verdict) for b in battles
        )
    )
    expected = {names.get(model, model): value for model, value in ratings(Battles.of(battles)).items()}
    assert other == pytest.approx(expected, abs=1e-5, nan_ok=True)


@pytest.mark.long
@settings(deadline=None, max_examples=25)
@given(FIGHTS, st.randoms(use_true_random=False))
def test_the_order_of_lines_and_names_of_prompts_change_nothing(fights, random):
    battles = drawn(fights)
    shuffled = random.sample(battles, len(battles))
    models = [f"m{i}" for i in range(4)]
    one, other = (Battles.of(each, models) for each in (battles, shuffled))
    assert ratings(one) == pytest.approx(ratings(other), abs=1e-6, nan_ok=True)
    renamed = Battles.of((Battle(f"x{b.prompt}", b.left, b.right, b.verdict) for b in battles), models)
    assert rate(renamed).table.equals(rate(one).table)


@settings(deadline=None, max_examples=25)
@given(FIGHTS)
def test_battles_that_are_there_twice_change_no_rating_that_has_a_maximum(fights):
    battles = drawn(fights)
    found = rate(Battles.of(battles), **QUICK)
    if not any("regularised" in note for note in found.notes):
        assert ratings(Battles.of(battles * 2)) == pytest.approx(
            ratings(Battles.of(battles)), abs=1e-5, nan_ok=True
        )


@settings(deadline=None, max_examples=25)
@given(FIGHTS)
def test_ratings_have_their_mean_and_ranks_their_places(fights):
    table = rate(Battles.of(drawn(fights)), rounds=20).table
    known = table[table["rating"].notna()]
    if len(known):
        assert known["rating"].mean() == pytest.approx(1000)
        assert (known["rank_low"] <= known["rank"]).all()
        assert (known["rank"] <= known["rank_high"]).all()
        assert known["rank"].iloc[0] == 1
    assert (table["wins"].sum()) == table["losses"].sum()


def test_groups_come_strongest_first():
    beat = np.zeros((4, 4), bool)
    beat[2, 0] = beat[0, 1] = beat[1, 0] = beat[1, 3] = True
    assert groups(beat) == [[2], [0, 1], [3]]
