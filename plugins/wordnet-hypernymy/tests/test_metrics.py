"""The metrics on observations made by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pandas as pd
import pytest
from t2i_core.api import ClassScores, Excluded, ObjectClass, Prompt, Rows, Scene, SceneObject, Setup, Unit
from t2i_core.api.errors import BadPrompts
from t2i_core.statistics import mean_interval
from t2i_wordnet_hypernymy import scores
from t2i_wordnet_hypernymy.metrics import NEED, Isp, Scs, SynsetIs
from t2i_wordnet_hypernymy.options import IspOptions, ScsOptions

LABELS = tuple(ObjectClass(s, s) for s in ("poodle.n.01", "corgi.n.01", "siamese_cat.n.01", "sedan.n.01"))


def prompt(synset: str) -> Prompt:
    name = synset.partition(".")[0]
    return Prompt(synset, f"a {name}", Scene((SceneObject(ObjectClass(name, synset)),)))


def made(metric_class, **options):
    return metric_class(Setup(None, (ScsOptions if metric_class is Scs else IspOptions)(**options)))


def measured(metric_class, synset, *logits, labels=LABELS, **options):
    metric = made(metric_class, **options)
    return list(metric.measure(unit(prompt(synset), *logits, labels=labels)))


def unit(asked, *logits, labels=LABELS):
    stacked = {NEED: ClassScores(np.array(logits, np.float32), labels)}
    return Unit(("m",), asked, None, (), {}, stacked, tuple(range(len(logits))))


def test_isp_is_the_probability_of_what_is_below():
    (rows,) = measured(Isp, "dog.n.01", [log(4), log(2), log(1), log(1)], [0, 0, 0, 0])
    assert (rows.measure, rows.facets) == ("isp", {"synset": "dog.n.01", "leaves": 2})
    assert rows.values == pytest.approx([6 / 8, 1 / 2])
    (root,) = measured(Isp, "entity.n.01", [1, 2, 3, 4])
    assert root.values == pytest.approx([1])
    (own,) = measured(Isp, "poodle.n.01", [0, 0, 0, 0])  # a class itself: at or below
    assert own.values == pytest.approx([0.25])


def test_a_wrong_image_says_which_class_it_was_taken_for():
    (rows,) = measured(Isp, "dog.n.01", [9, 0, 0, 0], [0, 0, 9, 0], [0, 9, 0, 0])
    assert rows.because == ("", "siamese_cat.n.01, not dog", "")


def test_scs_and_what_stands_beside_it():
    said = measured(Scs, "dog.n.01", [100, 0, 0, 0], [0, 100, 0, 0], [100, 0, 0, 0])
    images = next(r for r in said if isinstance(r, Rows))
    rows = {r.measure: r.value for r in said if r is not images}
    expected = -(2 / 3 * log(2 / 3) + 1 / 3 * log(1 / 3))
    assert rows["divergence"] == pytest.approx(expected)
    assert rows["marginal-entropy"] == pytest.approx(expected)
    assert rows["conditional-entropy"] == pytest.approx(0, abs=1e-12)
    assert rows["most"] == pytest.approx(log(2))
    assert rows["balanced"] == pytest.approx(expected)
    assert rows["uniform"] == pytest.approx(scores.uniform(2, 3))
    normaliser = made(Scs).leaves(LABELS).normaliser
    assert (images.measure, images.together) == ("scs", True)
    assert images.values * normaliser == pytest.approx([-log(2 / 3), -log(1 / 3), -log(2 / 3)])
    assert images.values.mean() == pytest.approx(expected / normaliser)
    assert images.because == ("",) * 3  # an even share of three images among two kinds is at most two


def test_an_image_of_scs_says_which_kind_more_images_show_than_an_even_share():
    said = measured(Scs, "dog.n.01", [9, 0, 0, 0], [0, 9, 0, 0], [9, 0, 0, 0], [9, 0, 0, 99])
    images = next(r for r in said if isinstance(r, Rows))
    often = "poodle.n.01, as 3 of 4 images"
    assert images.because == (often, "", often, often)


def table_of(*synsets):
    """Rows of the metric: for each synset the values of its images."""
    lines = [(f"s{s}", seed, value) for s, values in enumerate(synsets) for seed, value in enumerate(values)]
    return pd.DataFrame(lines, columns=["prompt", "seed", "value"])


@pytest.mark.parametrize("metric_class", [Isp, Scs])
def test_a_score_is_the_mean_over_synsets_of_the_mean_over_images(metric_class):
    table = table_of([0.2, 0.4], [0.5], [0.1, 0.2, 0.6])  # images that failed are not there
    metric = made(metric_class)
    (score,) = metric.aggregate(metric.prepare(table), np.ones(6)).values()
    assert score == pytest.approx((0.3 + 0.5 + 0.3) / 3)


@pytest.mark.long
def test_the_interval_of_scs_holds_what_a_seed_does_to_all_synsets():
    """Some seeds let every synset show its usual kind: over synsets alone the interval is far too short."""
    rng = np.random.default_rng(0)
    synsets, seeds, kinds, below = 40, 32, 6, np.arange(6)

    def drawn():
        leaning, own = rng.normal(0, 1, seeds), rng.normal(0, 0.5, (synsets, 1))
        usual = rng.random((synsets, seeds)) < 1 / (1 + np.exp(-(own + leaning)))
        shown = np.where(usual, 0, rng.integers(0, kinds, usual.shape))
        return np.array([scores.divergences(scores.shares(5.0 * np.eye(kinds)[line], below)) for line in shown])

    truth = np.mean([drawn().mean() for _ in range(300)])
    prompts, of_seeds = np.indices((synsets, seeds))
    held = {"both": 0, "synsets": 0}
    for _ in range(300):
        found = drawn()
        both = mean_interval(found.ravel(), prompts.ravel(), of_seeds.ravel(), low=0)
        alone = mean_interval(found.mean(axis=1), np.arange(synsets), None, low=0)
        held["both"] += both.lo <= truth <= both.hi
        held["synsets"] += alone.lo <= truth <= alone.hi
    assert held["both"] / 300 >= 0.9 - 2 * (0.09 / 300) ** 0.5
    assert held["synsets"] / 300 < 0.8


def test_scs_of_fewer_images_is_that_of_disjoint_blocks():
    logits = [[100, 0, 0, 0], [0, 100, 0, 0], [100, 0, 0, 0], [100, 0, 0, 0], [0, 100, 0, 0]]
    rows = [r for r in measured(Scs, "dog.n.01", *logits, images=[2, 5, 9]) if r.measure == "scs-of-images"]
    assert [(r.facets["images"], r.facets["block"]) for r in rows] == [(2, 0), (2, 1), (5, 0)]
    normaliser = made(Scs).leaves(LABELS).normaliser
    whole = -(3 / 5 * log(3 / 5) + 2 / 5 * log(2 / 5))
    assert [r.value * normaliser for r in rows] == pytest.approx([log(2), 0, whole], abs=1e-12)
    twice = [r for r in measured(Scs, "dog.n.01", *logits, images=[5, 2, 2]) if r.measure == "scs-of-images"]
    assert [(r.facets["images"], r.facets["block"]) for r in twice] == [(2, 0), (2, 1), (5, 0)]


def test_inception_score_of_a_synset_is_over_all_classes():
    (same,) = measured(SynsetIs, "dog.n.01", [100, 0, 0, 0], [100, 0, 0, 0])
    assert same.value == pytest.approx(1)
    (both,) = measured(SynsetIs, "dog.n.01", [100, 0, 0, 0], [0, 0, 0, 100])  # a sedan counts like any dog
    assert both.value == pytest.approx(2)
    assert same.because == "2 of 2 images: poodle.n.01"
    assert both.because == "1 of 2 images: poodle.n.01, 2 classes in all"
    assert [(each.label, each.seed) for each in both.evidence] == [("poodle.n.01", 0), ("sedan.n.01", 1)]


def test_a_synset_without_value_is_excluded_with_its_reason():
    (row,) = measured(Scs, "cat.n.01", [0, 0, 0, 0])
    assert isinstance(row, Excluded)
    assert "a single one" in row.reason
    for metric in (Isp, Scs):
        (row,) = measured(metric, "wine.n.01", [0, 0, 0, 0])
        assert isinstance(row, Excluded)
        assert "none of the judge's classes is a kind of wine" in row.reason
    mixed = (ObjectClass("e", "entity.n.01"), LABELS[0])
    (row,) = measured(Scs, "entity.n.01", [0, 0], labels=mixed)
    assert isinstance(row, Excluded)
    assert "normalise" in row.reason


def test_answers_of_another_judge_are_read_by_its_own_classes():
    metric = made(Isp)
    assert metric.leaves(LABELS) is metric.leaves(tuple(LABELS))
    assert metric.leaves(LABELS[2:]) is not metric.leaves(LABELS)


def test_each_synset_counts_once_however_many_images_it_has():
    table = pd.DataFrame({"measure": "isp", "prompt": list("aaab"), "value": [0.2, 0.4, 0.6, 1.0]})
    metric = made(Isp)
    assert metric.aggregate(metric.prepare(table), np.ones(4))["isp"] == pytest.approx(0.7)
    assert metric.aggregate(metric.prepare(table), np.array([1, 1, 1, 3.0]))["isp"] == pytest.approx((0.4 + 3) / 4)
    other = pd.DataFrame({"measure": "isp", "prompt": list("ab"), "value": [0.0, 1.0]})
    third = pd.DataFrame({"measure": "isp", "prompt": list("ab"), "value": [1.0, 1.0]})
    of_each = [metric.aggregate(metric.prepare(t), np.ones(2))["isp"] for t in (other, third, other)]
    assert of_each == [0.5, 1.0, 0.5]
    assert np.isnan(metric.aggregate(metric.prepare(other), np.zeros(2))["isp"])


@pytest.mark.parametrize("metric", [Isp, Scs])
def test_prompts_that_cannot_be_measured_are_refused(metric):
    own = made(metric)
    own.check([prompt("dog.n.01")])
    with pytest.raises(BadPrompts, match="'x' does not say which synset it asks for"):
        own.check([Prompt("x", "a dog")])
    with pytest.raises(BadPrompts, match=r"'dogg.n.01' is not in the taxonomy: did you mean"):
        own.check([prompt("dogg.n.01")])


def test_a_taxonomy_of_ones_own_takes_wordnets_place(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("poodle.n.01,pet\nsedan.n.01,pet\n")
    metric = made(Isp, taxonomy=path)
    asked = Prompt("pet", "a pet", Scene((SceneObject(ObjectClass("pet")),)))
    metric.check([asked])
    (rows,) = metric.measure(unit(asked, [0, 0, 0, 0]))
    assert isinstance(rows, Rows)
    assert rows.values == pytest.approx([0.5])
    assert rows.facets["synset"] == "pet"
    lost = r"'dog.n.01' is not in the taxonomy .*mine.csv; .*-o wordnet-imagenet.taxonomy=.*mine.csv"
    with pytest.raises(BadPrompts, match=lost):
        metric.check([prompt("dog.n.01")])
    with pytest.raises(
        BadPrompts, match=r"taxonomy .*mine.csv has none of the judge's 1 classes \(cat.n.01, ...\)"
    ):
        metric.leaves((ObjectClass("cat", "cat.n.01"),))


@pytest.mark.parametrize("metric", [Isp, Scs, SynsetIs])
def test_every_row_says_its_synset_whatever_the_prompt_is_called(metric):
    """The analyses look it up: ids of a user's own concepts are not synsets."""
    asked = replace(prompt("dog.n.01"), id="hound (dog.n.01)")
    said = {row.facets.get("synset") for row in made(metric).measure(unit(asked, [1, 0, 0, 0], [0, 1, 0, 0]))}
    assert said == {"dog.n.01"}
