"""A value with its confidence interval, and the forms of interval for a known variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import scipy  # its `special` is imported when it is first used

from .design import Design, TermVariance
from .proportions import clopper_pearson, wilson

Form = Literal["t", "logit", "wilson"]
Range = tuple[float | None, float | None]

NO_VARIATION = "no variation among the values"
"""Beginning of the note on values that are all equal."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval.

    Attributes:
        value: The estimate, in the unit of the measure.
        lo: Lower end of the interval, at most `value`; NaN if no interval can be formed (a note says why).
        hi: Upper end of the interval, at least `value`; NaN if no interval can be formed.
        method: Name of the method.
        question: The question that the interval answers.
        n_clusters: Number of clusters that it rests on; the smaller number if prompts and seeds are crossed.
        df: Degrees of freedom; None if the method has none.
        se: Standard error, in the unit of the measure; None if the method has none.
        notes: Sentences for the reader, usually empty.
        terms: Its variance over prompts; or over prompts, seeds and cells, if prompts and seeds are crossed. Empty
            if there is no variance.
    """

    value: float
    lo: float
    hi: float
    method: str
    question: str
    n_clusters: int
    df: float | None = None
    se: float | None = None
    notes: tuple[str, ...] = ()
    terms: tuple[TermVariance, ...] = ()

    def with_notes(self, *notes: str) -> Estimate:
        """Return the same estimate with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def check_level(level: float) -> None:
    """Check a confidence level.

    Raises:
        ValueError: Unless 0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def check_range(least: float, greatest: float, bounds: Range) -> None:
    """Check that values lie in the declared range of their measure.

    Args:
        least: The smallest value.
        greatest: The largest value.
        bounds: The declared range.

    Raises:
        ValueError: If a value lies outside, or the range is empty.
    """
    low, high = bounds
    if low is not None and high is not None and not low < high:
        raise ValueError(f"the range is empty: low = {low}, high = {high}")
    if (low is not None and least < low - 1e-9) or (high is not None and greatest > high + 1e-9):
        raise ValueError(f"values from {least} to {greatest} lie outside the declared range {low} to {high}")


def estimate_from_variance(
    value: float, variance: float, df: float, design: Design, *, form: Form, bounds: Range, level: float
) -> Estimate:
    """Return a value with its interval, from the variance of its estimate.

    Args:
        value: The estimate.
        variance: Its variance, above 0.
        df: Its degrees of freedom.
        design: The design that gave the variance.
        form: "wilson" uses p(1-p)/variance as the number of trials (the effective sample size); "logit" is t on
            the logit scale; "t" is plain t. The first two need both bounds and a value strictly between them; else
            plain t is used.
        bounds: The range of the measure; the interval never leaves it.
        level: The confidence level, in (0, 1).
    """
    low, high = bounds
    se, t = math.sqrt(variance), float(scipy.special.stdtrit(df, 0.5 + level / 2))
    if form != "t" and low is not None and high is not None and low < value < high:
        width = high - low
        p, p_se = (value - low) / width, se / width
        if form == "wilson":
            effective = p * (1 - p) / p_se**2
            lo, hi = wilson(p * effective, effective, level, quantile=t)
            method = f"Wilson on effective n, {design.clusters}"
        else:
            centre, half = float(scipy.special.logit(p)), t * p_se / (p * (1 - p))
            lo, hi = float(scipy.special.expit(centre - half)), float(scipy.special.expit(centre + half))
            method = f"logit t over {design.clusters}"
        lo, hi = low + width * lo, low + width * hi
    else:
        lo, hi = value - t * se, value + t * se
        method = f"{'two-way t' if design.crossed else 't'} over {design.clusters}"
    lo, hi = min(lo, value), max(hi, value)  # rounding must not push an end past the value
    lo, hi = lo if low is None else max(lo, low), hi if high is None else min(hi, high)
    return Estimate(value, lo, hi, method, design.question, design.n_clusters, df, se, design.notes)


def estimate_constant(value: float, design: Design, *, bounds: Range, level: float) -> Estimate:
    """Return a value with its interval for clusters that all gave exactly this value.

    No variance can be estimated. Within a declared range each cluster counts as one trial: Clopper and Pearson
    bound the chance u of any other value, and the mean lies within u of the way to either bound. At 0 or 1 that is
    the Clopper-Pearson interval itself. Clusters count, not images, because constant data cannot show that the
    images of one prompt are independent. Without a declared range the interval has no width, and a note says so.
    """
    low, high = bounds
    if low is None or high is None:
        note = f"{NO_VARIATION}: the interval has no width"
        method = f"none ({NO_VARIATION})"
        return Estimate(
            value, value, value, method, design.question, design.n_clusters, None, 0.0, (*design.notes, note)
        )
    trials = design.trials
    other = clopper_pearson(0, trials, level)[1]
    lo, hi = value - other * (value - low), value + other * (high - value)
    note = f"no variation among the values: each of {trials} {design.trial_name} counts as one trial"
    return Estimate(
        value,
        lo,
        hi,
        f"Clopper-Pearson, n = {trials} {design.trial_name}",
        design.question,
        design.n_clusters,
        None,
        None,
        (*design.notes, note),
    )


def estimate_without_interval(value: float, design: Design, *, bounds: Range) -> Estimate:
    """Return a value from a single cluster, with the declared range (or NaN) as its interval."""
    low, high = bounds
    lo, hi = (low, high) if low is not None and high is not None else (math.nan, math.nan)
    return Estimate(value, lo, hi, "none (a single cluster)", design.question, 1, None, None, design.notes)
