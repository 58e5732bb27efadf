"""Values of prompts beside values of their images, and scores whose intervals follow from those of means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from t2i_core import ModelRequest, evaluate
from t2i_core.api import Measure, MetricInfo, Need, PromptMetric, Row, Rows, TableMetric
from t2i_core.api.errors import BrokenPlugin
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

SEEDS = 5


class Distance(TableMetric, PromptMetric):
    """How far the share of images that are right is from a half."""

    needs = (Need("features", "features"),)

    def measure(self, unit):
        assert [observed.sample.seed for observed in unit.observed] == list(unit.seeds)
        right = np.array([float(int(1e4 * o.one("features").values.sum()) % 2) for o in unit.observed])
        yield Rows("right", right, {"side": "a"})
        yield Rows("right", 1 - right[1:], {"side": "b"}, seeds=unit.seeds[1:])
        yield Row("images", len(right))

    def aggregate(self, table, weights):
        own = ((table["measure"] == "right") & (table["side"] == "a")).to_numpy()
        share = np.average(table["value"].to_numpy()[own], weights=weights[own])
        return {"distance": abs(float(share) - 0.5)}

    def estimates(self, table, mean):
        share = mean(table[(table["measure"] == "right") & (table["side"] == "a")])
        ends = [abs(end - 0.5) for end in (share.lo, share.hi)]
        low = 0.0 if share.lo <= 0.5 <= share.hi else min(ends)
        return {"distance": replace(share, value=abs(share.value - 0.5), lo=low, hi=max(ends)), "right": None}


MEASURES = (
    Measure("distance", "x", low=0, high=0.5),
    Measure("right", "x", low=0, high=1, facets=("side",)),
    Measure("images", "x"),
)


def evaluated(cls, folder):
    metric = MetricInfo(name="metric", summary="x", create=cls, measures=MEASURES)
    models = [ModelRequest(TEST_MODEL, label) for label in "ab"]
    resolver = StaticResolver(TEST_JUDGE, TEST_PROMPTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        return evaluate(metric, models, prompts="test-prompts", seeds=SEEDS, out=folder / "run", resolver=resolver)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return evaluated(Distance, tmp_path_factory.mktemp("own"))


@pytest.mark.long
def test_rows_of_some_samples_stand_beside_values_of_prompts(run):
    table = run.measurements().query("model == 'a'")
    right = table[table["measure"] == "right"]
    assert set(right[right["side"] == "a"]["seed"]) == set(range(SEEDS))
    assert set(right[right["side"] == "b"]["seed"]) == set(range(1, SEEDS))
    assert right["seeds"].isna().all()
    images = table[table["measure"] == "images"]
    assert images["seed"].isna().all()
    assert images["value"].eq(SEEDS).all()


def test_an_interval_follows_from_that_of_a_mean(run):
    result = run.results[0]
    side = result.facets["right"]["side"]["a"]
    lo, hi = side.ci
    assert result.score == pytest.approx(abs(side.value - 0.5))
    assert result.ci[1] == pytest.approx(max(abs(lo - 0.5), abs(hi - 0.5)))
    assert "reweighted" not in result.interval
    assert "prompts x seeds" in result.interval


def test_a_mean_that_says_nothing_is_left_out_but_for_its_facets(run):
    result = run.results[0]
    assert list(result.scores) == ["distance", "images"]
    assert set(result.facets["right"]["side"]) == {"a", "b"}


def test_values_of_prompts_do_not_rest_on_one_seed(run):
    result = run.results[0]
    assert not any("one seed" in note for note in result.notes)
    assert result.scores["images"].notes == []


def test_models_are_compared_by_reweighting(run):
    (comparison,) = run.comparisons
    assert comparison.diff == 0
    prompts = run.measurements()["prompt"].nunique()
    assert comparison.n == prompts * SEEDS  # and not the rows of both models, nor those of prompts


class Surer(Distance):
    def aggregate(self, table, weights):
        return {}

    def estimates(self, table, mean):
        return {"distance": None, "right": mean(table[table["measure"] == "right"], 0.99)}


def test_a_mean_may_be_asked_for_at_another_level(run, tmp_path):
    usual = run.results[0].facets["right"]["side"]["a"].ci
    lo, hi = evaluated(Surer, tmp_path).results[0].facets["right"]["side"]["a"].ci
    assert lo < usual[0] < usual[1] < hi


class Strange(Distance):
    def estimates(self, table, mean):
        return {"distance": 0.3}


class Foreign(Distance):
    def measure(self, unit):
        yield Rows("right", np.ones(1), {"side": "a"}, seeds=(99,))


@pytest.mark.parametrize(
    ("cls", "fault"),
    [
        (Strange, "gave float"),
        (Foreign, "seeds for 'right' that are not those of the unit's samples"),
    ],
)
def test_rows_that_do_not_fit_are_errors_of_the_metric(tmp_path, cls, fault):
    with pytest.raises(BrokenPlugin, match=fault):
        evaluated(cls, tmp_path)
