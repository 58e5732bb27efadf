"""Decision rules: cases worked by hand, and invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from t2i_paintskills import decisions
from t2i_paintskills.skills import RELATIONS

CLASSES = 4
DOG, BED, BUS = 0, 1, 2


def probs(*rows: dict[int, float]) -> np.ndarray:
    made = np.zeros((len(rows), CLASSES), np.float32)
    for number, row in enumerate(rows):
        for column, p in row.items():
            made[number, column] = p
    return made


def test_the_most_confident_detection_is_the_object_or_not():
    assert decisions.is_object(probs({DOG: 0.81}), DOG, 0.8)
    assert not decisions.is_object(probs({DOG: 0.8}), DOG, 0.8)  # above, not at
    assert decisions.is_object(probs({DOG: 0.1}), DOG, 0)
    assert not decisions.is_object(probs({DOG: 0.9}, {BED: 0.91}), DOG, 0)
    assert not decisions.is_object(probs(), DOG, 0)
    assert not decisions.is_object(probs({}), DOG, 0)  # nothing but background


def test_the_colour_is_that_of_the_same_detection():
    found, red, blue = probs({DOG: 0.9}, {DOG: 0.8}), 0, 1
    colours = np.array([[0.4, 0.6], [1, 0]], np.float32)
    assert not decisions.has_colour(colours, found, red)
    assert decisions.has_colour(colours, found, blue)
    assert not decisions.has_colour(np.zeros((2, 2), np.float32), found, red)
    assert not decisions.has_colour(colours[:0], found[:0], red)


@pytest.mark.parametrize(
    ("rows", "wanted", "reference", "unclamped", "paper"),
    [
        ([{DOG: 0.9}, {DOG: 0.8}], 2, True, True, True),
        ([{DOG: 0.9}, {DOG: 0.8}], 1, False, False, True),  # the paper's rule is blind to one too many
        ([{DOG: 0.9}, {DOG: 0.8}], 3, False, False, False),
        ([{DOG: 0.9}, {DOG: 0.6}], 2, False, False, True),  # the second is not confident
        ([{DOG: 0.9}, {DOG: 0.7}], 1, True, True, True),  # confident is above, not at
        ([{DOG: 0.9}, {BED: 0.8}], 1, True, True, True),
        ([{BED: 0.9}, {DOG: 0.8}], 1, True, True, False),
        ([{BED: 0.9}, {DOG: 0.5}], 1, True, True, False),  # one is confident, and the likest is a dog
        ([{BED: 0.9}, {DOG: 0.5}, {DOG: 0.4}], 1, True, True, False),
        ([{BED: 0.9}, {BUS: 0.9}, {DOG: 0.5}, {DOG: 0.4}], 2, True, True, False),
        ([{DOG: 0.5}], 1, True, False, True),  # none is confident: the reference takes one
        ([{BED: 0.5, DOG: 0.4}], 1, False, False, False),
        ([], 1, False, False, False),
    ],
)
def test_how_many(rows, wanted, reference, unclamped, paper):
    found = probs(*rows)
    assert decisions.is_count(found, DOG, wanted) is reference
    assert decisions.is_count(found, DOG, wanted, clamp=False) is unclamped
    assert decisions.is_count(found, DOG, wanted, rule="paper") is paper


@pytest.mark.parametrize(
    ("b", "relations"),
    [
        ((0, 5), {"left"}), ((10, 5), {"right"}), ((5, 0), {"above"}), ((5, 10), {"below"}),
        ((8, 7), {"right"}), ((7, 8), {"below"}),
        ((8, 8), {"below"}), ((2, 2), {"above"}), ((8, 2), {"above"}), ((2, 8), {"below"}),  # ties are vertical
    ],
)  # fmt: skip
def test_where(b, relations):
    found, centres = probs({DOG: 0.9}, {BED: 0.8}), np.array([(5, 5), b], float)
    for swap in (slice(None), slice(None, None, -1)):
        said = {r for r in RELATIONS if decisions.is_relation(found[swap], centres[swap], DOG, BED, r)}
        assert said == relations


def test_at_the_same_place_the_less_confident_is_below():
    centres = np.full((2, 2), 5.0)
    for a, b, relation in ((DOG, BED, "below"), (BED, DOG, "above")):
        found = probs({DOG: 0.9}, {BED: 0.8})
        said = {r for r in RELATIONS if decisions.is_relation(found, centres, a, b, r)}
        assert said == {relation}


def test_of_one_class_the_axis_is_enough():
    found, centres = probs({DOG: 0.9}, {DOG: 0.8}), np.array([(1, 5), (9, 6)], float)
    assert {r for r in RELATIONS if decisions.is_relation(found, centres, DOG, DOG, r)} == {"left", "right"}
    assert {r for r in RELATIONS if decisions.is_relation(found, centres[:, ::-1], DOG, DOG, r)} == {
        "above",
        "below",
    }


def test_a_third_object_that_is_more_confident_makes_it_wrong():
    centres = np.array([(1, 5), (9, 5), (5, 5)], float)
    assert decisions.is_relation(probs({DOG: 0.9}, {BED: 0.8}, {BUS: 0.7}), centres, DOG, BED, "right")
    assert not decisions.is_relation(probs({DOG: 0.9}, {BED: 0.8}, {BUS: 0.85}), centres, DOG, BED, "right")
    assert not decisions.is_relation(probs({DOG: 0.9}), centres[:1], DOG, BED, "right")
    assert not decisions.is_relation(probs({DOG: 0.9}, {DOG: 0.8}), centres[:2], DOG, BED, "right")


def test_choices_without_a_probability_get_no_weight():
    """The reference's argmax makes a human of it, the first of its classes."""
    found, centres = probs({BED: 0.9}, {}), np.array([(1, 5), (9, 5)], float)
    for a, b in ((DOG, BED), (BED, DOG)):
        assert not decisions.are_both(found, a, b)
        assert not any(decisions.is_relation(found, centres, a, b, r) for r in RELATIONS)
    assert not decisions.are_both(probs({}, {}), DOG, DOG)
    assert not decisions.is_count(probs({}, {}), DOG, 2, rule="paper")


#: different numbers all over, so that no order depends on which detection is named first
distinct = arrays.arrays(
    np.float32, st.tuples(st.integers(0, 6), st.just(CLASSES)),
    elements=st.integers(1, 2000).map(lambda n: np.float32(n / 2048)), unique=True,
)  # fmt: skip
places = st.integers(0, 20)


def centres_of(draw, found):
    flat = draw(st.lists(st.tuples(places, places), min_size=len(found), max_size=len(found)))
    return np.array(flat, np.float64).reshape(-1, 2)


def all_said(found, centres, threshold=0.7):
    colours = np.roll(found, 1, axis=1)
    relations = [
        (a, b, r) for a in range(2) for b in range(2) for r in RELATIONS
        if decisions.is_relation(found, centres, a, b, r)
    ]  # fmt: skip
    return {
        "object": [decisions.is_object(found, c, 0) for c in range(CLASSES)],
        "colour": [decisions.has_colour(colours, found, c) for c in range(CLASSES)],
        "count": [
            decisions.is_count(found, DOG, wanted, rule, threshold)
            for wanted in range(1, 5)
            for rule in ("reference", "paper")
        ],
        "relations": relations,
    }


@given(st.data(), distinct)
def test_the_order_of_detections_is_nothing(data, found):
    centres = centres_of(data.draw, found)
    order = data.draw(st.permutations(range(len(found))))
    assert all_said(found[order], centres[order]) == all_said(found, centres)


@given(st.data(), distinct, st.sampled_from([0.5, 0.25, 0.125]))
def test_the_scale_of_scores_is_nothing_where_thresholds_follow(data, found, scale):
    centres = centres_of(data.draw, found)
    assert all_said(found * np.float32(scale), centres, 0.75 * scale) == all_said(found, centres, 0.75)


@given(st.data(), distinct, st.floats(0.1, 100), st.floats(-50, 50))
def test_the_size_and_place_of_the_image_are_nothing(data, found, scale, shift):
    centres = centres_of(data.draw, found)
    assert all_said(found, np.round(centres * 8) * 2.0 ** round(np.log2(scale)) + round(shift)) == all_said(
        found, centres
    )


@given(st.data(), distinct)
def test_a_mirrored_image_has_left_and_right_exchanged_and_nothing_else(data, found):
    centres = centres_of(data.draw, found)
    mirrored = centres * [-1, 1] + [20, 0]
    before, after = all_said(found, centres), all_said(found, mirrored)
    flip = {"left": "right", "right": "left"}
    expected = {(a, b, flip.get(r, r)) for a, b, r in before.pop("relations")}
    assert set(after.pop("relations")) == expected
    assert after == before


@given(st.data(), distinct)
def test_an_image_upside_down_has_above_and_below_exchanged(data, found):
    centres = centres_of(data.draw, found)
    if len(found) > 1:
        first, second = decisions.most_confident(found, 2)
        if (centres[first] == centres[second]).all():
            return  # which is above is settled by confidence then
    flip = {"above": "below", "below": "above"}
    after = all_said(found, centres * [1, -1])["relations"]
    assert set(after) == {(a, b, flip.get(r, r)) for a, b, r in all_said(found, centres)["relations"]}


@given(st.data(), distinct)
def test_of_two_things_one_relation_holds_and_its_opposite_the_other_way_round(data, found):
    centres = centres_of(data.draw, found)
    for a, b in ((0, 1), (1, 0)):
        said = [r for r in RELATIONS if decisions.is_relation(found, centres, a, b, r)]
        assert len(said) == int(decisions.are_both(found, a, b))
    there = {r for r in RELATIONS if decisions.is_relation(found, centres, 0, 1, r)}
    back = {r for r in RELATIONS if decisions.is_relation(found, centres, 1, 0, r)}
    assert back == {decisions.OPPOSITE[r] for r in there}


@given(distinct, st.floats(0, 1), st.floats(0, 1))
def test_a_higher_confidence_makes_nothing_right(found, low, high):
    low, high = sorted((low, high))
    for target in range(CLASSES):
        assert decisions.is_object(found, target, low) >= decisions.is_object(found, target, high)


@given(distinct, st.floats(0, 0.9))
def test_one_number_at_most_is_right(found, threshold):
    right = [n for n in range(1, 9) if decisions.is_count(found, DOG, n, threshold=threshold)]
    assert len(right) <= 1
    paper = [n for n in range(1, 9) if decisions.is_count(found, DOG, n, rule="paper")]
    assert paper == list(range(1, len(paper) + 1))
