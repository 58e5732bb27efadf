"""A value with its interval, and the forms an interval can take once its variance is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from scipy.special import expit, logit, stdtrit

from .design import Design
from .proportions import clopper_pearson, wilson

Form = Literal["t", "logit", "wilson"]
Range = tuple[float | None, float | None]


@dataclass(frozen=True)
class Estimate:
    """A value, its interval, and what the interval means.

    ``lo <= value <= hi``, all in the unit of the measure; ``lo`` and ``hi`` are NaN where no interval can be
    formed (a note says why). ``method`` names the interval, ``question`` what it answers. ``n_clusters`` is
    the number of clusters it rests on: the smaller one where prompts and seeds are crossed. ``df`` and ``se``
    are None where the method has none. ``notes`` are sentences for the reader, most often none.
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

    def with_notes(self, *notes: str) -> Estimate:
        """Return the same estimate with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def check_level(level: float) -> None:
    """Raise ValueError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def check_range(least: float, greatest: float, bounds: Range) -> None:
    """Raise ValueError where values lie outside the range that their measure declares."""
    low, high = bounds
    if low is not None and high is not None and not low < high:
        raise ValueError(f"the range is empty: low = {low}, high = {high}")
    if (low is not None and least < low - 1e-9) or (high is not None and greatest > high + 1e-9):
        raise ValueError(f"values from {least} to {greatest} lie outside the declared range {low} to {high}")


def estimate_from_variance(
    value: float, variance: float, df: float, design: Design, *, form: Form, bounds: Range, level: float
) -> Estimate:
    """Form the interval of ``value`` from the variance of its estimate.

    ``form`` "wilson" and "logit" need both bounds and a value strictly between them: "wilson" takes
    p(1-p)/variance for the number of trials (the design effect's effective n), "logit" is t on the logit
    scale, "t" is plain. An interval never leaves ``bounds``.
    """
    low, high = bounds
    se, t = math.sqrt(variance), float(stdtrit(df, 0.5 + level / 2))
    if form != "t" and low is not None and high is not None and low < value < high:
        width = high - low
        p, p_se = (value - low) / width, se / width
        if form == "wilson":
            effective = p * (1 - p) / p_se**2
            lo, hi = wilson(p * effective, effective, level, quantile=t)
            method = f"Wilson on effective n, {design.clusters}"
        else:
            centre, half = float(logit(p)), t * p_se / (p * (1 - p))
            lo, hi = float(expit(centre - half)), float(expit(centre + half))
            method = f"logit t over {design.clusters}"
        lo, hi = low + width * lo, low + width * hi
    else:
        lo, hi = value - t * se, value + t * se
        method = f"{'two-way t' if design.crossed else 't'} over {design.clusters}"
    lo, hi = min(lo, value), max(hi, value)  # rounding must not push an end past the value
    lo, hi = lo if low is None else max(lo, low), hi if high is None else min(hi, high)
    return Estimate(value, lo, hi, method, design.question, design.n_clusters, df, se, design.notes)


def estimate_constant(value: float, design: Design, *, bounds: Range, level: float) -> Estimate:
    """Form the interval where all clusters gave exactly ``value``, so that no variance can be estimated.

    Within a declared range: each cluster counts as one trial, Clopper and Pearson bound the chance u of
    anything else, and the mean lies within u of the way to either bound. At 0 or 1 that is the
    Clopper-Pearson interval itself. Clusters, not images: constant data cannot show that the images of one
    prompt differ, so they are not taken for independent. Without a range the interval has no width, and says
    so.
    """
    low, high = bounds
    if low is None or high is None:
        note = "no variation among the values: the interval has no width"
        method = f"none ({note.split(':')[0]})"
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
    """Give a value from a single cluster: the declared range, or NaN where there is none."""
    low, high = bounds
    lo, hi = (low, high) if low is not None and high is not None else (math.nan, math.nan)
    return Estimate(value, lo, hi, "none (a single cluster)", design.question, 1, None, None, design.notes)
