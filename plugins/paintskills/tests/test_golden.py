"""The golden cases, each under its number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from t2i_core.api import Setup
from t2i_core.api.metric_output import Row
from t2i_paintskills import retrieval
from t2i_paintskills.metrics import ColorSkill, ObjectSkill
from t2i_paintskills.options import ColorOptions, ConfidenceOptions
from t2i_paintskills.skills import COLOURS, COUNTS, RELATIONS, SHAPES, SKILLS, SkillText, items
from t2i_paintskills.splits import REPEATS, SPLITS, draw_split

ELSEWHERE = {"09": "the Frechet distance is t2i-torchmetrics'"}


def test_there_is_a_test_for_every_case():
    cases = json.loads((Path(__file__).parent / "golden" / "paintskills.json").read_text())
    tests = {name[5:7] for name in globals() if name[5:7].isdigit()}
    assert {case["id"][-2:] for case in cases} == tests | set(ELSEWHERE)


def padded(queries):
    return [*queries, *([{"p": {}}] * (6 - len(queries)))]


def target(sample):
    (thing,) = sample["objects"]
    shape = "human" if thing["shape"].startswith("human") else thing["shape"]
    colour = None if thing["color"] == "plain" else thing["color"]
    return SkillText("color" if colour else "object", (shape,), colour).prompt()


def test_01_object(golden, world):
    case = golden("paintskills-01")
    for name, sample in case["inputs"]["samples"].items():
        found, expected = world.detections(padded(sample["queries"])), case["expected"][name]
        for confidence, key in ((0.8, "paper_rule_correct(p>0.8)"), (0, "code_correct")):
            metric = ObjectSkill(Setup(None, ConfidenceOptions(confidence=confidence)))
            assert world.values(metric, target(sample), found) == {"paintskills-object": expected[key]}, name
        assert found.class_probs.max() == np.float32(expected["confidence"])


def test_02_colour(golden, world):
    case = golden("paintskills-02")
    assert tuple(case["inputs"]["colors"]) == COLOURS
    for name, sample in case["inputs"]["samples"].items():
        metric, expected = ColorSkill(Setup(None, ColorOptions(reference=True))), case["expected"][name]
        said = world.values(metric, target(sample), world.detections(padded(sample["queries"])))
        wanted = sample["objects"][0]
        assert said["paintskills-color"] == expected["correct"], name
        assert said["object"] == (expected["pred_object"] == wanted["shape"])
        assert said["colour"] == (expected["pred_color"] == [wanted["color"]])


def test_05_sizes_of_splits(golden):
    case = golden("paintskills-05")
    vocabulary = case["inputs"]["vocab"]
    assert vocabulary == {
        "Shape": list(SHAPES), "Color": list(COLOURS), "Relation": list(RELATIONS), "counts": list(COUNTS)
    }  # fmt: skip
    for skill in SKILLS:
        assert [REPEATS[split][skill] for split in SPLITS] == case["inputs"]["n_repeat"][skill]
        sizes = [len(list(items(skill))) * REPEATS[split][skill] for split in SPLITS]
        assert sizes == case["expected"][skill]
        assert len(draw_split(skill, "val").scenes) == sizes[1]


def found_by_reference(inputs):
    images, texts = (np.array(inputs[name], np.float32) for name in ("image_features", "text_features"))
    draws = retrieval.reference_draws(len(images), inputs["K"] - 1, inputs["repeat"])
    return images, texts, draws


def test_06_r_precision(golden):
    case = golden("paintskills-06")
    images, texts, draws = found_by_reference(case["inputs"])
    for name, (i, t) in {
        "dot_product(reference, un-normalised)": (images, texts),
        "cosine(L2-normalised)": (retrieval.unit_length(images), retrieval.unit_length(texts)),
    }.items():
        found = np.array([retrieval.reference_nearest(i[n], t, n, draws[:, n]) for n in range(len(i))])
        assert found.mean(axis=1).tolist() == pytest.approx(case["expected"][name]["per_image_mean"])
        assert found.mean() == pytest.approx(case["expected"][name]["R_precision"])


def test_08_a_text_of_large_norm(golden):
    case = golden("paintskills-08")
    images, texts, draws = found_by_reference(case["inputs"])
    product = [retrieval.reference_nearest(images[n], texts, n, draws[:, n]) for n in range(2)]
    assert np.mean(product) == pytest.approx(case["expected"]["reference_dot_product"])
    i, t = retrieval.unit_length(images), retrieval.unit_length(texts)
    cosine = [retrieval.nearest(i[n], t[n], t[np.full((5, 1), 1 - n)]) for n in range(2)]
    assert np.mean(cosine) == case["expected"]["cosine"]


def test_rows_have_what_they_are_broken_down_by(world):
    prompt = SkillText("color", ("bed",), "red").prompt()
    metric = ColorSkill(Setup(None, ColorOptions()))
    rows = world.rows(metric, prompt, world.detections([{"p": {"bed": 0.9}, "color": {"red": 1}}]))
    facets = {"object": "bed", "colour": "red"}
    assert rows == [Row(name, 1.0, facets) for name in ("paintskills-color", "object", "colour")]


@pytest.mark.parametrize(
    ("colours", "among", "right"),
    [
        ({"white": 0.3, "black": 0.7}, "skill", True),  # black is none of the six
        ({"white": 0.3, "black": 0.7}, "all", False),
        ({"white": 0.3, "green": 0.7}, "skill", False),
        ({"black": 1.0}, "skill", False),  # nothing is said for white
    ],
)
def test_a_colour_outdoes_the_skills_or_all(world, colours, among, right):
    prompt = SkillText("color", ("bed",), "white").prompt()
    metric = ColorSkill(Setup(None, ColorOptions(colours=among)))
    rows = world.rows(metric, prompt, world.detections([{"p": {"bed": 0.9}, "color": colours}]))
    assert [row.value for row in rows] == [right, True, right]
