"""The interval of a mean over samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .design import FEW, Crossing, Design, Floats, Question, make_design
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
    """Rows with positive weight.

    Attributes:
        value: The value of each row, shape (n,).
        mean: Their weighted mean.
        influence: The influence of each row on the mean, shape (n,).
    """

    value: Floats
    mean: float
    influence: Floats

    @property
    def binary(self) -> bool:
        """True if all values are 0 or 1."""
        return bool(((self.value == 0) | (self.value == 1)).all())


def make_sample(value: ArrayLike, weights: ArrayLike | None) -> tuple[WeightedRows, np.ndarray | None]:
    """Check values and weights.

    Args:
        value: One finite number for each row, shape (n,).
        weights: One weight of at least 0 for each row, shape (n,). If None, all rows weigh the same.

    Returns:
        The rows with positive weight, and a mask of shape (n,) that selects them; None if every row has positive
        weight.

    Raises:
        ValueError: If a value or weight is not finite, a weight is negative, all weights are 0, or the shapes
            differ.
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
    mean = min(
        max(float((w * y).sum() / total), float(y.min())), float(y.max())
    )  # rounding must not push it out of the values
    return WeightedRows(y, mean, w * (y - mean) / total), kept


def sample_and_design(
    value: ArrayLike,
    weights: ArrayLike | None,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    strata: ArrayLike | None,
    *,
    interval: Question,
    crossed: Crossing,
) -> tuple[WeightedRows, Design]:
    """Return a mean's sample and design, without rows of weight 0. Arguments are those of `mean_interval`."""
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
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
) -> Estimate:
    """Return the mean of a measure over samples, with its confidence interval.

    The mean is over rows (a ratio estimate), so a (prompt, seed) may have several rows or none; leave failed
    samples out. If all values are 0 or 1 and the range is not declared or [0, 1], the interval is Wilson's on the
    effective sample size that the clustering leaves, with t quantiles. Other measures with both bounds get t on
    the logit scale; the rest plain t. If the data do not vary, every cluster counts as one trial
    (Clopper-Pearson). A single cluster gives the declared range, or NaN.

    Args:
        value: One finite number for each row, shape (n,).
        prompt: The prompt of each row, labels of any hashable kind, shape (n,).
        seed: The seed of each row, shape (n,). If None, each row is a prompt's own summary and prompts are the
            clusters.
        weights: One weight of at least 0 for each row, shape (n,). If None, all rows weigh the same.
        interval: The question: "new" prompts and seeds, new "prompts" with these seeds, or new "seeds" with these
            prompts.
        low: Lower end of the measure's declared range, in its unit.
        high: Upper end of the same range.
        level: The confidence level, in (0, 1).
        crossed: True if prompts share their seeds; if False, prompts are the clusters. `annotators`: `seed` names
            the people who answered, who are crossed with prompts.
        strata: The category of each row's prompt, shape (n,), if prompts were drawn by category; prompts are then
            compared within their category.

    Returns:
        The mean with its interval.

    Raises:
        ValueError: If a value is not finite or lies outside the range, weights are bad, labels are missing or have
            another length, a prompt lies in two strata, or the level lies outside (0, 1).

    References:
        A. B. Owen, The pigeonhole bootstrap (2007), and F. E. Satterthwaite, An approximate distribution of
        estimates of variance components (1946), for the variance.
        E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected number of positive
        counts (1998), for the effective sample size.
    """
    check_level(level)
    sample, design = sample_and_design(value, weights, prompt, seed, strata, interval=interval, crossed=crossed)
    form: Form = "logit"
    if sample.binary and (low, high) in ((None, None), (0, 1)):
        form, low, high = "wilson", 0.0, 1.0
    check_range(float(sample.value.min()), float(sample.value.max()), (low, high))
    return estimate_mean(sample, design, form=form, bounds=(low, high), level=level)


def estimate_mean(sample: WeightedRows, design: Design, *, form: Form, bounds: Range, level: float) -> Estimate:
    """Return the mean of a sample with its interval, also for a single cluster or values that do not vary."""
    if not design.terms:
        return estimate_without_interval(sample.mean, design, bounds=bounds)
    variance, df = design.variance(sample.influence)
    if variance == 0:
        return estimate_constant(sample.mean, design, bounds=bounds, level=level)
    estimate = estimate_from_variance(sample.mean, variance, df, design, form=form, bounds=bounds, level=level)
    estimate = replace(estimate, terms=design.split(sample.influence))
    return estimate.with_notes(*_note_concentration(sample.influence, design))


def _note_concentration(influence: Floats, design: Design) -> tuple[str, ...]:
    """Return a note if three prompts or fewer make up nearly all of the variation."""
    prompts = design.terms[0]
    if not design.clusters.startswith("prompts") or prompts.groups < FEW:
        return ()
    squares = np.bincount(prompts.codes, influence) ** 2
    if squares.sum() ** 2 > 3.5 * float(np.square(squares).sum()):  # the ratio of k equal ones and zeros is k
        return ()
    return ("few prompts make up nearly all of the variation: the interval is rough",)
