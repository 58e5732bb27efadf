"""What training pictures show, and that it is kept with them."""

from collections import Counter
from itertools import combinations

import pytest
import training_data
from t2i_miniworld.laws import leaf_of, worn
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import LEAVES, SYNSETS
from training_data import Shard, draw_shard, labels, read_shard, shards
from training_scenes import SAMPLERS, for_classifier, for_detector, for_generator, for_people, for_single


@pytest.fixture(scope="module")
def many():
    """Scenes enough for shares; here, not beside the imports, because each process of the tests collects all."""
    return [for_generator("test", index) for index in range(6000)]


def share(found, of, expected):
    """Assert that a share is what is expected, within five standard errors."""
    of = max(1, of)
    assert found / of == pytest.approx(expected, abs=5 * (expected * (1 - expected) / of) ** 0.5)


@pytest.mark.long
def test_numbers_of_things_are_as_stated(many):
    counts = Counter(len(wanted.things) for wanted in many)
    for count, expected in zip((1, 2, 3, 4), (0.45, 0.31, 0.13, 0.11), strict=True):
        share(counts[count], len(many), expected)


def test_every_leaf_is_drawn_and_half_are_painted(many):
    leaves = Counter(leaf_of(thing.kind, thing.form) for wanted in many for thing in wanted.things)
    assert leaves.keys() == LEAVES.keys()
    singles = [wanted.things[0] for wanted in many if len(wanted.things) == 1]
    share(sum(thing.paint is not None for thing in singles), len(singles), 0.5)
    assert {thing.paint for thing in singles} == {None, *PAINTS}
    share(sum(thing.kind == "human" for thing in singles), len(singles), 2 / 27)


def test_people_wear_a_hat_four_times_of_five_and_all_else_evenly(many):
    people = [thing for wanted in many for thing in wanted.things if thing.kind == "human"]
    share(sum(worn(thing.form)["hat"] == "yes" for thing in people), len(people), 0.8)
    share(sum(worn(thing.form)["hair"] == "long" for thing in people), len(people), 0.5)
    for paint in PAINTS:
        share(sum(thing.coat == paint for thing in people), len(people), 1 / len(PAINTS))


def test_single_things_have_neither_number_nor_relation():
    many = [for_single("test", index) for index in range(2600)]
    assert {(len(wanted.shown), wanted.ties) for wanted in many} == {(1, ())}
    kinds = Counter(wanted.things[0].kind for wanted in many)
    for kind in SYNSETS:
        share(kinds[kind], len(many), 1 / len(SYNSETS))
    share(sum(wanted.things[0].paint is not None for wanted in many), len(many), 0.5)


def test_half_of_two_are_told_how_to_stand(many):
    pairs = [wanted for wanted in many if len(wanted.things) == 2]
    share(sum(bool(wanted.ties) for wanted in pairs), len(pairs), 0.5)
    told = Counter(tie.predicate for wanted in pairs for tie in wanted.ties)
    for predicate in ("left", "right", "above", "below"):
        share(told[predicate], told.total(), 0.25)


def test_the_classifier_sees_every_leaf_alone_and_as_often():
    many = [for_classifier("test", index).things for index in range(4000)]
    assert {len(things) for things in many} == {1}
    leaves = Counter(leaf_of(thing.kind, thing.form) for (thing,) in many)
    assert leaves.keys() == LEAVES.keys()
    for found in leaves.values():
        share(found, len(many), 1 / len(LEAVES))
    share(sum(thing.paint is not None for (thing,) in many), len(many), 0.5)


def test_people_alone_or_with_one_thing_wear_all_as_often():
    many = [for_people("test", index).things for index in range(2000)]
    assert all(things[0].kind == "human" and len(things) <= 2 for things in many)
    share(sum(len(things) == 2 for things in many), len(many), 0.5)
    assert all(things[1].kind != "human" for things in many if len(things) == 2)
    looks = [worn(things[0].form) for things in many]
    share(sum(look["hat"] == "yes" for look in looks), len(many), 0.5)
    share(sum(look["hair"] == "long" for look in looks), len(many), 0.5)
    for coat in PAINTS:
        share(sum(things[0].coat == coat for things in many), len(many), 1 / len(PAINTS))


def test_the_detector_sees_up_to_five_of_one_kind_pairs_and_mixtures():
    many = [for_detector("test", index) for index in range(4000)]
    counts = Counter(len(wanted.shown) for wanted in many)
    for count, expected in zip((1, 2, 3, 4, 5), (0.3, 0.3, 0.15, 0.15, 0.1), strict=True):
        share(counts[count], len(many), expected)
    assert all((wanted.extra is not None) == (len(wanted.shown) == 5) for wanted in many)
    of_several = [wanted.shown for wanted in many if len(wanted.shown) > 1]
    share(sum(len({thing.kind for thing in shown}) == 1 for shown in of_several), len(of_several), 0.5)
    assert {thing.kind for wanted in many for thing in wanted.shown} == set(SYNSETS)
    assert {thing.paint for wanted in many for thing in wanted.shown} == {None, *PAINTS}
    share(sum(wanted.things[0].paint is not None for wanted in many), len(many), 0.5)
    share(sum(bool(wanted.ties) for wanted in many), counts[2], 0.5)


def test_five_things_are_drawn_apart(tmp_path, monkeypatch):
    """The first scenes of the detector's that hold five: each thing of them shows, in its own box."""
    monkeypatch.setattr(training_data, "PER_SHARD", 1)
    five = [index for index in range(60) if len(for_detector("train", index).shown) == 5][:2]
    for index in five:
        path = draw_shard(Shard("detector", "train", index, 64, tmp_path / f"train-{index:04d}.npz"))
        (truth,) = read_shard(path).truths
        assert len(truth.instances) == 5
        boxes = [one.box for one in truth.instances]
        assert all(a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for a, b in combinations(boxes, 2))


def test_scenes_depend_on_split_and_number_alone(many):
    assert for_generator("test", 7) == many[7]
    assert for_generator("other", 7) != many[7]


@pytest.mark.long
@pytest.mark.parametrize("purpose", list(SAMPLERS))
def test_a_shard_keeps_pictures_and_all_that_is_true_of_them(tmp_path, monkeypatch, purpose):
    monkeypatch.setattr(training_data, "PER_SHARD", 3)
    path = tmp_path / "train-0001.npz"
    draw_shard(Shard(purpose, "train", 1, 64, path))
    assert shards(tmp_path, "train") == [path]
    drawn = read_shard(path)
    assert drawn.images.shape == (3, 64, 64, 3)
    for number, truth in enumerate(drawn.truths):
        wanted = SAMPLERS[purpose]("train", 3 + number).shown
        shown = [(one.cls.name, one.cls.synset, one.colour) for one in truth.instances]
        assert shown == [(thing.kind, SYNSETS[thing.kind], thing.paint) for thing in wanted]
        found = labels(truth)
        for one in truth.instances:
            x0, y0, x1, y1 = one.box
            assert (found[one.mask.unpack()] == 1 + list(SYNSETS).index(one.cls.name)).all()
            assert one.mask.unpack()[y0:y1, x0:x1].sum() == one.mask.unpack().sum()
    before = path.stat().st_mtime_ns
    draw_shard(Shard(purpose, "train", 1, 64, path))
    assert path.stat().st_mtime_ns == before
