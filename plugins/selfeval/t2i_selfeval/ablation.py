"""What fewer trials, fewer steps and other estimators would have decided: arithmetic on the terms that are there.

A mean over all of them would say nothing, so they are no measures: each sample's row of the headline carries them
as facets, texts such as `1=-0.25 2=0.75`: how right the decision is, less chance, by what was varied.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from t2i_core.api.prompt import Prompt

from .estimators import Floats, Terms, estimated, log_likelihood, share

TRIALS, STEPS, ESTIMATORS = "by_trials", "by_steps", "by_estimator"
"""Facets. Steps are written n/T: n of a chain's T steps."""

_COUNTS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)


def counts(most: int) -> list[int]:
    """Return how many of something are tried, ascending, `most` the last."""
    return [*(n for n in _COUNTS if n < most), most]


def above(prompt: Prompt, scores: Floats) -> float:
    """Return how right a decision is, less chance."""
    assert prompt.answer is not None  # as checked before anything ran
    return share(scores, prompt.answer) - 1 / len(prompt.texts)


def by_trials(prompt: Prompt, trials: Floats, estimator: str) -> dict[str, float]:
    """By n of the trials, (trials, captions): the mean over as many blocks of n as there are."""
    total, found = len(trials), {}
    for n in counts(total):
        blocks = trials[: total // n * n].reshape(-1, n, trials.shape[-1])
        found[str(n)] = float(np.mean([above(prompt, estimated(block, estimator)) for block in blocks]))
    return found


def by_steps(prompt: Prompt, values: Floats) -> dict[str, float]:
    """By n of the steps of (trials, steps, captions), whose mean decides: every T/n-th of the T that are there.

    A chain of n steps has larger ones: it is another chain, which the model must be asked about.
    """
    total, found = values.shape[1], {}
    for n in counts(total):
        places = ((np.arange(n) + 0.5) * total / n).astype(int)
        found[f"{n}/{total}"] = above(prompt, values[:, places].mean(axis=(0, 1)))
    return found


def by_estimator(prompt: Prompt, terms: Terms) -> dict[str, float]:
    """By each estimator that these terms have; the captions come first among theirs."""
    names = ("mean", "log-mean-exp", *(("q-mean", "q-log-mean-exp") if "log_q" in terms else ()))
    captions = len(prompt.texts)
    return {name: above(prompt, log_likelihood(terms, name)[:captions]) for name in names}


def written(found: Mapping[str, float]) -> str:
    """Return numbers by name as a facet's text."""
    return " ".join(f"{name}={value:.9g}" for name, value in found.items())


def read(text: str) -> dict[str, float]:
    """Read what `written` wrote."""
    return {name: float(value) for name, _, value in (part.partition("=") for part in text.split())}
