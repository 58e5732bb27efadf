"""Estimators: from the terms of a likelihood to one score per caption, and from scores to decisions.

Terms have the shape (trials, steps, captions), priors (trials, captions). Terms of an eliminated caption are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Terms = Mapping[str, Floats]


class UnusableTerms(Exception):
    """The model's terms do not suffice for the requested estimate."""


def sum_over_steps(terms: Terms, corrected: bool) -> Floats:
    """Return log p(x_0 ... x_T | caption) of each trial: equation 9 without its sum over trials.

    Args:
        terms: The terms.
        corrected: Subtract log q(x_1 ... x_T | x_0). The expectation is then the bound on log p(x_0 | caption).

    Returns:
        float64 of shape (trials, captions), in nats.

    Raises:
        UnusableTerms: If a term is missing.
    """
    found: Floats = _term(terms, "log_p").sum(axis=1) + _term(terms, "log_prior")
    if corrected:
        found -= _term(terms, "log_q").sum(axis=1)
    return found


def combine_trials(trials: Floats, estimator: str) -> Floats:
    """Combine the trials, the first axis, into one number per caption.

    Args:
        trials: float64 of shape (trials, captions), in nats.
        estimator: `mean` of the log-probabilities; `sum` of them, which is equation 9 as printed; or
            `log-mean-exp`, the log of the mean probability. A prefix `q-` changes nothing here (see
            `sum_over_steps`).

    Returns:
        float64 of shape (captions,).
    """
    found: Floats
    if estimator.endswith("log-mean-exp"):
        highest = trials.max(axis=0)
        found = highest + np.log(np.exp(trials - highest).mean(axis=0))
    else:
        found = trials.sum(axis=0) if estimator == "sum" else trials.mean(axis=0)
    return found


def log_likelihood(terms: Terms, estimator: str) -> Floats:
    """Estimate log p(x | caption) from the terms of all captions, none of them eliminated.

    Returns:
        float64 of shape (captions,), in nats.

    Raises:
        UnusableTerms: If a term is missing.
    """
    return combine_trials(sum_over_steps(terms, estimator.startswith("q-")), estimator)


def negate_errors(terms: Terms, weighted: bool) -> Floats:
    """Return the negative squared errors, so that higher is better.

    Args:
        terms: The terms.
        weighted: Multiply by the weights of a flow's bound; the result is in nats.

    Returns:
        float64 of shape (trials, steps, captions).

    Raises:
        UnusableTerms: If the errors or the weights are missing.
    """
    error = _term(terms, "error")
    return -(_term(terms, "weight") * error if weighted else error)


def score_remaining(values: Floats) -> Floats:
    """Return the mean of each caption's terms, or minus infinity for an eliminated caption.

    A caption with fewer terms than another is an eliminated one.

    Args:
        values: float64 of shape (trials, steps, captions); higher is better.

    Returns:
        float64 of shape (captions,).
    """
    flat = values.reshape(-1, values.shape[-1])
    there = np.isfinite(flat)
    counts = there.sum(axis=0)
    sums = np.where(there, flat, 0).sum(axis=0)
    return np.where(counts == counts.max(), sums / np.maximum(counts, 1), -np.inf)


def is_complete(values: Floats) -> bool:
    """Return whether no caption was eliminated."""
    return bool(np.isfinite(values).all())


def share(scores: Floats, answer: int) -> float:
    """Return the correctness of a decision: 1/k if the answer is among k captions tied for the best, else 0."""
    best = scores == scores.max()
    return float(best[answer] / best.sum())


def posterior(log_p: Floats) -> Floats:
    """Return the posterior probability of each caption under a uniform prior: the softmax."""
    likely = np.exp(log_p - log_p.max())
    found: Floats = likely / likely.sum()
    return found


def certainty(values: Floats) -> float:
    """Return z: the mean difference between the terms of the best two captions over its standard error.

    Args:
        values: float64 of shape (trials, steps, captions), without eliminated captions.

    Returns:
        z, at least 0; infinity if the difference is positive and does not vary.
    """
    flat = values.reshape(-1, values.shape[-1])
    best, second = np.argsort(-flat.mean(axis=0), kind="stable")[:2]
    difference = flat[:, best] - flat[:, second]
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    mean = float(difference.mean())
    return mean / error if error > 0 else (np.inf if mean > 0 else 0.0)


def _term(terms: Terms, name: str) -> Floats:
    if name not in terms:
        raise UnusableTerms(f"the model returned no terms {name!r} (got {', '.join(sorted(terms))})")
    return terms[name]
