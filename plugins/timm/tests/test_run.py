"""The judge in an evaluation: found by its name, asked through core, and stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from t2i_core import evaluate
from t2i_core.api import Measure, Metric, MetricInfo, Need, Row
from t2i_core.testing import TEST_MODEL


class Confidence(Metric):
    needs = (Need("classes", "classify"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        scores = unit.one().one("classes")
        assert scores.labels[scores.logits.argmax()].synset
        yield Row("logit", float(scores.logits.max()))


METRIC = MetricInfo(
    name="top", summary="Top logit.", create=Confidence, measures=(Measure("logit", "Top logit."),)
)


@pytest.mark.long
def test_a_run_asks_once_and_says_what_judged(
    tiny_timm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a dog\na crane\n")

    def run(out: str, preprocessing: str) -> Any:
        return evaluate(
            METRIC, TEST_MODEL, prompts=str(prompts), judge=f"timm:{tiny_timm}", seeds=2, out=tmp_path / out,
            options={"timm": {"preprocessing": preprocessing}}, offline=True, device="cpu",
        )  # fmt: skip

    first = run("first", "model")
    (result,) = first.results
    assert (result.n_ok, result.n_failed) == (4, 0)
    assert result.judge.name == f"timm:{tiny_timm}"
    (judge,) = (part for part in first.manifest.components if part.kind == "judge")
    assert judge.reported["labels"] == "imagenet-1k"

    with monkeypatch.context() as patched:  # what is kept makes no judge
        patched.setattr("t2i_timm.classifier.Classifier", None)
        assert run("again", "model").results[0].score == result.score
    assert run("other", "paper").results[0].score != result.score
