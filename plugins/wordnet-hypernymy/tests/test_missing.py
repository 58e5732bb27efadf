"""Synsets without images are counted and listed, and are not part of a score."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core import evaluate
from t2i_core.api import ClassScores, Failure, Generated, GeneratorInfo, JudgeInfo, ObjectClass
from t2i_core.results.analysis import analyze_run, list_metrics
from t2i_core.testing import StaticResolver
from t2i_wordnet_hypernymy.plugin import t2i_metrics, t2i_prompt_sources

LABELS = tuple(ObjectClass(s, s) for s in ("poodle.n.01", "pug.n.01", "siamese_cat.n.01", "sedan.n.01"))


class Model:
    def __init__(self, setup):
        self.why = Failure("no such file", missing=True)

    def generate(self, requests):
        for request in requests:
            drawn = "dog" not in request.prompt.text
            yield request, Generated(np.full((2, 2, 3), 40 * request.seed + 40, np.uint8)) if drawn else self.why


class FirstClass:
    def observe(self, capability, queries):
        for query in queries:
            yield query, ClassScores(np.array([1000, 0, 0, 0], np.float32), LABELS)


MODEL = GeneratorInfo(name="model", summary="Draws no dogs.", create=Model)
JUDGE = JudgeInfo(
    name="judge",
    summary="Sees a poodle.",
    capabilities={"classify": frozenset()},
    create=lambda setup: FirstClass(),
    labels=lambda argument, options: LABELS,
)


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    resolver = StaticResolver(MODEL, JUDGE, *t2i_metrics(), *t2i_prompt_sources())
    run = evaluate(
        ["isp", "scs"], "model", prompts="wordnet-imagenet", seeds=3, out=tmp_path / "r", resolver=resolver
    )
    return run, {result.metric: result for result in run.results}


def test_a_synset_without_images_is_counted_and_never_0(results):
    run, by_metric = results
    rows = run.measurements()
    isp = rows[rows["measure"] == "isp"].groupby("prompt")["value"].mean()
    dogs = {p for p in run.samples()["prompt"] if "dog" in p}
    assert {"dog.n.01"} <= dogs
    assert not dogs & set(isp.index)
    assert set(isp) == {0.0, 1.0}  # 1 above the poodle, 0 of what is above cat or car alone
    assert by_metric["isp"].score == pytest.approx(isp.mean())
    for result in by_metric.values():
        assert result.n_missing == 3 * len(dogs)
        assert result.n_failed == 0
    asked = run.samples()["prompt"].nunique()
    assert [by_metric["isp"].n_prompts, by_metric["isp"].n_prompts_ok] == [asked, asked - len(dogs)]
    lost = run.failures()
    assert set(lost[lost["kind"] == "missing"]["prompt"]) == dogs


def test_isp_alone_is_analysed(results, tmp_path):
    """Without any other metric of the run to stand beside it."""
    resolver = StaticResolver(MODEL, JUDGE, *t2i_metrics(), *t2i_prompt_sources())
    run = evaluate("isp", "model", prompts="wordnet-imagenet", seeds=3, out=tmp_path / "alone", resolver=resolver)
    found = {analysis.name for _, analysis in analyze_run(run, list_metrics(run, resolver), resolver)}
    assert {"lowest", "subtrees"} <= found
    assert not found & {"isp and scs", "correlations"}


def test_a_synset_with_one_class_is_excluded_from_scs_with_a_count(results):
    run, by_metric = results
    lost = run.failures()
    excluded = lost[(lost["metric"] == "scs") & (lost["kind"] == "excluded")]
    assert by_metric["scs"].n_excluded == len(excluded) > 0
    assert by_metric["scs"].n_prompts_ok == run.measurements().query("measure == 'scs'")["prompt"].nunique() > 0
    assert excluded["reason"].str.contains("a single one of the judge's classes").all()
