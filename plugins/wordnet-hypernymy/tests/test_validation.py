"""ISP and SCS against the mini world's truth: twenty worlds each, of whose intervals most must hold it."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core import ModelRequest, evaluate
from t2i_wordnet_hypernymy import scores

SALTS, ENOUGH = 20, 16
"""A 95 % interval fails one time in twenty; fewer than 16 of 20 hold .3 % of the time."""
LEAVES = 37
SETTINGS = {"size": 64, "spp": 1, "workers": 2}

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def evaluated(metric, **settings):
        models = [
            ModelRequest("simulator", f"salt {salt}", {**SETTINGS, **settings, "salt": salt})
            for salt in range(SALTS)
        ]
        run = evaluate(
            metric, models, prompts="wordnet-mini", seeds=5, limit=14, judge="oracle:leaves", out=tmp_path / "run"
        )
        leaves = run.measurements().groupby("prompt", observed=True)["leaves"].first().astype(int)
        return [result["scores"] for result in run.results["results"]], leaves.to_numpy()

    return evaluated


def holding(found, name, truth):
    return sum(one[name]["ci"][0] <= truth <= one[name]["ci"][1] for one in found)


def test_isp_falls_by_wrong_objects_as_it_must(run):
    found, leaves = run("isp", wrong_object=0.3)
    truth = float((1 - 0.3 * (LEAVES - leaves) / (LEAVES - 1)).mean())
    assert holding(found, "isp", truth) >= ENOUGH
    assert np.mean([one["isp"]["value"] for one in found]) == pytest.approx(truth, abs=0.02)


def test_scs_is_what_uniform_hyponyms_give(run):
    found, leaves = run("scs")
    truth = float(np.mean([scores.uniform(int(n), 5) for n in leaves]))
    assert holding(found, "divergence", truth) >= ENOUGH
    assert np.mean([one["divergence"]["value"] for one in found]) == pytest.approx(truth, abs=0.06)


def test_scs_of_one_fixed_hyponym_is_nothing(run):
    found, _ = run("scs", hyponyms="fixed")
    assert [one["divergence"]["value"] for one in found] == pytest.approx([0] * SALTS, abs=1e-9)
