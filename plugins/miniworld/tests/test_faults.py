"""Fault rates are recovered by counting decisions; no picture is drawn."""

import math
from collections import Counter
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare
from t2i_miniworld.classes import KINDS
from t2i_miniworld.faults import Draw, FaultRates, apply, extra_of, rate, wrong_thing
from t2i_miniworld.laws import Laws, Skew, leaf_of, worn
from t2i_miniworld.layout import plan
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Place, Placed, PlacedScene, ScenePlan, Stage, Thing, Tie
from t2i_miniworld.vocabulary import LEAVES

STAGE = Stage(12, 40, 45, 0.8, 0.5, 0, (180, 180, 180), (200, 200, 200))
RATES = [field.name for field in fields(FaultRates) if not field.name.endswith("_sd")]


def scene(*paints):
    """Four cars in a row, of which faults read no more than slots, paints and places."""
    look = {"form": "sedan", "coat": None, "variant": 0, "look": 0, "stretch": (1, 1, 1), "yaw": 0, "scale": 1}
    return PlacedScene(
        STAGE,
        tuple(
            Placed(
                slot,
                Thing("car", paint),
                place=Place(0.2 * slot + 0.2, 0.8, 0.2, 0.2),
                position=(slot, 0, 0),
                **look,
            )
            for slot, paint in enumerate(paints)
        ),
    )


def drawn(whole, faults, seed, prompt="p", salt=0, groups=range(8)):
    whole = whole if isinstance(whole, ScenePlan) else ScenePlan(whole)
    return apply(whole, groups, Draw(faults, prompt, seed, salt))


def foreseen(things, *key, ties=()):
    """A plan with all that faults may draw."""
    instead = [wrong_thing(thing, slot, Laws(), *key) for slot, thing in enumerate(things)]
    return plan(things, *key, ties=ties, instead=instead, extra=things[0])


def paints_of(one):
    return [placed.thing.paint for placed in one.placed]


def expect_share(hits, total, share):
    """The count lies where 999,999 of a million right programs have it."""
    assert binomtest(hits, total, share).pvalue > 1e-6, f"{hits} of {total}, want a share of {share}"


@pytest.mark.long
@pytest.mark.parametrize("drop", [0.1, 0.4])
def test_each_thing_after_the_first_is_dropped_at_the_rate_by_itself(drop):
    kept = [
        {placed.slot for placed in drawn(scene(None, None, None), FaultRates(drop=drop), seed, f"p{p}").placed}
        for p in range(20)
        for seed in range(100)
    ]
    assert all(0 in slots for slots in kept)
    expect_share(sum(1 not in slots for slots in kept), 2000, drop)
    expect_share(sum(2 not in slots for slots in kept), 2000, drop)
    expect_share(sum(slots == {0} for slots in kept), 2000, drop**2)


def test_wrong_colours_come_at_the_rate_and_spread_evenly():
    read = Counter(
        paints_of(drawn(scene("red", None), FaultRates(wrong_color=0.3), seed))[0] for seed in range(3000)
    )
    expect_share(3000 - read["red"], 3000, 0.3)
    assert chisquare([read[paint] for paint in PAINTS if paint != "red"]).pvalue > 1e-6


def test_things_without_a_colour_stay_natural():
    first, second = paints_of(drawn(scene(None, "blue"), FaultRates(wrong_color=1.0), 3))
    assert first is None
    assert second not in (None, "blue")


def test_wrong_objects_come_at_the_rate():
    draws = [Draw(FaultRates(wrong_object=0.3), "p", seed, 0) for seed in range(5000)]
    expect_share(sum(draw.happens("wrong_object", 0) for draw in draws), 5000, 0.3)


def test_wrong_objects_spread_evenly_over_the_other_leaves():
    car = Thing("car", "red", "sedan")
    wrong = [wrong_thing(car, 0, Laws(), "p", seed) for seed in range(3000)]
    assert {thing.paint for thing in wrong} == {"red"}
    leaves = Counter(leaf_of(thing.kind, thing.form) for thing in wrong)
    assert "sedan.n.01" not in leaves
    assert chisquare([leaves[leaf] for leaf in LEAVES if leaf != "sedan.n.01"]).pvalue > 1e-6


def test_a_wrong_human_wears_what_the_laws_say():
    laws = Laws(skews=(Skew("hat", "yes", 1.0), Skew("coat", "pink", 1.0)))
    wrong = [wrong_thing(Thing("car", None, "sedan"), 0, laws, seed) for seed in range(400)]
    people = [thing for thing in wrong if thing.kind == "human"]
    assert people
    assert {(worn(thing.form)["hat"], thing.coat) for thing in people} == {("yes", "pink")}


def test_a_wrong_object_fills_the_place_of_the_right_one():
    whole = foreseen([Thing("dog", "red", "dachshund"), Thing("bus", None, KINDS["bus"].forms[0])], "wrong", 1)
    for before, after in zip(
        whole.scene.placed, drawn(whole, FaultRates(wrong_object=1.0), 1).placed, strict=True
    ):
        assert after.place == before.place
        assert leaf_of(after.thing.kind, after.form) != leaf_of(before.thing.kind, before.form)


def test_colours_are_swapped_at_the_rate():
    pairs = Counter(
        tuple(paints_of(drawn(scene("red", "blue"), FaultRates(swap_colors=0.3), s))) for s in range(3000)
    )
    assert set(pairs) == {("red", "blue"), ("blue", "red")}
    expect_share(pairs["blue", "red"], 3000, 0.3)


def test_paints_move_on_among_painted_things_alone():
    swap = FaultRates(swap_colors=1.0)
    assert paints_of(drawn(scene("red", None, "blue", "pink"), swap, 1)) == ["pink", None, "red", "blue"]
    assert paints_of(drawn(scene("red", None, None), swap, 1)) == ["red", None, None]
    assert paints_of(drawn(scene("red", "red"), swap, 1)) == ["red", "red"]


def test_all_things_of_an_object_exchange_their_colours_with_the_other_objects():
    swap = FaultRates(swap_colors=1.0)
    two_and_two = scene("red", "red", "blue", "blue")
    assert paints_of(drawn(two_and_two, swap, 1, groups=(0, 0, 1, 1))) == ["blue", "blue", "red", "red"]
    uneven = scene("red", None, "blue", "blue", "pink")
    assert paints_of(drawn(uneven, swap, 1, groups=(0, 1, 2, 2, 3))) == ["pink", None, "red", "red", "blue"]
    assert paints_of(drawn(scene("red", "red"), swap, 1, groups=(0, 0))) == ["red", "red"]


def test_an_extra_thing_comes_at_the_rate_and_as_each_of_the_asked_alike():
    draws = [Draw(FaultRates(extra=0.3), "p", seed, 0) for seed in range(5000)]
    expect_share(sum(draw.happens("extra") for draw in draws), 5000, 0.3)
    whose = Counter(extra_of(4, "p", seed) for seed in range(5000))
    assert chisquare([whose[slot] for slot in range(4)]).pvalue > 1e-6


@cache
def related():
    things = [
        Thing("dog", None, "dachshund"),
        Thing("bus", None, KINDS["bus"].forms[0]),
        Thing("bird", None, "owl"),
    ]
    return foreseen(things, "related", 1, ties=(Tie(0, "left", 1),))


def test_relations_are_flipped_at_the_rate():
    whole = related()
    flipped = sum(
        drawn(whole, FaultRates(flip_relation=0.3), seed).placed[0].place == whole.scene.placed[1].place
        for seed in range(600)
    )
    expect_share(flipped, 600, 0.3)


def test_a_flip_exchanges_two_places_and_leaves_the_third():
    whole, before = related(), related().scene.placed
    flipped = drawn(whole, FaultRates(flip_relation=1.0), 1)
    assert [placed.place for placed in flipped.placed] == [before[slot].place for slot in (1, 0, 2)]
    assert [placed.thing for placed in flipped.placed] == [placed.thing for placed in before]
    assert flipped.placed[2] == before[2]
    assert drawn(replace(whole, ties=()), FaultRates(flip_relation=1.0), 1) == whole.scene


def test_wrong_objects_are_flipped_like_right_ones():
    whole = related()
    both = drawn(whole, FaultRates(flip_relation=1.0, wrong_object=1.0), 1).placed
    assert [placed.place for placed in both] == [whole.scene.placed[slot].place for slot in (1, 0, 2)]
    assert [placed.thing for placed in both] == [placed.thing for placed in whole.instead]


@pytest.mark.parametrize("fault", ["drop", "wrong_object", "wrong_color", "swap_colors", "extra"])
def test_faults_move_nothing(fault):
    things = [Thing("dog", "red", "dachshund"), Thing("car", "green", "suv"), Thing("bird", "pink", "owl")]
    whole = foreseen(things, 2)
    for seed in range(6):
        after = drawn(whole, FaultRates(**{fault: 0.5}), seed)
        assert after.stage == whole.scene.stage
        for placed in after.placed[:3]:
            before = whole.scene.placed[placed.slot] if placed.slot < 3 else whole.extra
            assert placed.place == before.place
            if leaf_of(placed.thing.kind, placed.form) == leaf_of(before.thing.kind, before.form):
                assert replace(placed, thing=before.thing) == before


@pytest.mark.parametrize(
    "values", [{"drop": math.nan}, {"extra": 1.5}, {"seed_sd": math.inf}, {"prompt_sd": math.nan}, {"seed_sd": -1}]
)
def test_numbers_outside_their_range_are_refused(values):
    with pytest.raises(ValueError, match=f"{next(iter(values))} must be between 0 and"):
        FaultRates(**values)


def errors(faults, seed):
    """All that goes wrong, as a set of decisions."""
    draw = Draw(faults, "p", seed, 0)
    return {(name, slot) for name in RATES for slot in range(4) if draw.happens(name, slot)}


def test_a_higher_rate_keeps_the_faults_of_a_lower_one():
    for seed in range(200):
        few, many = (errors(FaultRates(**dict.fromkeys(RATES, level)), seed) for level in (0.2, 0.6))
        assert few < many or few == many
    drawn_few, drawn_many = (drawn(scene(*PAINTS), FaultRates(wrong_color=level), 5) for level in (0.2, 0.6))
    for asked, few, many in zip(PAINTS, paints_of(drawn_few), paints_of(drawn_many), strict=True):
        assert few in (asked, many)


def test_one_fault_does_not_shift_the_others():
    for seed in range(200):
        together = errors(FaultRates(**dict.fromkeys(RATES, 0.5)), seed)
        alone = set().union(*(errors(FaultRates(**{name: 0.5}), seed) for name in RATES))
        assert together == alone
    for seed in range(100):
        repainted = drawn(scene("red", "green"), FaultRates(wrong_color=0.5), seed)
        with_drop = drawn(scene("red", "green"), FaultRates(drop=0.5, wrong_color=0.5), seed)
        paints = {p.slot: p.thing.paint for p in repainted.placed}
        assert all(paints[p.slot] == p.thing.paint for p in with_drop.placed)


def test_different_faults_happen_independently():
    draws = [Draw(FaultRates(drop=0.5, wrong_object=0.5), "p", seed, 0) for seed in range(2000)]
    expect_share(sum(draw.happens("drop", 1) and draw.happens("wrong_object", 1) for draw in draws), 2000, 0.25)


def test_effects_of_seeds_and_prompts_are_shared_and_of_the_stated_size():
    faults = FaultRates(drop=0.3, seed_sd=1.0)
    assert rate(0.3, faults, "a", 5, 0) == rate(0.3, faults, "b", 5, 0)
    assert rate(0.3, faults, "a", 5, 0) != rate(0.3, faults, "a", 6, 0)
    faults = FaultRates(drop=0.3, prompt_sd=1.0)
    assert rate(0.3, faults, "a", 5, 0) == rate(0.3, faults, "a", 6, 0)
    assert rate(0.3, faults, "a", 5, 0) != rate(0.3, faults, "b", 5, 0)
    rates = [rate(0.3, FaultRates(seed_sd=0.8), "a", seed, 0) for seed in range(4000)]
    logits = np.log(np.divide(rates, np.subtract(1, rates)))
    assert logits.mean() == pytest.approx(math.log(0.3 / 0.7), abs=5 * 0.8 / math.sqrt(4000))
    assert logits.std() == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("fault", RATES)
def test_effects_move_every_rate(fault):
    calm, moved = FaultRates(**{fault: 0.3}), FaultRates(**{fault: 0.3, "seed_sd": 5.0})
    happened = [[Draw(f, "p", seed, 0).happens(fault, 1) for seed in range(200)] for f in (calm, moved)]
    assert happened[0] != happened[1]


@pytest.mark.parametrize("base", [0.0, 1.0])
def test_rates_of_none_and_all_stay_exact(base):
    assert rate(base, FaultRates(seed_sd=9.0, prompt_sd=9.0), "p", 1, 0) == base


def test_another_salt_draws_faults_and_effects_anew():
    faults = FaultRates(drop=0.5, seed_sd=1.0)
    assert rate(0.5, faults, "p", 1, 0) != rate(0.5, faults, "p", 1, 1)
    kept = [
        [len(drawn(scene(None, None), faults, seed, salt=salt).placed) for seed in range(40)] for salt in (0, 1)
    ]
    assert kept[0] != kept[1]
