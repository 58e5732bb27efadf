"""What a prompt leaves open is drawn by the laws; no picture is drawn."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chisquare
from t2i_core.api import ObjectClass
from t2i_miniworld.laws import (
    ATTRIBUTES,
    Laws,
    Skew,
    attribute_probabilities,
    choose,
    dress,
    leaf_probabilities,
    parse_skews,
    worn,
)
from t2i_miniworld.options import SimulatorOptions

DOG, ANIMAL = ObjectClass("dog", "dog.n.01"), ObjectClass("animal", "animal.n.01")


def test_uniform_gives_all_leaves_alike():
    shares = leaf_probabilities(Laws("uniform"), ANIMAL)
    assert len(shares) == 10
    assert set(shares.values()) == {0.1}


def test_fixed_gives_one_leaf_that_class_and_salt_choose():
    chosen = {}
    for salt in range(40):
        shares = leaf_probabilities(Laws("fixed", salt=salt), DOG)
        assert sorted(shares.values()) == [0, 0, 1]
        chosen[salt] = max(shares, key=shares.get)
    assert len(set(chosen.values())) == 3


def test_skewed_is_zipfs_law_in_an_order_that_class_and_salt_choose():
    orders = set()
    for salt in range(40):
        shares = leaf_probabilities(Laws("skewed", salt=salt), DOG)
        assert sorted(shares.values(), reverse=True) == pytest.approx(np.array([1, 1 / 2, 1 / 3]) / (11 / 6))
        orders.add(tuple(sorted(shares, key=shares.get)))
    assert len(orders) == 6


@pytest.mark.parametrize("law", ["fixed", "skewed"])
def test_a_class_is_the_same_by_its_name_alone(law):
    for salt in range(20):
        laws = Laws(law, salt=salt)
        assert leaf_probabilities(laws, ObjectClass("dog")) == leaf_probabilities(laws, DOG)


@pytest.mark.parametrize("law", ["uniform", "skewed"])
def test_choices_follow_the_law(law):
    shares = leaf_probabilities(Laws(law), ANIMAL)
    counts = Counter(choose(shares, "leaf", number) for number in range(4000))
    assert chisquare([counts[leaf] for leaf in shares], np.multiply(list(shares.values()), 4000)).pvalue > 1e-6


def test_a_uniform_sampler_has_the_diversity_that_validation_expects():
    """SCS of an ideal judge: n sum_k Bin(k; N, 1/n) (-(k/N) ln(k/N))."""
    shares, images, leaves = leaf_probabilities(Laws("uniform"), ANIMAL), 8, 10
    scores = []
    for prompt in range(400):
        seen = Counter(choose(shares, "leaf", prompt, seed) for seed in range(images))
        p = np.array(list(seen.values())) / images
        scores.append(float(-(p * np.log(p)).sum()))
    k = np.arange(1, images + 1)
    expected = leaves * (binom.pmf(k, images, 1 / leaves) * -(k / images) * np.log(k / images)).sum()
    assert np.mean(scores) == pytest.approx(expected, abs=5 * np.std(scores) / np.sqrt(len(scores)))


def test_open_attributes_are_even_unless_skewed():
    assert attribute_probabilities(Laws(), "hair") == {"short": 0.5, "long": 0.5}
    coats = attribute_probabilities(Laws(skews=(Skew("coat", "red", 0.3),)), "coat")
    assert coats["red"] == 0.3
    assert sum(coats.values()) == pytest.approx(1)
    assert coats["blue"] == pytest.approx(0.1)


@pytest.mark.parametrize("rate", [0.5, 0.6, 0.8, 1.0])
def test_people_wear_what_the_skew_says(rate):
    laws = Laws(skews=parse_skews(f"hat:yes:{rate}"))
    forms = [dress("person.n.01", {}, laws, number)[0] for number in range(2000)]
    assert binomtest(sum(worn(form)["hat"] == "yes" for form in forms), 2000, rate).pvalue > 1e-6
    assert binomtest(sum(worn(form)["hair"] == "long" for form in forms), 2000, 0.5).pvalue > 1e-6


def test_an_attribute_that_is_asked_for_is_worn_and_shifts_no_other():
    for number in range(50):
        form, coat = dress("person.n.01", {}, Laws(), number)
        asked_form, asked_coat = dress("person.n.01", {"coat": "pink"}, Laws(), number)
        assert (asked_form, asked_coat) == (form, "pink")
        bare, same_coat = dress("person.n.01", {"hat": "no"}, Laws(skews=parse_skews("hat:yes:1")), number)
        assert worn(bare) == {"hat": "no", "hair": worn(form)["hair"]}
        assert same_coat == coat


def test_only_people_have_coats():
    assert dress("owl.n.01", {}, Laws(), 1) == ("owl", None)


def test_skews_are_read():
    assert parse_skews("") == ()
    assert parse_skews("hat:yes:0.8, coat:red:1") == (Skew("hat", "yes", 0.8), Skew("coat", "red", 1))
    assert SimulatorOptions(skew="hair:long:0.5").skew == "hair:long:0.5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hat", "'hat' must be ATTRIBUTE:VALUE:RATE"),
        ("shoe:red:0.5", f"unknown attribute 'shoe'; the attributes are {', '.join(ATTRIBUTES)}"),
        ("hat:maybe:0.5", "hat must be one of yes, no .got 'maybe'"),
        ("hat:yes:often", "between 0 and 1 .got 'often'"),
        ("hat:yes:1.5", "between 0 and 1"),
        ("hat:yes:nan", "between 0 and 1"),
        ("hat:yes:0.5,hat:no:0.5", "attribute 'hat' is given twice"),
    ],
)
def test_a_bad_skew_is_refused_before_anything_runs(text, message):
    with pytest.raises(ValueError, match=message):
        SimulatorOptions(skew=text)
