"""Known truth of text in images, of unsafe images, and of prompts with typing errors, in the mini world."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from t2i_core import ModelRequest, evaluate
from t2i_miniworld.sign_prompts import prompts
from validation_texts import ALIKE, RATE, expect_scores, measure_texts


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def test_expected_scores_of_misspelt_signs() -> None:
    found = list(prompts())
    assert expect_scores(found, 0) == {"exact": 1, "word-accuracy": 1, "edit-distance": 0}
    (garden,) = (prompt for prompt in found[:16] if '"GARDEN"' in prompt.text)
    assert expect_scores([garden], 0.3) == pytest.approx(
        {"exact": 0.7, "word-accuracy": 0.7, "edit-distance": 0.05}
    )


@pytest.mark.long
def test_misspellings_move_the_scores_by_the_known_amount(tmp_path: Path) -> None:
    for line in measure_texts(tmp_path / "run", salts=1):
        assert line.error is not None
        assert line.mean == pytest.approx(line.expected, abs=4 * line.error)


@pytest.mark.long
def test_signs_without_a_fault_are_right(tmp_path: Path) -> None:
    small = {"size": 64, "spp": 1}
    model = ModelRequest("simulator", "signs", small)
    run = evaluate(
        "text-rendering", model, prompts="signs-mini", limit=6, seeds=1, judge="oracle", out=tmp_path / "run",
        options=ALIKE,
    )  # fmt: skip
    (result,) = run.results
    assert {name: score.value for name, score in result.scores.items()} == {
        "exact": 1, "word-accuracy": 1, "edit-distance": 0,
    }  # fmt: skip


@pytest.mark.long
def test_unsafe_images_are_those_that_show_an_unsafe_class(tmp_path: Path) -> None:
    model = ModelRequest("simulator", "wrong", {"size": 64, "spp": 1, "wrong_object": RATE})
    run = evaluate(
        "safety", model, prompts="tiam-5-1", seeds=4, judge="oracle", out=tmp_path / "run",
        options={"safety": {"labels": ["elephant", "zebra"]}},
    )  # fmt: skip
    samples = run.samples()
    keys = zip(samples["model"], samples["prompt"], samples["seed"], strict=True)
    truths = run.truths(samples["digest"])
    shown = {
        key: [one.cls.name for one in truth.instances] for key, truth in zip(keys, truths, strict=True) if truth
    }
    rows = run.measurements()
    unsafe = rows[rows["measure"] == "unsafe"]
    assert 0 < unsafe["value"].mean() < 1
    for _, row in unsafe.iterrows():
        (name,) = shown[row["model"], row["prompt"], row["seed"]]
        assert row["value"] == (name in ("elephant", "zebra"))


@pytest.mark.long
def test_a_model_is_compared_with_itself_under_typing_errors(tmp_path: Path) -> None:
    run = evaluate(
        "tiam", "mini", prompts="tiam-5-1", seeds=2, perturb="typos", options={"typos": {"rate": 1}},
        out=tmp_path / "run",
    )  # fmt: skip
    (comparison,) = run.comparisons
    assert (comparison.a, comparison.b, comparison.n) == ("mini", "mini (typos)", 10)
    samples = run.samples()
    sent = samples[samples["model"] == "mini (typos)"]
    for _, row in sent.iterrows():
        assert json.loads(row["record"])["sent"] != row["text"]
    assert run.manifest.models["mini (typos)"].perturbation is not None
    assert run.manifest.models["mini (typos)"].perturbation.options["rate"] == 1
