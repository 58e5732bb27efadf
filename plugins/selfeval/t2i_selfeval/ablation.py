"""Decisions with fewer trials, fewer steps and other estimators, computed from the stored terms.

The results are facets of rows, not measures, because an average over all variations has no meaning. A facet is a
text such as `1=-0.25 2=0.75`: the value of each variation, which is correctness minus chance for choices, and
correctness for pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from t2i_core.api.prompt import Prompt

from .estimators import Floats, Terms, combine_trials, log_likelihood, share

TRIALS, STEPS, ESTIMATORS = "by_trials", "by_steps", "by_estimator"
"""Names of the facets. The keys of `by_steps` are n/T: n of the T steps of a chain."""

_COUNTS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)


def counts(most: int) -> list[int]:
    """Return the numbers of trials or steps to compute decisions for, ascending; the last is `most`."""
    return [*(n for n in _COUNTS if n < most), most]


Decide = Callable[[Floats], float]
"""From the scores of a sample, or of a pair's images and captions, to the value of the decision."""


def score_above_chance(prompt: Prompt, scores: Floats) -> float:
    """Return the correctness of a decision, from 0 to 1, minus chance."""
    assert prompt.answer is not None  # see `Choices.check`
    return share(scores, prompt.answer) - 1 / len(prompt.texts)


def vary_trials(trials: Floats, estimator: str, decide: Decide) -> dict[str, float]:
    """Return the value of the decision by number of trials n, averaged over disjoint blocks of n trials.

    Args:
        trials: float64 of shape (trials, ...).
        estimator: The name of the estimator.
        decide: Gets the estimates, of the shape without trials.
    """
    total, found = len(trials), {}
    for n in counts(total):
        blocks = trials[: total // n * n].reshape(-1, n, *trials.shape[1:])
        found[str(n)] = float(np.mean([decide(combine_trials(block, estimator)) for block in blocks]))
    return found


def vary_steps(values: Floats, decide: Decide) -> dict[str, float]:
    """Return the value of the decision by number of steps n, from every T/n-th of the T steps.

    This differs from a chain of n steps, whose steps are larger. For that, the model must be queried again.

    Args:
        values: float64 of shape (trials, steps, ...).
        decide: Gets the means, of the shape without trials and steps.
    """
    total, found = values.shape[1], {}
    for n in counts(total):
        places = ((np.arange(n) + 0.5) * total / n).astype(int)
        found[f"{n}/{total}"] = decide(values[:, places].mean(axis=(0, 1)))
    return found


def list_estimators(terms: Terms) -> tuple[str, ...]:
    """Return the estimators that these terms allow."""
    return ("mean", "log-mean-exp", *(("q-mean", "q-log-mean-exp") if "log_q" in terms else ()))


def vary_estimator(terms: Terms, decide: Decide) -> dict[str, float]:
    """Return the value of the decision by estimator.

    Args:
        terms: Terms of all captions.
        decide: Gets the estimates, of shape (captions,).
    """
    return {name: decide(log_likelihood(terms, name)) for name in list_estimators(terms)}


def write_values(found: Mapping[str, float]) -> str:
    """Return numbers by name as the text of a facet."""
    return " ".join(f"{name}={value:.9g}" for name, value in found.items())


def read_values(text: str) -> dict[str, float]:
    """Read the text that `write_values` returned."""
    return {name: float(value) for name, _, value in (part.partition("=") for part in text.split())}
