"""The mini-detector: its network, and the scripts that train and measure it."""

import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import calibrate_detector
import classifier
import detector
import evaluate_detector
import numpy as np
import pytest
import torch
import train_detector
import training_data
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.special import expit, logit
from t2i_core.api import Instance, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld import oracle
from t2i_miniworld.laws import leaves_of
from t2i_miniworld.vocabulary import SYNSETS
from t2i_registry import Registry
from t2i_torch_support.training import Course
from training_data import DrawnScenes, write_shard

PLUGIN = Path(__file__).parents[1]
WEIGHTS = PLUGIN / "t2i_miniworld" / "weights" / "mini-detector"


def thing(kind, paint, x, y, side=30):
    mask = np.zeros((128, 128), bool)
    mask[y : y + side, x : x + side] = True
    packed = PackedMask.pack(mask)
    cls = next(one for one in detector.CLASSES if one.name == kind)
    return Instance(cls, paint, packed.box, packed, {"synset": leaves_of(kind)[0]})


TRUTHS = (
    Truth((128, 128), (thing("dog", "red", 10, 20),)),
    Truth((128, 128), (thing("zebra", None, 60, 20, 50),)),
    Truth((128, 128), tuple(thing("car", "blue", x, 40) for x in (2, 48, 94))),
    Truth((128, 128), (thing("bed", None, 4, 50), thing("bird", "green", 80, 56))),
)


@pytest.fixture
def scenes(tmp_path, monkeypatch):
    """Shards of four pictures: noise, in which squares stand that are lighter."""
    monkeypatch.setattr(training_data, "PER_SHARD", 4)
    rng = np.random.default_rng(0)
    images = rng.integers(0, 100, (4, 128, 128, 3)).astype(np.uint8)
    for image, truth in zip(images, TRUTHS, strict=True):
        for one in truth.instances:
            image[one.mask.unpack()] += 100
    for split in ("train", "heldout"):
        write_shard(tmp_path / f"{split}-0000.npz", DrawnScenes(images, TRUTHS))
    return tmp_path


def test_its_trunk_is_the_classifiers_and_it_is_small():
    network = detector.build()
    trunk = network.model.backbone.model._backbone.state_dict()
    trained = classifier.load().state_dict()
    assert all(torch.equal(trunk[key], trained[key]) for key in trunk)
    assert sum(one.numel() for one in network.parameters()) <= 3_000_000
    # and so do its features: the library drops the activations where it freezes the layers that they are in
    pixels = torch.rand(1, 3, 128, 128)
    with torch.no_grad():
        features = network.eval().model.backbone.model(pixels).feature_maps
        torch.testing.assert_close(features[-1], classifier.load().forward_features(pixels))


def test_training_sees_what_the_judge_sees():
    pixels = np.random.default_rng(0).integers(0, 256, (128, 128, 3)).astype(np.uint8)
    judged = detector.processor()(images=Image.fromarray(pixels), return_tensors="pt")["pixel_values"]
    trained = detector.seen(torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255)
    torch.testing.assert_close(trained, judged, atol=1e-5, rtol=0)


def test_a_thing_without_paint_is_natural_and_boxes_are_mirrored():
    found = train_detector.labels_of(TRUTHS[3], mirrored=False)
    assert [detector.COLOURS[n] for n in found["colours"]] == ["natural", "green"]
    assert [list(SYNSETS)[n] for n in found["class_labels"]] == ["bed", "bird"]
    torch.testing.assert_close(found["boxes"][0] * 128, torch.tensor([19.0, 65, 30, 30]))
    mirrored = train_detector.labels_of(TRUTHS[3], mirrored=True)
    torch.testing.assert_close(mirrored["boxes"][0] * 128, torch.tensor([109.0, 65, 30, 30]))


@pytest.mark.long
def test_it_is_trained_packed_and_measured(scenes, tmp_path):
    course = Course(steps=2, batch=2, rate=1e-3, warm=1, snapshots=(1,))
    train_detector.run([scenes], tmp_path / "out", course, 4)
    model = tmp_path / "out" / "model"
    assert sum(file.stat().st_size for file in model.iterdir()) < 6_000_000
    train_detector.pack(tmp_path / "out", tmp_path / "early", snapshot=1)
    early, last = ((one / "model.safetensors").read_bytes() for one in (tmp_path / "early", model))
    assert early != last
    figures = evaluate_detector.measure(model, list(training_data.load(scenes, "heldout")))
    assert {name: one["n"] for name, one in figures.items() if name.startswith("recall")} == {
        f"recall at {confidence}": 7 for confidence in (0.5, 0.7, 0.8)
    }
    assert figures["object"]["n"] == 2
    assert figures["count"]["n"] == 3


def decided(change=lambda found: found):
    """How many of the decisions are right of what the ideal judge says, or of that after a change."""
    right = defaultdict(Counter)
    for truth in TRUTHS:
        found = change(oracle.segment(truth).without_masks())
        evaluate_detector.recall_and_precision(found, truth, right)
        if all(one.colour for one in truth.instances) or len(truth.instances) > 1:  # it knows no "natural"
            evaluate_detector.decide(found, truth, right)
    return right


def test_the_truth_is_measured_as_right():
    right = decided()
    assert {name for name, count in right.items() if count[False]} == set()
    assert right["relation"].total() == right["object"].total() == right["colour"].total() == 1
    assert right["count 3"].total() == 1
    assert right["recall at 0.8"].total() == right["precision at 0.8"].total() == 7


def test_objects_found_elsewhere_count_as_wrong():
    def moved(found):
        found.boxes[0, [0, 2]] += 100  # of the two, the one on the left goes to the right of the other
        return found

    right = decided(moved)
    assert right["relation"] == Counter([False])
    assert right["recall at 0.5"] == right["precision at 0.5"] == Counter({True: 3, False: 4})


def test_each_thing_is_found_once_by_the_most_confident():
    found = oracle.segment(TRUTHS[0]).without_masks()
    twice = replace(
        found,
        boxes=np.concatenate([found.boxes, found.boxes + 1]),
        scores=np.array([0.6, 0.9], np.float32),
        classes=np.repeat(found.classes, 2),
        class_probs=np.repeat(found.class_probs, 2, axis=0),
        colours=np.repeat(found.colours, 2, axis=0),
    )
    assert evaluate_detector.are_right(twice, TRUTHS[0]).tolist() == [False, True]


@given(slope=st.floats(0.3, 3), shift=st.floats(-2, 2))
@settings(max_examples=20, deadline=None)
def test_the_line_that_made_scores_too_small_is_found_again(slope, shift):
    rng = np.random.default_rng(0)
    probability = rng.uniform(0.05, 0.95, 20_000)
    scores = expit((logit(probability) - shift) / slope)
    found = calibrate_detector.fitted(scores, rng.random(len(scores)) < probability)
    assert found == pytest.approx((slope, shift), rel=0.1, abs=0.1)


@pytest.mark.long
def test_confidence_is_moved_and_nothing_else(scenes, tmp_path, monkeypatch, capsys):
    course = Course(steps=1, batch=2, rate=1e-3, warm=1)
    train_detector.run([scenes], tmp_path / "out", course, 4)
    (scenes / "heldout-0000.npz").rename(scenes / "calibration-0000.npz")
    monkeypatch.setattr(calibrate_detector, "fitted", lambda scores, right: (2.0, 0.5))
    monkeypatch.setattr(sys, "argv", ["", str(scenes), str(tmp_path / "out"), str(tmp_path / "model")])
    calibrate_detector.main()
    assert "logit' = 2.0000 logit + 0.5000" in capsys.readouterr().out
    pictures = list(training_data.load(scenes, "calibration"))
    before, after = (
        [found for found, _ in evaluate_detector.answers(one, pictures, "cpu")]
        for one in (tmp_path / "out" / "model", tmp_path / "model")
    )
    sure = np.concatenate([one.scores for one in before])
    assert len(sure)
    surer = expit(2 * logit(sure.astype(float)) + 0.5)
    kept = np.concatenate([one.scores for one in after])
    np.testing.assert_allclose(np.sort(kept), np.sort(surer[surer >= 0.05]), atol=5e-3)


def test_overlap():
    assert evaluate_detector.overlap((0, 0, 2, 2), (1, 0, 3, 2)) == pytest.approx(1 / 3)
    assert evaluate_detector.overlap((0, 0, 2, 2), (2, 2, 3, 3)) == 0


@pytest.mark.slow
def test_the_one_in_the_package_decides_as_its_card_says(tmp_path, monkeypatch):
    """Of twenty unseen scenes; the exact figures stand in the model card."""
    from training_data import Shard, draw_shard

    monkeypatch.setattr(training_data, "PER_SHARD", 20)
    draw_shard(Shard("detector", "test", 0, 128, tmp_path / "test-0000.npz", samples=8))
    (pictures,) = training_data.load(tmp_path, "test")
    figures = evaluate_detector.measure(WEIGHTS, [pictures])
    assert figures["recall at 0.7"]["value"] >= 0.9
    assert figures["precision at 0.7"]["value"] >= 0.9
    judge = Registry().component("judge", "mini-detector", {})
    assert Path(judge.argument) == WEIGHTS
    assert judge.info.domain.name == "mini world"
    assert judge.info.capabilities == {"detect": {"class_probs", "colour"}}
