"""Arithmetic on the terms of a likelihood: from terms to one number a caption, and from numbers to decisions.

Terms have the shape (trials, steps, captions), priors (trials, captions); NaN where a caption was given up.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Terms = Mapping[str, Floats]


class UnusableTerms(Exception):
    """Terms that do not tell what is asked, and why."""


def trials_of(terms: Terms, corrected: bool) -> Floats:
    """Return each trial's log p(x_0 ... x_T | caption), (trials, captions): eq. 9 before its sum over trials.

    corrected: less log q(x_1 ... x_T | x_0), whose expectation is the bound on log p(x_0 | caption)

    Raises UnusableTerms where a term is not there.
    """
    found: Floats = _term(terms, "log_p").sum(axis=1) + _term(terms, "log_prior")
    if corrected:
        found -= _term(terms, "log_q").sum(axis=1)
    return found


def estimated(trials: Floats, estimator: str) -> Floats:
    """Return one number a caption of its trials, the first axis.

    mean: of log-probabilities. sum: eq. 9 to the letter. log-mean-exp: the log of the mean of probabilities. What
    `q-` adds is in the trials already (`trials_of`)
    """
    found: Floats
    if estimator.endswith("log-mean-exp"):
        highest = trials.max(axis=0)
        found = highest + np.log(np.exp(trials - highest).mean(axis=0))
    else:
        found = trials.sum(axis=0) if estimator == "sum" else trials.mean(axis=0)
    return found


def log_likelihood(terms: Terms, estimator: str) -> Floats:
    """Return log p(x | caption), (captions,), in nats, where no caption was given up. Raises UnusableTerms."""
    return estimated(trials_of(terms, estimator.startswith("q-")), estimator)


def errors_of(terms: Terms, weighted: bool) -> Floats:
    """Return minus the squared errors, (trials, steps, captions): higher is better.

    weighted: by the weights of a flow's bound, in nats

    Raises UnusableTerms where there are no weights.
    """
    error = _term(terms, "error")
    return -(_term(terms, "weight") * error if weighted else error)


def standing(values: Floats) -> Floats:
    """Return the mean of each caption's terms, (captions,); minus infinity for those that were given up.

    values: (trials, steps, captions), higher is better. Who has fewer terms than another was given up.
    """
    flat = values.reshape(-1, values.shape[-1])
    there = np.isfinite(flat)
    counts = there.sum(axis=0)
    sums = np.where(there, flat, 0).sum(axis=0)
    return np.where(counts == counts.max(), sums / np.maximum(counts, 1), -np.inf)


def complete(values: Floats) -> bool:
    """Whether no caption was given up."""
    return bool(np.isfinite(values).all())


def share(scores: Floats, answer: int) -> float:
    """Return how right a decision is: 1 where the answer is best alone, a share of it among equals, else 0."""
    best = scores == scores.max()
    return float(best[answer] / best.sum())


def posterior(log_p: Floats) -> Floats:
    """Return the probability of each caption where all are alike before the image is seen: softmax."""
    likely = np.exp(log_p - log_p.max())
    found: Floats = likely / likely.sum()
    return found


def certainty(values: Floats) -> float:
    """Return z: the mean over its standard error of the best caption's terms minus the second's.

    values: (trials, steps, captions), none given up. Infinite where the difference does not vary
    """
    flat = values.reshape(-1, values.shape[-1])
    best, second = np.argsort(-flat.mean(axis=0), kind="stable")[:2]
    difference = flat[:, best] - flat[:, second]
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    mean = float(difference.mean())
    return mean / error if error > 0 else (np.inf if mean > 0 else 0.0)


def _term(terms: Terms, name: str) -> Floats:
    if name not in terms:
        raise UnusableTerms(f"the model gave no terms {name!r} (it gave {', '.join(sorted(terms))})")
    return terms[name]
