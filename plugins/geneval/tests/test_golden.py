"""The golden cases, each under its number; 18 is of GenEval 2's questions, which this plugin does not score.

Their values were computed by running the authors' published code, or, for the prompts, are those of its files.
"""

import hashlib
import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from PIL import Image as PILImage
from t2i_core.api import Setup
from t2i_core.api.image import load_image
from t2i_core.api.mask import PackedMask
from t2i_geneval.boxes import find_positions, measure_overlap, select_boxes
from t2i_geneval.colours import GREY, combine_texts, measure_fit
from t2i_geneval.metric import GenEval
from t2i_geneval.options import GenEvalOptions
from t2i_geneval.prompt_builder import COCO, add_article
from t2i_geneval.rules import decide, select_objects
from t2i_torch_support.geneval_records import PREDICATES, make_prompt


def digest(lines):
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def test_01_prompts_from_the_seed(golden):
    case = golden(1)
    assert (COCO.seed, COCO.samples) == tuple(case["input"].values())
    records = COCO.build()
    assert Counter(record["tag"] for record in records) == case["expected"]["counts"]
    assert digest(record["prompt"] for record in records) == case["expected"]["sha256_prompts"]
    assert digest(map(json.dumps, records)) == case["expected"]["sha256_metadata"]


def test_02_articles_and_plurals(golden):
    for name, expected in golden(2)["expected"].items():
        assert [add_article(name), COCO.make_plural(name)] == expected


def test_03_positions(golden):
    case = golden(3)
    for boxes, expected in zip(case["input"], case["expected"], strict=True):
        assert find_positions(boxes["a"], boxes["b"], 0.1) == {PREDICATES[name] for name in expected}


def test_04_overlap(golden):
    case = golden(4)
    found = [measure_overlap(boxes["a"], np.array([boxes["b"]], float))[0] for boxes in case["input"]]
    np.testing.assert_allclose(found, case["expected"], atol=case["tolerance"])


@pytest.mark.parametrize("number", [5, 6])
def test_05_06_detections_that_are_kept(golden, number):
    case = golden(number)
    for name, found in case["input"]["detections"].items():
        array = np.array(found, np.float32)
        kept = select_boxes(array[:, :4], array[:, 4], 0.3, 16, case["input"]["max_overlap"])
        expected = case["expected"].get(name, [])
        np.testing.assert_allclose(array[kept, 4], np.float32(expected))


@pytest.mark.parametrize("number", range(7, 15))
def test_07_to_14_decisions(golden, detect, number):
    case = golden(number)
    record, read = {"prompt": "a photo", **case["input"]["metadata"]}, case["input"].get("colours_read") or {}
    seen, options = detect(case["input"]["detections"]), GenEvalOptions()
    scene = make_prompt("0", record).scene
    selections = select_objects(scene, record["tag"], seen, options)

    def read_colour(clause, place):
        return read[scene.objects[clause].cls.name][place]

    decision = decide(scene, record["tag"], selections, seen.boxes, read_colour, options)
    assert decision.is_correct == case["expected"]["correct"]
    if "kept" in case["expected"]:
        assert len(selections[0].kept) == case["expected"]["kept"]


def test_15_colours_by_their_texts(golden):
    case = golden(15)
    directions = combine_texts(np.array(case["input"]["text"]))
    fits = [measure_fit(np.array(image), directions) for image in case["input"]["image"]]
    np.testing.assert_allclose(100 * np.array(fits), case["expected"]["logits"], atol=case["tolerance"])
    assert [["red", "green", "blue"][int(fit.argmax())] for fit in fits] == case["expected"]["colour"]


def test_16_what_is_cut_out(golden, tmp_path):
    case = golden(16)
    PILImage.fromarray(np.array(case["input"]["image_rgb"], np.uint8)).save(tmp_path / "image.png")
    mask = PackedMask.pack(np.array(case["input"]["mask"], bool))
    part = load_image(tmp_path / "image.png").crop(case["input"]["box"], mask, GREY)
    assert list(part.pil().size) == case["expected"]["size"]
    assert part.pixels.tolist() == case["expected"]["rgb"]


def test_17_overall_is_the_mean_of_tasks(golden):
    case = golden(17)
    rows = [("p", task, float(value)) for task, values in case["input"].items() for value in values]
    table = pd.DataFrame(rows, columns=["prompt", "measure", "value"])
    metric = GenEval(Setup(None, GenEvalOptions()))
    found = metric.aggregate(metric.prepare(table), np.ones(len(table)))
    assert found == {"geneval": pytest.approx(case["expected"]["overall"], abs=case["tolerance"])}
    assert table.groupby("measure")["value"].mean().to_dict() == pytest.approx(case["expected"]["tasks"])
    assert table["value"].mean() == pytest.approx(case["expected"]["image_mean_for_contrast"])
