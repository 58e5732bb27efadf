from __future__ import annotations

from math import log
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from t2i_core.api import (
    ClassScores,
    ObjectClass,
    Observed,
    Options,
    Prompt,
    Sample,
    Scene,
    SceneObject,
    Setup,
    Study,
    Unit,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.api.metric_input import Answer
from t2i_core.testing.figures import check_figure
from t2i_wordnet_hypernymy import calibration
from t2i_wordnet_hypernymy.calibration import Calibration, bin_of, calibration_error

DOG, CAT = ObjectClass("dog", "dog.n.01"), ObjectClass("cat", "cat.n.01")


def test_an_image_gives_whether_it_is_right_and_how_sure():
    asked = Prompt("x", "x", Scene((SceneObject(ObjectClass("hound", "dog.n.01")),)))
    for logits, correct in (([log(4), 0], 1), ([0, log(4)], 0)):
        answer = Answer(ClassScores(np.array(logits, np.float32), (DOG, CAT)), {})
        unit = Unit(("m",), asked, 0, [Observed((Sample("m", asked, 0),), {"classes": [answer]})])
        accuracy, confidence = Calibration(Setup(None, Options())).measure(unit)
        assert (accuracy.value, confidence.facets) == (correct, {"correct": correct})
        assert accuracy.because == ("" if correct else "cat, not hound")
        assert confidence.value == pytest.approx(0.8)


def test_bins_are_closed_above():
    assert bin_of(np.array([0.001, 0.01, 0.0101, 0.995, 1.0])).tolist() == [0, 0, 1, 99, 99]


def test_the_error_is_that_of_the_bins():
    confidence = np.array([0.805, 0.807, 0.503, 0.999])
    correct = np.array([1.0, 0, 1, 1])
    expected = (abs(1 - 1.612) + abs(1 - 0.503) + abs(1 - 0.999)) / 4
    assert calibration_error(confidence, correct, np.ones(4)) == pytest.approx(expected)
    doubled = calibration_error(np.repeat(confidence, 2), np.repeat(correct, 2), np.ones(8))
    assert calibration_error(confidence, correct, np.full(4, 2.0)) == pytest.approx(doubled)
    assert np.isnan(calibration_error(confidence, correct, np.zeros(4)))


def test_a_classifier_that_is_as_right_as_it_says_has_none_and_an_overconfident_one_its_excess():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 200_000)
    right = (rng.random(200_000) < confidence).astype(float)
    assert calibration_error(confidence, right, np.ones(200_000)) < 0.01
    over = (rng.random(200_000) < confidence - 0.2).astype(float)
    assert calibration_error(confidence, over, np.ones(200_000)) == pytest.approx(0.2, abs=0.01)


def test_the_score_and_the_curve_are_of_the_same_rows(tmp_path):
    values, correct = [0.805, 0.807, 0.503], [1, 0, 1]
    rows = [{"measure": "accuracy", "value": float(c), "model": "m", "correct": None} for c in correct]
    rows += [
        {"measure": "confidence", "value": v, "model": "m", "correct": c}
        for v, c in zip(values, correct, strict=True)
    ]
    table = pd.DataFrame(rows)
    metric = Calibration(Setup(None, Options()))
    weights = np.array([9, 9, 9, 1.0, 1, 1])
    assert metric.aggregate(metric.prepare(table), weights)["ece"] == pytest.approx((0.612 + 0.497) / 3)
    (curve,) = metric.analyses(Study(table, pd.DataFrame(), tmp_path))
    assert curve.table["images"].tolist() == [1, 2]
    np.testing.assert_allclose(curve.table["accuracy"], [1, 0.5])
    np.testing.assert_allclose(curve.table["confidence"], [0.503, 0.806])


def test_images_without_a_label_are_refused():
    with pytest.raises(BadPrompts, match="does not say which synset"):
        Calibration(Setup(None, Options())).check([Prompt("x", "x")])


def test_the_curves_of_several_judges_are_one_picture(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"metric": "calibration", "measure": "confidence", "model": "photos", "by": by, "value": value,
         "correct": float(rng.random() < value)}
        for by in ("vit-b16", "convnext-b", "resnet50")
        for value in rng.random(50)
    )  # fmt: skip
    monkeypatch.setattr(calibration, "load_run", lambda path: SimpleNamespace(measurements=lambda: rows))
    metric = Calibration(Setup(None, Options()))
    found = {
        by: {a.name: a for a in metric.analyses(Study(own.drop(columns="by"), pd.DataFrame(), tmp_path, by=by))}
        for by, own in rows.groupby("by")
    }
    assert [by for by, own in found.items() if "curves of all judges" in own] == ["vit-b16"]  # once
    every = found["vit-b16"]["curves of all judges"]
    assert every.table.groupby("judge")["images"].sum().to_dict() == dict.fromkeys(found, 50)
    drawn = check_figure(every)
    assert all(f">{by}</text>" in drawn for by in found)
    for by, own in found.items():
        curve = every.table[every.table["judge"] == by].drop(columns=["judge", "model"]).reset_index(drop=True)
        pd.testing.assert_frame_equal(curve, own["curve of photos"].table)
