"""Golden cases: values of the published codes. Those about logits belong to judges (plugins/transformers)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import PromptQuestion
from t2i_questions.composition_rules import (
    combine_scores,
    multiply_answers,
    score_numeracy,
    score_position,
    score_spatial,
)
from t2i_questions.dependencies import find_valid, find_valid_in_order
from t2i_questions.grid import list_crop_boxes
from t2i_questions.judged_questions import JudgedQuestion, average
from t2i_questions.scene_graph_text import find_tuple_category, parse_dependencies, parse_tuple_categories
from t2i_questions.tifa import choose_by_similarity, compute_deviation

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "golden" / "questions.json").read_text(encoding="utf-8"))
}


def read_graph(case: dict[str, Any]) -> tuple[dict[str, bool], dict[str, list[str]]]:
    """Return which answers are exactly yes, and the parents of each question."""
    right = {id: answer == "yes" for id, answer in case["input"]["answers"].items()}
    parents = {id: [str(each) for each in own if each] for id, own in case["input"]["dependency"].items()}
    return right, parents


def judge(right: dict[str, bool]) -> list[JudgedQuestion]:
    return [JudgedQuestion(PromptQuestion(id, "?"), "", yes, float(yes), False) for id, yes in right.items()]


def test_03_a_free_answer_means_the_nearest_choice() -> None:
    given = CASES["questions-03"]["input"]
    vectors = {text: np.array(vector) for text, vector in given["embeddings"].items()}
    assert choose_by_similarity(given["answer"], given["choices"], vectors) == CASES["questions-03"]["expected"]
    assert choose_by_similarity("green", given["choices"], {}) == "green"


def test_04_tifa_over_captions_and_by_element() -> None:
    case = CASES["questions-04"]
    scores, types, expected = case["input"]["scores"], case["input"]["types"], case["expected"]
    numbered = [{str(number): bool(score) for number, score in enumerate(own)} for own in scores.values()]
    means = np.array([average(judge(own), own) for own in numbered])
    assert means.mean() == pytest.approx(expected["tifa_average"], abs=1e-9)
    assert compute_deviation(means, np.ones(len(means))) == pytest.approx(expected["tifa_stdev"], abs=1e-9)
    pooled: dict[str, list[int]] = {}
    for caption, own in scores.items():
        for kind, score in zip(types[caption], own, strict=True):
            pooled.setdefault(kind, []).append(score)
    assert {kind: np.mean(own) for kind, own in pooled.items()} == pytest.approx(expected["accuracy_by_type"])


@pytest.mark.parametrize("name", ["questions-05", "questions-07"])
def test_05_07_dsg_looks_at_the_original_answers_of_parents(name: str) -> None:
    expected = CASES[name]["expected"]
    right, parents = read_graph(CASES[name])
    valid = find_valid(right, parents)
    assert valid == expected["validity"]
    counted = {id: right[id] and valid[id] for id in right}
    assert average(judge(right), counted) == pytest.approx(expected["with_dependency"], abs=1e-9)
    assert average(judge(right), right) == pytest.approx(expected["without_dependency"], abs=1e-9)


def test_06_dpg_works_in_place_and_in_order() -> None:
    expected = CASES["questions-06"]["expected"]
    right, parents = read_graph(CASES["questions-06"])
    valid = find_valid_in_order(right, parents)
    assert valid == expected["validity"]
    assert average(judge(right), {id: right[id] and valid[id] for id in right}) == expected["score"]


def test_08_tuples_and_dependencies_are_parsed() -> None:
    case = CASES["questions-08"]
    assert parse_tuple_categories(case["input"]["tuples"]) == case["expected"]["tuples"]
    parsed = parse_dependencies(case["input"]["dependency"])
    assert {id: [int(each) for each in own] or [0] for id, own in parsed.items()} == case["expected"]["dependency"]


def test_09_dpg_scores_of_a_grid() -> None:
    case = CASES["questions-09"]
    given, expected = case["input"], case["expected"]
    scores = []
    for answers in given["answers_per_crop"]:
        right, parents = read_graph({"input": {"answers": answers, "dependency": given["dependency"]}})
        valid = find_valid_in_order(right, parents)
        scores.append(average(judge(right), {id: right[id] and valid[id] for id in right}))
    assert scores == pytest.approx(expected["crop_scores"], abs=1e-9)
    assert np.mean(scores) == pytest.approx(expected["image_score"], abs=1e-9)
    last = given["answers_per_crop"][-1]
    fine = {find_tuple_category(text): float(last[id] == "yes") for id, text in given["tuples"].items()}
    assert fine == expected["l2"]
    assert {name.partition("-")[0].strip(): score for name, score in fine.items()} == expected["l1"]


def test_10_boxes_of_a_grid() -> None:
    case = CASES["questions-10"]
    for pictures in case["input"]["pic_num"]:
        boxes = [list(box) for box in list_crop_boxes(case["input"]["resolution"], pictures)]
        assert boxes == case["expected"][str(pictures)]


def test_11_attributes_are_products_of_rounded_answers() -> None:
    case = CASES["questions-11"]
    images = [multiply_answers([each for each in own if each is not None]) for own in case["input"]]
    assert images == pytest.approx(case["expected"]["images"], abs=case["tolerance"])
    assert np.mean(images) == pytest.approx(case["expected"]["mean"], abs=case["tolerance"])


def test_12_positions_of_boxes() -> None:
    case = CASES["questions-12"]
    found = [score_position(each["relation"], each["a"], each["b"]) for each in case["input"]]
    assert found == pytest.approx(case["expected"], abs=1e-9)


def test_13_spatial_scores_below_a_half_are_zero() -> None:
    case = CASES["questions-13"]
    found = [score_spatial(each["score_1"], each["score_2"], each["position"]) for each in case["input"]]
    assert found == pytest.approx(case["expected"], abs=1e-9)


def test_14_numeracy() -> None:
    case = CASES["questions-14"]
    found = [score_numeracy([tuple(pair) for pair in each["asked"]], each["detected"]) for each in case["input"]]
    assert found == pytest.approx(case["expected"], abs=1e-9)


def test_15_complex_prompts_are_means() -> None:
    case = CASES["questions-15"]
    given = case["input"]
    for listed, expected in case["expected"].items():
        found = combine_scores(
            given["attribute"], given["spatial"], given["action"], "" if listed == "neither" else listed
        )
        assert found == pytest.approx(expected, abs=1e-9)
