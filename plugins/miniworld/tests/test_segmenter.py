from itertools import islice

import numpy as np
import pytest
import torch
from augment import augment, shift_hue
from evaluate_segmenter import FoundInstance, draw_trial, look, measure, trials
from t2i_miniworld import plugin, segmenter
from t2i_miniworld.regions import FLOOR, SMALLEST, regions
from t2i_miniworld.vocabulary import LABELS, SYNSETS

SIDE = 60


def probability_map(**squares):
    """Background but for squares, each a class (1 or 2), slices of rows and columns, and a probability."""
    field = np.full((3, SIDE, SIDE), 0.05, np.float32)
    field[0] = 0.9
    for kind, rows, columns, probability in squares.values():
        field[:, rows, columns] = (1 - probability) / 2
        field[kind, rows, columns] = probability
    return field


def test_regions_are_split_scored_and_sorted():
    found = regions(
        probability_map(a=(1, slice(0, 10), slice(0, 10), 0.6), b=(1, slice(30, 50), slice(20, 45), 0.9))
    )
    assert [(r.kind, r.box) for r in found] == [(0, (20, 30, 45, 50)), (0, (0, 0, 10, 10))]
    assert [r.score for r in found] == pytest.approx([0.9, 0.6], abs=1e-5)
    assert found[1].probs == pytest.approx([0.75, 0.25], abs=1e-5)
    assert found[1].mask.sum() == 100


def test_touching_classes_stay_apart():
    found = regions(
        probability_map(a=(1, slice(0, 20), slice(0, 20), 0.8), b=(2, slice(0, 20), slice(20, 40), 0.8))
    )
    assert sorted((r.kind, r.box) for r in found) == [(0, (0, 0, 20, 20)), (1, (20, 0, 40, 20))]


def test_specks_are_not_objects():
    side = int(np.sqrt(SMALLEST) * SIDE) - 1
    assert regions(probability_map(a=(1, slice(0, side), slice(0, side), 0.9))) == []


@pytest.fixture(scope="module")
def heldout():
    """Pictures that were in no training set: one thing, two, one of the same two, and several of one kind."""
    todo = list(trials(1, 1, 1))
    sets = {name: [trial for trial in todo if trial.set == name] for name in ("one", "two", "missing", "count")}
    # Steps that share no factor with the 26 kinds, so that many of them have their turn.
    chosen = sets["one"][::2] + sets["two"][::53] + sets["missing"][::53] + sets["count"][1::9]
    return [draw_trial(trial) for trial in chosen]


@pytest.fixture(scope="module")
def network():
    return segmenter.load()


def test_the_labels_are_those_of_the_vocabulary(network):
    assert segmenter.classes(network) == tuple(SYNSETS)
    (judge,) = (info for info in plugin.t2i_judges() if info.name == "mini-segmenter")
    assert judge.labels(None, None) == LABELS


@pytest.mark.long
def test_the_batch_changes_nothing(network):
    images = [draw_trial(trial).image for trial in islice(trials(1, 1, 1), 5)]
    together = list(segmenter.probabilities(network, images, batch_size=5))
    alone = list(segmenter.probabilities(network, images, batch_size=1))
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_maps_have_the_resolution_of_the_image(network):
    (one,) = segmenter.probabilities(network, [np.zeros((200, 96, 3), np.uint8)])
    assert one.shape == (1 + len(SYNSETS), 200, 96)
    np.testing.assert_allclose(one.sum(axis=0), 1, atol=1e-5)


@pytest.mark.slow
def test_it_finds_what_is_drawn_and_no_more(network, heldout):
    figures = measure(heldout, list(look(network, [shown.image for shown in heldout])))
    # The model card has the exact figures; here, that the weights in the package are the ones that earned them.
    assert figures["S one"]["high"] >= 0.97
    assert figures["S two"]["high"] >= 0.93
    assert figures["count exact"]["high"] >= 0.85
    assert figures["F"]["value"] <= 0.25


@pytest.mark.slow
def test_a_class_that_is_not_seen_is_missed_and_one_too_many_is_counted(heldout):
    """The figures, on findings made up from the truth."""
    truth = [
        [
            FoundInstance(thing.kind, shown.owner == n)
            for n, thing in enumerate(shown.trial.asked[: shown.trial.drawn])
        ]
        for shown in heldout
    ]
    exact = measure(heldout, truth)
    assert [exact[name]["value"] for name in ("S one", "S two", "F", "count exact")] == [1, 1, 0, 1]
    blind = measure(heldout, [[] for _ in heldout])
    assert [blind[name]["value"] for name in ("S one", "S two", "F", "count exact")] == [0, 0, 0, 0]
    twice = measure(heldout, [seen + seen[:1] for seen in truth])
    assert twice["count exact"]["value"] == 0
    greedy = measure(
        heldout, [[FoundInstance(kind, np.ones((128, 128), bool)) for kind in SYNSETS] for _ in heldout]
    )
    assert greedy["F"]["value"] == 1


def test_training_pictures_keep_their_size_range_and_labels():
    random = torch.Generator().manual_seed(0)
    images = torch.zeros(16, 3, 64, 64)
    images[:, 0, 20:44, 20:44] = 1
    labels = (images[:, 0] > 0).long() * 3
    changed, named = augment(images, labels, random)
    assert changed.shape == images.shape
    assert (changed.min() >= 0) & (changed.max() <= 1)
    assert set(named.unique().tolist()) == {0, 3}
    # Whatever else was done to it, the square is still the brightest in red.
    assert (changed[:, 0][named == 3].mean() - changed[:, 0][named == 0].mean()) > 0.3


def test_a_full_turn_of_hue_changes_nothing_and_grey_has_none():
    images = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(shift_hue(images, torch.tensor([1.0, -1.0])), images, atol=1e-3)
    grey = images[:, :1].expand(-1, 3, -1, -1)
    np.testing.assert_allclose(shift_hue(grey, torch.tensor([0.3, 0.6])), grey, atol=1e-3)
    assert (shift_hue(images, torch.tensor([0.3, 0.3])) - images).abs().max() > 0.1


def test_the_descriptor_says_below_what_regions_are_dropped():
    assert next(info for info in plugin.t2i_judges() if info.name == "mini-segmenter").floor == FLOOR
