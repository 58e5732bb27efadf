"""Fault rates are recovered by counting decisions; no picture is drawn."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare
from t2i_miniworld.faults import Faults, apply, rate
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Placed, Scene, Stage, Thing

STAGE = Stage(12, 40, 45, 0.8, 0.5, 0, (180, 180, 180), (200, 200, 200))


def scene(*paints):
    place = {"form": "sedan", "variant": 0, "coat": 0, "stretch": (1, 1, 1), "yaw": 0, "scale": 1}
    return Scene(
        STAGE,
        tuple(
            Placed(slot, Thing("car", paint), position=(slot, 0, 0), **place) for slot, paint in enumerate(paints)
        ),
    )


def expect_share(hits, total, share):
    """The count lies where 999,999 of a million right programs have it."""
    assert binomtest(hits, total, share).pvalue > 1e-6, f"{hits} of {total}, want a share of {share}"


@pytest.mark.parametrize("drop", [0.1, 0.4])
def test_each_thing_after_the_first_is_dropped_at_the_rate_by_itself(drop):
    kept = [
        {placed.slot for placed in apply(scene(None, None, None), Faults(drop=drop), f"p{p}", seed, 0).placed}
        for p in range(50)
        for seed in range(100)
    ]
    assert all(0 in slots for slots in kept)
    expect_share(sum(1 not in slots for slots in kept), 5000, drop)
    expect_share(sum(2 not in slots for slots in kept), 5000, drop)
    expect_share(sum(slots == {0} for slots in kept), 5000, drop**2)


def test_wrong_colours_come_at_the_rate_and_spread_evenly():
    read = Counter(
        apply(scene("red", None), Faults(wrong_color=0.3), "p", seed, 0).placed[0].thing.paint
        for seed in range(5000)
    )
    expect_share(5000 - read["red"], 5000, 0.3)
    assert chisquare([read[paint] for paint in PAINTS if paint != "red"]).pvalue > 1e-6


def test_things_without_a_colour_stay_natural():
    drawn = apply(scene(None, "blue"), Faults(wrong_color=1.0), "p", 3, 0)
    assert drawn.placed[0].thing.paint is None
    assert drawn.placed[1].thing.paint not in (None, "blue")


def test_faults_move_nothing():
    whole = scene("red", "green", None, "pink")
    for seed in range(50):
        drawn = apply(whole, Faults(drop=0.5, wrong_color=0.5), "p", seed, 0)
        assert drawn.stage == whole.stage
        for placed in drawn.placed:
            before = whole.placed[placed.slot]
            assert (placed.position, placed.yaw, placed.scale) == (before.position, before.yaw, before.scale)


def test_a_higher_rate_keeps_the_drops_of_a_lower_one():
    for seed in range(200):
        few = {p.slot for p in apply(scene(*[None] * 4), Faults(drop=0.6), "p", seed, 0).placed}
        many = {p.slot for p in apply(scene(*[None] * 4), Faults(drop=0.2), "p", seed, 0).placed}
        assert few <= many


def test_one_fault_does_not_shift_the_other():
    for seed in range(200):
        alone = apply(scene("red", "green"), Faults(wrong_color=0.5), "p", seed, 0)
        with_drop = apply(scene("red", "green"), Faults(drop=0.5, wrong_color=0.5), "p", seed, 0)
        paints = {p.slot: p.thing.paint for p in alone.placed}
        assert all(paints[p.slot] == p.thing.paint for p in with_drop.placed)


def test_effects_of_seeds_and_prompts_are_shared_and_of_the_stated_size():
    faults = Faults(drop=0.3, seed_sd=1.0)
    assert rate(0.3, faults, "a", 5, 0) == rate(0.3, faults, "b", 5, 0)
    assert rate(0.3, faults, "a", 5, 0) != rate(0.3, faults, "a", 6, 0)
    faults = Faults(drop=0.3, prompt_sd=1.0)
    assert rate(0.3, faults, "a", 5, 0) == rate(0.3, faults, "a", 6, 0)
    assert rate(0.3, faults, "a", 5, 0) != rate(0.3, faults, "b", 5, 0)
    rates = [rate(0.3, Faults(seed_sd=0.8), "a", seed, 0) for seed in range(4000)]
    logits = np.log(np.divide(rates, np.subtract(1, rates)))
    assert logits.mean() == pytest.approx(math.log(0.3 / 0.7), abs=5 * 0.8 / math.sqrt(4000))
    assert logits.std() == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("base", [0.0, 1.0])
def test_rates_of_none_and_all_stay_exact(base):
    assert rate(base, Faults(seed_sd=9.0, prompt_sd=9.0), "p", 1, 0) == base


def test_another_salt_draws_faults_and_effects_anew():
    faults = Faults(drop=0.5, seed_sd=1.0)
    assert rate(0.5, faults, "p", 1, 0) != rate(0.5, faults, "p", 1, 1)
    kept = [
        [len(apply(scene(None, None), faults, "p", seed, salt).placed) for seed in range(40)] for salt in (0, 1)
    ]
    assert kept[0] != kept[1]
