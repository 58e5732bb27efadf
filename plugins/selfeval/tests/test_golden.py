"""The golden cases, and what the toy chain's estimators converge to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from t2i_core.api import Setup
from t2i_selfeval.choices import ABOVE, ABOVE_PAPER, ACCURACY, CHANCE
from t2i_selfeval.estimators import (
    combine_trials,
    log_likelihood,
    negate_errors,
    posterior,
    score_remaining,
    sum_over_steps,
)
from t2i_selfeval.metrics import SelfEval
from t2i_selfeval.options import SelfEvalOptions

NOISE = {"markov": "markov", "shared": "trial", "marginal": "marginal"}
CASES = [
    f"{noise} | {variance} | {chain}"
    for noise in NOISE
    for variance in ("fixed_large(beta_t)", "fixed_small_clipped(beta~_1:=beta~_2)")
    for chain in ("teacher", "free_running_mean")
]


@pytest.fixture
def chain(toy: Any, golden: Any) -> Any:
    """Make the golden cases' chain of a caption, c0's by default."""
    given = golden("selfeval-01")["inputs"]
    betas, x0 = np.array(given["betas"]), np.array(given["x0"])
    return lambda gain=0.5, beta=True: toy.Chain(betas, x0, gain, beta)


@pytest.mark.parametrize("case", CASES)
def test_the_toy_chain(case: str, golden: Any, toy: Any, chain: Any) -> None:
    given, expected = golden("selfeval-01")["inputs"], golden("selfeval-01")["expected"][case]
    noise, variance, conditioning = case.split(" | ")
    terms = toy.of_captions(
        [chain(gain, variance.startswith("fixed_large")) for gain in given["a"].values()],
        np.array(given["eps[n][t]"]).transpose(1, 0, 2),
        mode=NOISE[noise],
        free=conditioning != "teacher",
    )
    trials = sum_over_steps(terms, corrected=False)
    for k, caption in enumerate(given["a"]):
        own = expected[caption]
        assert trials[:, k] == pytest.approx(own["per_trial"], abs=1e-6)
        names = {"sum": "sum(eq.9)", "mean": "mean", "log-mean-exp": "log_mean_exp"}
        for estimator, name in names.items():
            assert combine_trials(trials, estimator)[k] == pytest.approx(own[name], abs=1e-6)
    share = posterior(log_likelihood(terms, "mean"))[0]
    assert share == pytest.approx(expected["posterior_c0_from_mean"], abs=1e-6)


def test_the_posterior(golden: Any) -> None:
    case = golden("selfeval-03")
    found = posterior(np.array(case["inputs"]["log_p"]))
    assert found == pytest.approx(case["expected"]["posterior"], abs=1e-6)
    assert int(found.argmax()) == case["expected"]["argmax"]


def test_accuracy_less_the_papers_chance(golden: Any) -> None:
    case = golden("selfeval-04")
    names = {"color": "colour", "count": "count"}
    rows = []
    for task, runs in case["inputs"]["correct_of_1000_three_runs"].items():
        for seed, correct in enumerate(runs):
            for n in range(1000):
                own = {"task": names[task], "prompt": f"{task}-{n}", "seed": seed}
                right = float(n < correct)
                rows += [{**own, "measure": ACCURACY, "value": right}, {**own, "measure": CHANCE, "value": 0.25}]
                rows.append({**own, "measure": ABOVE, "value": right - 0.25})
    table = pd.DataFrame(rows)
    metric = SelfEval(Setup(None, SelfEvalOptions()))
    for task, expected in case["expected"].items():
        own = table[table["task"] == names[task]].reset_index(drop=True)
        scores = metric.aggregate(metric.prepare(own), np.ones(len(own)))
        assert 100 * scores[ABOVE_PAPER] == pytest.approx(expected, abs=1e-6)
        assert scores[ABOVE] == pytest.approx(scores[ABOVE_PAPER])
    both = metric.aggregate(metric.prepare(table), np.ones(len(table)))
    assert 100 * both[ABOVE_PAPER] == pytest.approx(np.mean(list(case["expected"].values())), abs=1e-6)


def test_the_errors_of_li_et_al(golden: Any) -> None:
    expected = golden("selfeval-05")["expected"]
    error = np.stack([expected[caption]["per_t_mse"] for caption in ("c0", "c1")], axis=-1)[None]
    scores = score_remaining(negate_errors({"error": error}, weighted=False))
    assert scores == pytest.approx([expected[c]["score=-mean"] for c in ("c0", "c1")], abs=1e-6)


TRIALS = 50_000


@pytest.mark.parametrize("beta", [True, False])
@pytest.mark.parametrize("gain", [0.5, 0.1])
def test_each_estimator_meets_its_own_closed_form(beta: bool, gain: float, chain: Any) -> None:
    one = chain(gain, beta)
    noise = np.random.default_rng(1).normal(size=(3, TRIALS, 2))
    terms = {name: term[..., None] for name, term in one.terms(noise).items()}
    for estimator, expected in one.expected().items():
        trials = sum_over_steps(terms, estimator.startswith("q-"))[:, 0]
        if estimator.endswith("exp"):  # an error of the mean's logarithm
            weights = np.exp(trials - trials.max())
            trials = weights / weights.mean()
        error = trials.std() / np.sqrt(TRIALS)
        assert log_likelihood(terms, estimator)[0] == pytest.approx(expected, abs=5 * error)


def test_the_numbers_that_validation_names(chain: Any) -> None:
    expected = chain().expected()
    assert expected["q-log-mean-exp"] == pytest.approx(-2.253, abs=1e-3)
    assert expected["log-mean-exp"] == pytest.approx(-4.733, abs=2e-3)
    assert expected["mean"] == pytest.approx(-5.694, abs=2e-3)


def test_the_corrected_estimate_nears_the_exact_one_as_trials_grow(chain: Any) -> None:
    one, far = chain(), []
    for trials in (1, 10, 100):
        noise = np.random.default_rng(trials).normal(size=(3, 400 * trials, 2))
        each = sum_over_steps({n: t[..., None] for n, t in one.terms(noise).items()}, corrected=True)
        found = [combine_trials(block, "q-log-mean-exp")[0] for block in each.reshape(400, trials, 1)]
        far.append(abs(float(np.mean(found)) - one.exact()))
    assert far[0] > 3 * far[1] > 9 * far[2]
    assert far[2] < 0.003
