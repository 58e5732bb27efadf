"""Each row's contribution to a mean that people's labels correct, and how far the judge is trusted.

The judge's values f cover every row, so their mean has little noise, but it has the judge's bias. People's labels
y of a random part of the rows measure that bias. Each row contributes one number,

    z = lam f + [labelled] w (y - lam f),

where w is the number of rows that a label stands for. Within strata, y - lam f is centred before it is weighted.
That changes no mean and removes the variation between strata. The mean of z is unbiased whatever the judge's
errors are, and its variance over prompts and seeds is that of any mean over rows.

References:
    A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan and T. Zrnic, Prediction-powered inference (2023).
    A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: efficient prediction-powered inference (2023), for lam.
    C.-E. Särndal, B. Swensson and J. Wretman, Model assisted survey sampling (1992), for the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .design import Floats
from .label_design import LabelDesign

CROSS_FIT_BELOW = 200  # labels; with more, leaving one out changes nothing that shows
PSEUDO_ERRORS = 0.5
"""Number of labels that are assumed to disagree with the judge beyond those seen, as in Jeffreys' prior for a
proportion. Without it, 50 labels of which none shows an error would count a judge as perfect."""


@dataclass(frozen=True)
class CorrectedRows:
    """One number for each row, whose mean is the corrected mean.

    Attributes:
        value: Shape (n,).
        lam: How far the judge's values are trusted.
        extra_variance: Addition to the variance of the mean: as if half a label more had disagreed with the judge.
            A few labels without an error do not show that the judge makes none.
        effective_labels: See `CorrectedEstimate`.
    """

    value: Floats
    lam: float
    extra_variance: float
    effective_labels: float


def tune_power(judged: Floats, labels: Floats, design: LabelDesign) -> tuple[float, Floats]:
    """Return the lam that minimises the variance of the corrected mean, and the same without each label in turn.

    Args:
        judged: The judge's values, shape (n,).
        labels: People's values, any number for a row without a label, shape (n,).
        design: How the labels were drawn.

    Returns:
        lam from all labels, and for each row lam from the other labels, shape (n,). All are cut to [0, 1], and 0
        where the judge's values do not vary within strata.
    """
    size = len(design.n_rows)
    n = design.n_rows
    mean = np.bincount(design.stratum, judged, minlength=size) / n
    squares = np.bincount(design.stratum, np.square(judged - mean[design.stratum]), minlength=size)
    variance = squares / np.maximum(n - 1, 1)
    # a stratum's share of the sampling variance: rows squared, times (1 - fraction labelled) / labels
    share = n**2 * (1 - design.n_labels / n) / np.maximum(design.n_labels, 1)
    below = float((share * variance).sum())
    if below <= 1e-24 * float(share.sum() * max(1.0, np.square(judged).max())):
        return 0.0, np.zeros(len(judged))
    f, y = design.centre(judged), design.centre(labels)
    w, h = design.weight, design.stratum
    covariance = design.total(f * y) / n  # both centred
    whole = float((share * covariance).sum())
    rest = np.maximum(n[h] - w, 1e-12)
    # leaving out one label moves the means of its stratum: sum - w f y - (w f)(w y) / rest
    without = (n * covariance)[h] - w * f * y - np.square(w) * f * y / rest
    parts = (whole - (share * covariance)[h] + share[h] * without / rest) / below
    single = design.n_labels[h] < 2
    return min(max(whole / below, 0.0), 1.0), np.clip(np.where(single, 0.0, parts), 0.0, 1.0)


def correct_rows(
    judged: Floats, labels: Floats, design: LabelDesign, *, lam: float | None, worst_error: float | None
) -> CorrectedRows:
    """Return each row's contribution to the corrected mean.

    Args:
        judged: The judge's values, shape (n,).
        labels: People's values, 0 for a row without a label, shape (n,).
        design: How the labels were drawn.
        lam: How far to trust the judge, in [0, 1]. If None, it is tuned; with few labels, for each label from the
            others (cross-fitting), because lam would else follow the very errors that it weighs.
        worst_error: Size of the errors that are assumed beyond those seen. If None, that of the largest seen.
    """
    f = judged - judged.mean()
    tuned = lam
    parts = np.full(len(f), lam or 0.0)
    if tuned is None:
        tuned, parts = tune_power(judged, labels, design)
        if design.labels >= CROSS_FIT_BELOW:
            parts = np.full(len(f), tuned)
    n, h = design.n_rows, design.stratum
    error = np.where(design.labelled, labels - parts * f, 0.0)
    mean_error, mean_lam = design.total(error) / n, design.total(parts) / n
    value = mean_lam[h] * f + mean_error[h] + design.weight * design.centre(error)
    variance = design.sampling_variance(error)
    simple = _variance_of_one(labels, design)
    effective = (
        1 / (variance / simple + 1 / len(f))
        if simple > 1e-12 * max(1.0, float(np.square(labels).max()))
        else math.nan
    )
    m, rows = design.labels, len(f)
    if worst_error is None:
        worst_error = float(np.abs(design.centre(error)[design.labelled]).max())
    extra = PSEUDO_ERRORS * worst_error**2 * (1 - m / rows) / m**2
    return CorrectedRows(value, tuned, extra, effective)


def _variance_of_one(labels: Floats, design: LabelDesign) -> float:
    """Return the variance of a label that is drawn from all rows."""
    n = len(labels)
    mean = float((design.weight * labels).sum()) / n
    squares = float((design.weight * np.square(np.where(design.labelled, labels - mean, 0.0))).sum())
    return squares / n * design.labels / max(design.labels - 1, 1)
