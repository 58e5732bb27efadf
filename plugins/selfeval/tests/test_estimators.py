"""What holds for any terms: order, ties, shifts, captions that were given up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from t2i_selfeval.estimators import (
    UnusableTerms,
    certainty,
    combine_trials,
    log_likelihood,
    negate_errors,
    posterior,
    score_remaining,
    share,
    sum_over_steps,
)

ESTIMATORS = ("mean", "sum", "log-mean-exp", "q-mean", "q-log-mean-exp")
# whole numbers, which shifts and sums leave exact
NUMBERS = st.integers(-50, 50).map(float)
TERMS = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(2, 5), st.integers(2, 5)), elements=NUMBERS)


def chain(log_p):
    return {"log_p": log_p, "log_prior": np.zeros((len(log_p), log_p.shape[2])), "log_q": np.ones(log_p.shape)}


@given(TERMS, st.data(), st.sampled_from(ESTIMATORS))
def test_captions_in_another_order_are_decided_alike(log_p, data, estimator) -> None:
    order = data.draw(st.permutations(range(log_p.shape[2])))
    scores = log_likelihood(chain(log_p), estimator)
    moved = log_likelihood(chain(log_p[..., order]), estimator)
    assert moved == pytest.approx(scores[order])
    for place, caption in enumerate(order):
        assert share(np.round(moved, 6), place) == share(np.round(scores, 6), caption)


@given(TERMS)
def test_the_shares_of_all_captions_are_one(log_p) -> None:
    scores = score_remaining(log_p)
    assert sum(share(scores, k) for k in range(len(scores))) == pytest.approx(1)


@given(TERMS, st.integers(-1000, 1000), st.sampled_from(ESTIMATORS))
def test_a_shift_of_all_terms_changes_nothing(log_p, shift, estimator) -> None:
    before, after = (log_likelihood(chain(terms), estimator) for terms in (log_p, log_p + shift))
    assert posterior(after) == pytest.approx(posterior(before), abs=1e-9)
    assert [share(score_remaining(log_p + shift), k) for k in range(log_p.shape[2])] == [
        share(score_remaining(log_p), k) for k in range(log_p.shape[2])
    ]


@given(TERMS)
def test_a_log_of_means_is_no_less_than_the_mean_of_logs(log_p) -> None:
    trials = sum_over_steps(chain(log_p), corrected=False)
    assert (combine_trials(trials, "log-mean-exp") >= combine_trials(trials, "mean") - 1e-9).all()
    assert combine_trials(trials[:1], "log-mean-exp") == pytest.approx(trials[0])


def test_a_correction_by_what_captions_share_changes_no_mean_but_its_log() -> None:
    rng = np.random.default_rng(0)
    terms = chain(rng.normal(size=(3, 4, 2)))
    terms["log_q"] = np.repeat(rng.normal(0, 5, size=(3, 4, 1)), 2, axis=2)
    gap = {e: float(np.diff(log_likelihood(terms, e))[0]) for e in ESTIMATORS}
    assert gap["q-mean"] == pytest.approx(gap["mean"])
    assert gap["q-log-mean-exp"] != pytest.approx(gap["log-mean-exp"])


def test_ties_are_shared() -> None:
    scores = np.array([1.0, 3.0, 3.0, 2.0])
    assert [share(scores, k) for k in range(4)] == [0, 0.5, 0.5, 0]


def test_dropped_captions_cannot_win() -> None:
    values = np.array([[[1.0, 9.0, 2.0], [1.0, np.nan, 2.5]]])
    assert score_remaining(values).tolist() == [1.0, -np.inf, 2.25]


def test_z_is_the_paired_difference_of_the_best_two() -> None:
    values = np.array([[[5.0, 1.0, 0.0], [7.0, 5.0, 0.0]]])
    assert certainty(values) == pytest.approx(3 / (np.sqrt(2) / np.sqrt(2)))
    assert certainty(np.ones((1, 4, 2))) == 0
    assert certainty(np.array([[[2.0, 1.0], [3.0, 2.0]]])) == np.inf


def test_terms_that_are_not_there_are_named() -> None:
    with pytest.raises(UnusableTerms, match=r"no terms 'log_p' \(got error\)"):
        log_likelihood({"error": np.zeros((1, 2, 2))}, "mean")
    with pytest.raises(UnusableTerms, match="no terms 'weight'"):
        negate_errors({"error": np.zeros((1, 2, 2))}, weighted=True)
