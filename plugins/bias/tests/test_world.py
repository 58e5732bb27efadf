"""On the mini world, whose people wear what is put in: VALIDATION's lines, and what people say beside the judge.

Nothing is drawn here but noise: the simulator chooses what its people wear, and the ideal judge reads that.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.result import Score
from t2i_core.statistics import wilson

ENOUGH = {20: 16, 10: 8}
"""Number of salts. An interval misses the truth one time in twenty: a right program fails 20 of them one time in
400, and 10 of them one time in 90."""
TOGETHER = 2
"""Number of salts in one run; more take long, because each two of its models are compared."""
SEEDS = 9
SLOW = (pytest.mark.slow, pytest.mark.timeout(3600))


def voted(skew, seeds=SEEDS):
    """The chance that most of a prompt's images show what one image shows with this chance."""
    return sum(comb(seeds, k) * skew**k * (1 - skew) ** (seeds - k) for k in range(seeds // 2 + 1, seeds + 1))


def run_of(models, folder, name="run", **more):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        return evaluate("bias", models, judge="oracle", out=folder / name, **more)


def test_the_validations_own_number():
    assert voted(0.8) == pytest.approx(0.980, abs=5e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("skew", "seeds", "limit", "salts"),
    [
        pytest.param(0.8, 3, 6, 10, id="0.8, a few"),
        *(pytest.param(skew, SEEDS, None, 20, marks=SLOW, id=str(skew)) for skew in (0.5, 0.6, 0.8, 1.0)),
    ],
)
def test_intervals_hold_what_was_put_in(undrawn, skew, seeds, limit, salts, tmp_path):
    results, images = [], 0
    for first in range(0, salts, TOGETHER):
        settings = [{"skew": f"hat:yes:{skew}", "salt": salt} for salt in range(first, first + TOGETHER)]
        models = [ModelRequest(undrawn, f"salt {one['salt']}", one) for one in settings]
        more = {"seeds": seeds, "limit": limit, "options": {"metric:bias": {"only": ["hat"]}}}
        run = run_of(models, tmp_path, f"run-{first}", **more)
        results += run.results
        images += len(run.samples())
    vote = voted(skew, seeds)
    away = abs(vote - 0.5)
    for name, truth in {"mad": away, "mad-n-1": 2 * away, "std": away, "image-mad": skew - 0.5}.items():
        assert holding(truth, [result.scores[name] for result in results]) >= ENOUGH[salts], name
    for name, truth, trials in (("vote-share", vote, images / seeds), ("image-share", skew, images)):
        shares = [result.facets[name]["answer"]["hat: hat"] for result in results]
        assert holding(truth, shares) >= ENOUGH[salts], name
        lo, hi = wilson(np.mean([share.value for share in shares]) * trials, trials, 0.9999)
        assert lo <= truth <= hi, name
    if skew == 0.5:  # no interval of a resampled MAD would reach 0
        assert sum(result.ci[0] == 0 for result in results) >= ENOUGH[salts]


def holding(truth, scores):
    return sum(score.ci[0] - 1e-9 <= truth <= score.ci[1] + 1e-9 for score in scores)


@pytest.fixture(scope="module")
def run(undrawn, tmp_path_factory):
    """Two models, one of which puts hats on nearly everybody and long hair on all."""
    models = [
        ModelRequest(undrawn, "even", {"salt": 1}),
        ModelRequest(undrawn, "skewed", {"skew": "hat:yes:0.95,hair:long:1", "salt": 1}),
    ]
    return run_of(models, tmp_path_factory.mktemp("two"), limit=9)


@pytest.mark.long
def test_the_domain_brings_prompts_seeds_and_groups(run):
    result = run.results[0]
    assert result.prompts == "bias-mini"
    assert result.n_seeds == SEEDS
    assert set(result.facets["mad"]["group"]) == {"hat", "hair", "coat"}
    assert result.facets["mad"]["group-in-category"].keys() >= {"hat (alone)", "coat (object)"}


@pytest.mark.long
def test_models_are_compared_paired(run):
    (comparison,) = run.comparisons
    assert (comparison.a, comparison.b) == ("even", "skewed")
    assert comparison.diff < 0
    assert comparison.ci[0] < comparison.diff < comparison.ci[1]


def test_one_category_alone(run):
    skewed = run.results[1].facets
    assert skewed["mad"]["group"]["hair"].value == 0.5
    assert skewed["mad"]["group"]["hair"].ci[1] == 0.5
    assert skewed["mad-n-1"]["group"]["hair"].value == 1
    assert skewed["vote-share"]["answer"]["hair: long"].value == 1


def test_the_notes_of_a_score(run):
    notes = run.results[0].notes
    assert sum("by chance an unbiased model would show" in note for note in notes) == 3
    assert not any("one seed" in note for note in notes)


def test_a_detector_finds_whom_the_simulator_drew(undrawn, tmp_path):
    """The simulator's people are people to the ideal judge."""
    model = ModelRequest(undrawn, "m", {})
    more = {"limit": 3, "seeds": 3, "options": {"metric:bias": {"person": True, "only": ["hat"]}}}
    result = run_of(model, tmp_path, **more).results[0]
    assert [judge.need for judge in result.judges] == ["images", "texts", "persons"]
    assert result.scores["no-person"].value == 0
    assert result.scores["n_no_person"] == Score(value=0.0, ci=[None, None])
    assert any("n_no_person: in 0 of 9 images no person is found" in note for note in result.notes)
