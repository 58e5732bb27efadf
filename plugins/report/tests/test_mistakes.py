"""Mistakes by reason, their examples, and evidence as SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from t2i_core.api import Measure
from t2i_core.api.image import Image
from t2i_core.results.evidence import EvidenceRegion
from t2i_core.results.result import Score
from t2i_report.pictures.example import choose_example
from t2i_report.pictures.explained_values import ExplainedMetric, ExplainedValue
from t2i_report.pictures.gallery import Gallery
from t2i_report.pictures.image_reasons import list_reasons
from t2i_report.pictures.mistakes import (
    MOST_GROUPS,
    MOST_TEXTS,
    Mistake,
    MistakeGroup,
    find_mistakes,
    group_mistakes,
)
from t2i_report.pictures.only_one import split_metrics
from t2i_report.pictures.overlay import Overlay
from t2i_report.pictures.shown_image import ShownImage
from t2i_report.words.weak_spots import Level, WeakSpot
from t2i_web_support.templates import make_environment

HIT = Measure("hit", "Share of hits.", low=0, high=1)
COSINE = Measure("cosine", "Mean cosine.")
DISTANCE = Measure("distance", "Mean distance.", low=0, higher_is_better=False)

PICTURE = Image("0" * 64, Path("picture.png"))

Cell = tuple[str, str, int | None, float, str]
"""Model, prompt, seed, value and reason."""


def make(measure: Measure, cells: Sequence[Cell]) -> tuple[ExplainedMetric, Gallery]:
    values = [
        ExplainedValue(model, f"{prompt}\0text", seed, value, because, {r: r for r in because.split("; ") if r})
        for model, prompt, seed, value, because in cells
    ]
    images = [ShownImage(model, prompt, "text", seed or 0, PICTURE) for model, prompt, seed, _, _ in cells]
    return ExplainedMetric("metric", measure, values), Gallery(images)


def find(measure: Measure, cells: Sequence[Cell]) -> list[Mistake]:
    metric, shown = make(measure, cells)
    return find_mistakes([metric], shown, {})


CELLS: list[Cell] = [
    ("a", "p", 0, 0, "no dog; too dark"),
    ("a", "p", 1, 0, "no dog"),
    ("a", "q", 0, 0, "no dog"),
    ("a", "q", 1, 1, "no dog"),  # a right value with a reason is not a mistake
    ("b", "p", 0, 1, ""),
    ("b", "p", 1, 0, ""),
    ("b", "q", 0, 0, "too dark"),
    ("b", "q", 1, 0, "too dark"),
]


def test_a_tally_names_the_most_frequent_texts_and_counts_the_rest() -> None:
    texts = [(f"no thing {number}", 2) for number in range(MOST_TEXTS)]
    mistake = Mistake("metric", "hit", "a", "no [object]", 2 * MOST_TEXTS + 3, 40, texts=texts)
    macro = make_environment("t2i_report").get_template("sections/mistake.html").module.reason
    text = re.sub("<[^>]*>", " ", macro("metric", MistakeGroup("no [object]", [mistake])))
    assert "no thing 3 (2) and 3 more" in text
    whole = replace(mistake, count=2 * MOST_TEXTS)
    assert "more" not in macro("metric", MistakeGroup("no [object]", [whole]))


def test_each_reason_of_a_value_counts() -> None:
    found = find(HIT, CELLS)
    assert [(m.model, m.because, m.count, m.n) for m in found] == [
        ("a", "no dog", 3, 4),
        ("a", "too dark", 1, 4),
        ("b", "too dark", 2, 4),
        ("b", "wrong, without a reason", 1, 4),
    ]
    groups = group_mistakes(found)["metric"]
    assert [(group.because, group.count) for group in groups] == [
        ("no dog", 3), ("too dark", 3), ("wrong, without a reason", 1)
    ]  # fmt: skip


def test_rare_reasons_of_one_model_count_if_they_are_frequent_over_all() -> None:
    own = [(model, f"{model} {n}") for model in ("x", "y") for n in range(MOST_GROUPS)]
    cells: list[Cell] = [(model, reason, seed, 0, reason) for model, reason in own for seed in range(3)]
    cells += [(model, "p", seed, 0, "shared") for model in ("x", "y") for seed in range(2)]
    found = find(HIT, cells)  # the sixth reason of each model is the first of both
    shared = [(m.model, m.count, m.n) for m in found if m.because == "shared"]
    assert shared == [("x", 2, 17), ("y", 2, 17)]
    assert len(group_mistakes(found)["metric"]) == MOST_GROUPS
    assert group_mistakes(found)["metric"][0].because == "shared"


def test_examples_come_with_the_better_picture_of_another_model_and_from_several_prompts() -> None:
    examples = find(HIT, CELLS)[0].examples
    assert [(e.image.prompt, e.image.seed) for e in examples] == [("p", 0), ("q", 0), ("p", 1)]
    assert examples[0].right is not None
    assert (examples[0].right.image.model, examples[0].right.place) == ("b", 4)
    assert examples[1].right is None


@pytest.mark.parametrize(
    ("measure", "because", "worst"), [(COSINE, "lowest values", 0), (DISTANCE, "highest values", 5)]
)
def test_without_reasons_the_worst_values_are_shown(measure: Measure, because: str, worst: int) -> None:
    (found,) = find(measure, [("a", f"p{n}", 0, 0.5 + n / 10, "") for n in range(6)])
    assert (found.because, found.is_counted, found.n, len(found.examples)) == (because, False, 6, 4)
    assert found.examples[0].place == worst


def test_reasons_that_differ_for_each_image_sort_nothing() -> None:
    metric, shown = make(COSINE, [("a", f"p{n}", 0, n / 10, f"a caption {n}") for n in range(20)])
    assert [m.because for m in find_mistakes([metric], shown, {})] == ["lowest values"]
    (own,) = list_reasons([metric], shown)
    assert own["groups"] == []
    assert own["texts"][own["text"][3]] == "a caption 3"


def test_reasons_of_images_are_encoded_for_the_script() -> None:
    metric, shown = make(HIT, CELLS)
    (own,) = list_reasons([metric], shown)
    assert own["groups"] == ["no dog", "too dark"]
    assert own["codes"][0] == [0, 1]
    assert 3 not in own["codes"]  # the right value
    assert own["texts"][own["text"][3]] == "no dog"


def test_a_value_of_all_images_of_a_prompt_belongs_to_each() -> None:
    metric, _ = make(HIT, [("a", "p", None, 0, "too alike")] * 3)
    shown = Gallery([ShownImage("a", "p", "text", seed, None) for seed in range(3)])
    (own,) = list_reasons([ExplainedMetric("metric", HIT, metric.values[:1])], shown)
    assert sorted(own["text"]) == [0, 1, 2]


def test_where_only_one_of_two_models_fails() -> None:
    metric, shown = make(HIT, CELLS)
    (split,) = split_metrics([metric], ("a", "b"), shown, {})
    assert (split.n, split.equal, split.is_binary) == (4, 2, True)
    assert [(s.model, s.count, [m.because for m in s.mistakes]) for s in split.sides] == [
        ("a", 1, ["no dog", "too dark"]),
        ("b", 1, ["too dark"]),
    ]


@pytest.mark.parametrize("model", ["a", "b"])
def test_the_example_of_a_weak_spot_is_of_its_model(model: str) -> None:
    metric, shown = make(HIT, [(each, "p", 0, 0, "no dog") for each in ("a", "b")])
    mistakes = group_mistakes(find_mistakes([metric], shown, {}))
    score = Score(value=0, ci=[0, 0.5])
    spot = WeakSpot("metric", model, Level("hit", "kind", "dogs"), score)
    table = pd.DataFrame({"title": ["metric"], "measure": ["hit"], "kind": ["dogs"], "prompt": ["p\0text"]})
    found = choose_example(mistakes, [spot], [table])
    assert found is not None
    assert found.example.image.model == model


def test_evidence_is_escaped_and_each_label_has_a_colour_and_a_place() -> None:
    regions = [
        EvidenceRegion(label="<b>&\x07", box=[0, 0, 10, 10]),
        EvidenceRegion(label="dog", box=[1, 0, 10, 10]),
        EvidenceRegion(label="whole"),
    ]
    drawn = str(Overlay(regions, (20, 20), 160).draw())
    assert "<b>" not in drawn
    assert "\x07" not in drawn
    assert drawn.count("<rect") == 2
    assert 'class="mark mark-0"' in drawn
    assert 'class="mark mark-1"' in drawn
    assert 'y="9.0%"' in drawn
    assert 'y="18.0%"' in drawn  # below the first, which it would cover
