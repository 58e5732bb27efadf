"""The interval of a mean over samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .design import FEW, Design, Floats, Question, make_design
from .estimate import (
    Estimate,
    Form,
    Range,
    check_level,
    check_range,
    estimate_constant,
    estimate_from_variance,
    estimate_without_interval,
)


@dataclass(frozen=True)
class WeightedRows:
    """Rows with positive weight, their weighted mean, and each row's influence on it."""

    value: Floats
    mean: float
    influence: Floats

    @property
    def binary(self) -> bool:
        """Whether all values are 0 or 1."""
        return bool(((self.value == 0) | (self.value == 1)).all())


def make_sample(value: ArrayLike, weights: ArrayLike | None) -> tuple[WeightedRows, np.ndarray | None]:
    """Check values and weights; returns the sample and, where rows have no weight, which rows remain.

    Raises ValueError for values that are not finite, weights that are negative or not finite, no weight at
    all, or shapes that differ.
    """
    y = np.asarray(value, dtype=np.float64)
    if y.ndim != 1:
        raise ValueError(f"value must be one-dimensional, got shape {y.shape}")
    if len(y) == 0:
        raise ValueError("no rows: nothing to estimate")
    kept = None
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights is not None:
        if w.shape != y.shape:
            raise ValueError(f"weights must have shape {y.shape}, got {w.shape}")
        if not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any():
            raise ValueError("weights must be finite, none negative and some positive")
        if (w == 0).any():
            kept = w > 0
            y, w = y[kept], w[kept]
    if not np.isfinite(y).all():
        raise ValueError("values must be finite: leave failed samples out and count them")
    total = w.sum()
    mean = min(max(float((w * y).sum() / total), float(y.min())), float(y.max()))  # whatever the rounding
    return WeightedRows(y, mean, w * (y - mean) / total), kept


def sample_and_design(
    value: ArrayLike,
    weights: ArrayLike | None,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    strata: ArrayLike | None,
    *,
    interval: Question,
    crossed: bool,
) -> tuple[WeightedRows, Design]:
    """Check a mean's input; returns its sample and its design, both without the rows of weight 0."""
    sample, kept = make_sample(value, weights)

    def labels(given: ArrayLike, name: str) -> np.ndarray:
        array = np.asarray(given)
        if kept is None:
            return array
        if array.shape != kept.shape:
            raise ValueError(f"{name} must have one label for each of {len(kept)} rows, got {array.shape}")
        return np.asarray(array[kept])

    design = make_design(
        labels(prompt, "prompt"),
        None if seed is None else labels(seed, "seed"),
        len(sample.value),
        interval=interval,
        crossed=crossed,
        strata=None if strata is None else labels(strata, "strata"),
    )
    return sample, design


def mean_interval(
    value: ArrayLike,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    weights: ArrayLike | None = None,
    interval: Question = "new",
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
    crossed: bool = True,
    strata: ArrayLike | None = None,
) -> Estimate:
    """Estimate the mean of a measure over samples, with its interval.

    ``value``, ``prompt`` and ``seed`` have one entry per row (float; labels of any hashable kind). Several
    rows per (prompt, seed) and missing cells are fine: the mean is over rows (a ratio estimate), so leave
    failed samples out. ``weights`` (at least 0) weight the rows.

    ``interval`` is the question: "new" prompts and seeds, new "prompts" with these seeds, or new "seeds" with
    these prompts. ``crossed`` says that prompts share their seeds; where they do not, prompts are the
    clusters. ``seed`` None: each row is a prompt's own summary, prompts are the clusters. ``strata``: a label
    per row, the category of its prompt, where prompts were drawn by category; prompts are then compared
    within their category.

    ``low`` and ``high`` are the measure's declared range, in its own unit. Values that are all 0 or 1
    (range not declared, or [0, 1]) get Wilson's interval on the effective sample size that the clustering
    leaves, with t quantiles; other measures with both bounds t on the logit scale; the rest plain t.
    Data without any variation count every cluster as one trial (Clopper-Pearson); a single cluster gives the
    declared range, or NaN.

    Raises ValueError for values that are not finite or outside the range, bad weights, labels missing or of
    another length, a prompt in two strata, or a level outside (0, 1).

    Sources: docs/coverage.md for the simulated coverage; Owen 2007 and Satterthwaite 1946 for the variance
    (see :mod:`t2i_core.statistics.design`); E. L. Korn and B. I. Graubard, Confidence intervals for
    proportions with small expected number of positive counts (1998) for the effective sample size.
    """
    check_level(level)
    sample, design = sample_and_design(value, weights, prompt, seed, strata, interval=interval, crossed=crossed)
    form: Form = "logit"
    if sample.binary and (low, high) in ((None, None), (0, 1)):
        form, low, high = "wilson", 0.0, 1.0
    check_range(float(sample.value.min()), float(sample.value.max()), (low, high))
    return estimate_mean(sample, design, form=form, bounds=(low, high), level=level)


def estimate_mean(sample: WeightedRows, design: Design, *, form: Form, bounds: Range, level: float) -> Estimate:
    """Form a mean's interval, whether or not its sample has clusters and variation."""
    if not design.terms:
        return estimate_without_interval(sample.mean, design, bounds=bounds)
    variance, df = design.variance(sample.influence)
    if variance == 0:
        return estimate_constant(sample.mean, design, bounds=bounds, level=level)
    estimate = estimate_from_variance(sample.mean, variance, df, design, form=form, bounds=bounds, level=level)
    return estimate.with_notes(*_concentration(sample.influence, design))


def _concentration(influence: Floats, design: Design) -> tuple[str, ...]:
    """Say where three prompts or fewer make up the variation: what the others would do was hardly seen."""
    prompts = design.terms[0]
    if not design.clusters.startswith("prompts") or prompts.groups < FEW:
        return ()
    squares = np.bincount(prompts.codes, influence) ** 2
    if squares.sum() ** 2 > 3.5 * float(np.square(squares).sum()):  # the ratio of k equal ones and zeros is k
        return ()
    return ("few prompts make up nearly all of the variation: the interval is rough",)
