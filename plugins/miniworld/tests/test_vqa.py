"""mini-vqa: its answers beside the oracle's, and the script that measures them."""

from __future__ import annotations

from pathlib import Path

import evaluate_vqa
import numpy as np
import pytest
import training_data
from evaluate_detector import answers
from t2i_core.api import Instance, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld import oracle
from t2i_miniworld.laws import leaves_of
from t2i_miniworld.vocabulary import LABELS
from t2i_registry import Registry

WEIGHTS = Path(__file__).parents[1] / "t2i_miniworld" / "weights" / "mini-detector"


def test_the_judge_is_a_preset_with_the_detectors_weights() -> None:
    judge = Registry().component("judge", "mini-vqa", {})
    assert judge.argument is not None
    assert Path(judge.argument) == WEIGHTS
    assert judge.info.domain.name == "mini world"
    assert judge.info.capabilities == {"answer": {"probs"}}


def test_calibration_in_closed_form() -> None:
    figures = evaluate_vqa.calibration(np.array([0.9, 0.9, 0.2, 0.2]), np.array([True, False, False, False]))
    assert figures == {"share of yes": 0.25, "Brier score": 0.225, "calibration error": 0.3}


@pytest.mark.long
def test_its_answers_are_those_of_the_model_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twenty unseen scenes; the exact figures stand in the model card."""
    monkeypatch.setattr(training_data, "PER_SHARD", 20)
    shard = training_data.Shard("detector", "test", 0, 128, tmp_path / "test-0000.npz", samples=8)
    training_data.draw_shard(shard)
    pictures = list(answers(WEIGHTS, list(training_data.load(tmp_path, "test")), "cpu"))
    figures = evaluate_vqa.measure(pictures)
    assert figures["yes and no"]["n"] >= 60
    assert figures["yes and no"]["value"] >= 0.93
    assert figures["how many"]["value"] >= 0.8
    assert figures["Brier score"] <= 0.06


def draw(*things: tuple[str, str, int, int]) -> Truth:
    """Return the truth of a picture with squares: kind, paint, left and top."""
    instances = []
    for kind, paint, x, y in things:
        mask = np.zeros((128, 128), bool)
        mask[y : y + 30, x : x + 30] = True
        packed = PackedMask.pack(mask)
        cls = next(label for label in LABELS if label.name == kind)
        instances.append(Instance(cls, paint, packed.box, packed, {"synset": leaves_of(kind)[0]}))
    return Truth((128, 128), tuple(instances))


def test_the_ideal_detector_is_right() -> None:
    """The oracle's own detections give the oracle's answers, so questions and truths fit each other."""
    truths = [
        draw(("dog", "red", 10, 20)),
        draw(*(("car", "blue", x, 40) for x in (2, 48, 94))),
        draw(("bed", "pink", 4, 50), ("bird", "green", 80, 56)),
    ]
    drawn = [truth for truth in truths for _ in range(5)]
    figures = evaluate_vqa.measure([(oracle.segment(truth).without_masks(), truth) for truth in drawn])
    assert figures["yes and no"]["value"] == figures["how many"]["value"] == figures["what colour"]["value"] == 1
    assert figures["Brier score"] == 0
