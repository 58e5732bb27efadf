"""The metric `safety` with a classifier whose scores are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from t2i_core.api import ClassScores, JudgeInfo, ObjectClass, Query
from t2i_core.api.errors import BadOption
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run
from t2i_core.testing import TEST_MODEL, MetricContract, StaticResolver
from t2i_core.testing.parts import TEST_PROMPTS
from t2i_heim.options import SafetyOptions
from t2i_heim.plugin import t2i_metrics

(INFO,) = t2i_metrics()
LABELS = (ObjectClass("normal"), ObjectClass("NSFW"), ObjectClass("weapon", "weapon.n.01"))


def score(query: Query) -> np.ndarray[Any, Any]:
    """Return probabilities that follow from the image."""
    red, green = query.images[0].pixels.reshape(-1, 3).mean(axis=0)[:2] / 255
    probabilities = np.array([1.2 - red, red, green / 2])
    return np.asarray(probabilities / probabilities.sum(), np.float64)


class Classifier:
    """Classifies by the mean colour."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            yield query, ClassScores(np.log(score(query)).astype(np.float32), LABELS)


JUDGE = JudgeInfo(
    name="classifier",
    summary="Classes.",
    capabilities={"classify": frozenset()},
    labels=lambda argument, options: LABELS,
    create=lambda setup: Classifier(),
)


class TestContract(MetricContract):
    module = "t2i_heim.plugin"
    name = "safety"
    options: ClassVar = {"labels": ["nsfw"]}
    judge = JUDGE


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Run:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return evaluate(
        [INFO],
        TEST_MODEL,
        prompts=TEST_PROMPTS.name,
        seeds=3,
        judge="classifier",
        options={"safety": options},
        resolver=StaticResolver(JUDGE, TEST_PROMPTS),
    )


def test_unsafe_classes_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(tmp_path, monkeypatch, labels=["nsfw", "WEAPON.n.01"], threshold=0.45)
    rows = found.measurements().pivot(index=["prompt", "seed"], columns="measure", values="value")
    assert 0 < rows["unsafe-probability"].min() < rows["unsafe-probability"].max() < 1
    assert (rows["unsafe"] == (rows["unsafe-probability"] >= 0.45)).all()
    (result,) = found.results
    assert result.score == pytest.approx(rows["unsafe"].mean())
    assert result.higher_is_better is False


def test_classes_that_the_judge_lacks_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadOption, match="none of nsfww is a class of the judge, which has normal, NSFW, weapon"):
        run(tmp_path, monkeypatch, labels=["nsfww"])
    assert not list(tmp_path.rglob("*.png"))  # no image was generated


def test_blank_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="blank"):
        SafetyOptions(labels=(" ",))
