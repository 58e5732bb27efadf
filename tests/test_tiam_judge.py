"""TIAM and its paper's judge stand in two plugins: they mean the same classes and the same masks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from t2i_miniworld.vocabulary import SYNSETS
from t2i_tiam.labels import LABELS
from t2i_torch_support.coco_classes import CLASSES
from t2i_ultralytics import coco
from t2i_ultralytics.masks import fill_polygon

GOLDEN = Path(__file__).parent.parent / "plugins" / "tiam" / "tests" / "golden" / "tiam.json"


def test_the_judge_knows_tiams_labels_by_name_and_by_sense() -> None:
    assert len(LABELS) == 34
    assert set(LABELS.values()) <= set(coco.LABELS)


def test_the_mini_worlds_classes_have_the_same_senses() -> None:
    shared = SYNSETS.keys() & CLASSES.keys()
    assert len(shared) > 15
    assert {name: CLASSES[name].synset for name in shared} == {name: SYNSETS[name] for name in shared}


def test_golden_04_polygons_are_filled_as_the_reference_fills_them() -> None:
    (case,) = (case for case in json.loads(GOLDEN.read_text()) if case["id"] == "tiam-04")
    mask = fill_polygon(np.array(case["inputs"]["polygon"]), tuple(case["inputs"]["size"]))
    rows, columns = np.nonzero(mask)
    found = {"area": int(mask.sum()), "rows": np.unique(rows).tolist(), "cols": np.unique(columns).tolist()}
    assert found == case["expected"]
