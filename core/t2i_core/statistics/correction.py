"""Correction of a judge by people: means and paired differences from many judged and few labelled rows.

The intervals have the forms that means and paired differences have anyway. `power_tuning` says how labels correct.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .comparison import PairedDifference, limit_difference, make_comparison, paired_difference
from .design import Crossing, Design, Floats, Question, make_design
from .estimate import (
    Estimate,
    Form,
    Range,
    check_level,
    check_range,
    estimate_from_variance,
    estimate_without_interval,
)
from .label_design import LabelDesign, make_label_design
from .means import mean_interval
from .power_tuning import CorrectedRows, correct_rows

LEAST_LABELS = 30
LEAST_RARE = 10  # labels that differ from the most frequent value
LEAST_GAIN = 1.1  # below it, the judge does not save one label in ten
NO_GAIN = "the judge tells next to nothing about people's answers: labels alone are as good"

I = TypeVar("I", Estimate, PairedDifference)  # noqa: E741 - an interval


@dataclass(frozen=True)
class CorrectedEstimate(Generic[I]):
    """A judge's estimate, people's own, and the judge's corrected by people.

    Attributes:
        corrected: The corrected estimate; None if it was refused.
        refusal: Why there is no corrected estimate, one sentence; empty if there is one.
        labels: The estimate from the labels alone, each weighted by the rows that it stands for.
        judge: The judge's estimate from all rows, without its errors in the interval.
        lam: How far the judge's values are trusted, 0 to 1. It is 0 too if they do not vary within the strata of
            the labels: what the judge tells is then in the strata.
        n_labels: Number of labels.
        n_rows: Number of rows that the judge saw.
        effective_labels: Number of simply drawn labels that alone would estimate the mean over these rows as well
            as judge and labels do together; at most `n_rows`. NaN if it cannot be estimated.
        notes: Sentences for the reader, usually empty.
    """

    corrected: I | None
    refusal: str
    labels: I
    judge: I
    lam: float
    n_labels: int
    n_rows: int
    effective_labels: float
    notes: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """Number of simply drawn labels that one label with the judge is worth."""
        return self.effective_labels / self.n_labels

    @property
    def best(self) -> I:
        """The estimate to report: the corrected one, or the labels' own if that was refused."""
        return self.labels if self.corrected is None else self.corrected


def refuse_few(count: int, what: str) -> str:
    """Return why so few labels correct nothing, or nothing if they suffice."""
    return f"{count} {what}: a correction needs at least {LEAST_LABELS}" if count < LEAST_LABELS else ""


def refuse(labels: Floats, what: str = "labels") -> str:
    """Return why labels are too few for a correction, or nothing.

    Args:
        labels: People's values of the labelled rows, shape (m,).
        what: Name of the labels.
    """
    if few := refuse_few(len(labels), what):
        return few
    values, counts = np.unique(labels, return_counts=True)
    rare = len(labels) - int(counts.max())
    if rare < LEAST_RARE:
        common = values[counts.argmax()]
        return (
            f"all but {rare} of {len(labels)} {what} have the value {common:g}: a correction needs at least "
            f"{LEAST_RARE} others"
        )
    return ""


def _check_values(judged: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
    f, y = np.asarray(judged, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if f.ndim != 1 or f.shape != y.shape:
        raise ValueError(f"judged and labels must have one value for each row, got shapes {f.shape} and {y.shape}")
    if not np.isfinite(f).all() or np.isinf(y).any():
        raise ValueError("values must be finite: leave failed samples out; use NaN for a missing label")
    return f, y


def _is_binary(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _estimate(
    rows: CorrectedRows, label_design: LabelDesign, design: Design, *, form: Form, bounds: Range, level: float
) -> Estimate:
    value = float(rows.value.mean())
    if not design.terms:
        return estimate_without_interval(limit_value(value, bounds), design, bounds=bounds)
    variance, df = design.variance((rows.value - value) / len(rows.value))
    estimate = estimate_from_variance(
        limit_value(value, bounds),
        variance + rows.extra_variance,
        min(df, float(label_design.df)),
        design,
        form=form,
        bounds=bounds,
        level=level,
    )
    return replace(estimate, method=f"corrected by {label_design.labels} labels, {estimate.method}")


def corrected_mean(
    judged: ArrayLike,
    labels: ArrayLike,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    probability: ArrayLike | None = None,
    label_strata: ArrayLike | None = None,
    lam: float | None = None,
    interval: Question = "new",
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
) -> CorrectedEstimate[Estimate]:
    """Return the mean of people's values over all rows, from the judge's values and a random part of people's.

    The arguments that are not listed are those of `mean_interval`, whose forms the interval has: Wilson on the
    effective sample size for answers 0 and 1, t on the logit scale for other bounded measures, else t. Degrees of
    freedom are at most the number of labels minus that of their strata.

    Args:
        judged: The judge's value of each row, finite, shape (n,).
        labels: People's value of each row, NaN where nobody labelled it, shape (n,).
        probability: The probability with which each row was drawn for a label, in (0, 1], shape (n,). If None, it
            was equal for all rows of a stratum.
        label_strata: The stratum from which each row was drawn for a label, for example the judge's outcome,
            shape (n,). If None, rows were drawn from all.
        lam: How far to trust the judge, 0 (labels alone) to 1. If None, the value of least variance.

    Returns:
        The corrected mean, the labels' own and the judge's. There is no corrected mean from fewer than 30 labels,
        or if fewer than 10 of them differ from the most frequent value.

    Raises:
        ValueError: If nothing is labelled, a probability lies outside (0, 1], lam lies outside [0, 1], or as
            `mean_interval` raises it.
    """
    check_level(level)
    f, y = _check_values(judged, labels)
    check_lam(lam)
    label_design = make_label_design(~np.isnan(y), probability, label_strata)
    known = label_design.labelled
    form, bounds = _choose_form(f, y[known], low, high)
    options = {"interval": interval, "level": level, "crossed": crossed}
    judge = mean_interval(f, prompt, seed, low=bounds[0], high=bounds[1], strata=strata, **options)  # type: ignore[arg-type]
    own = mean_interval(
        y[known],
        _select(prompt, known, "prompt"),
        None if seed is None else _select(seed, known, "seed"),
        weights=label_design.weight[known],
        low=bounds[0],
        high=bounds[1],
        strata=None if strata is None else _select(strata, known, "strata"),
        **options,  # type: ignore[arg-type]
    )
    values = np.where(known, y, 0.0)
    rows = correct_rows(
        f,
        values,
        label_design,
        lam=lam,
        worst_error=1.0 if form == "wilson" else None,
    )
    refusal = refuse(y[known])
    corrected = None
    if not refusal:
        design = make_design(prompt, seed, len(f), interval=interval, crossed=crossed, strata=strata)
        corrected = _estimate(rows, label_design, design, form=form, bounds=bounds, level=level)
    return note_gain(corrected, refusal, own, judge, rows.lam, label_design, rows.effective_labels)


def note_gain(
    corrected: I | None,
    refusal: str,
    labels: I,
    judge: I,
    lam: float,
    design: LabelDesign,
    effective_labels: float,
) -> CorrectedEstimate[I]:
    """Return a `CorrectedEstimate`, with a note if the judge adds nothing to the labels."""
    m, n = design.labels, len(design.weight)
    notes = (NO_GAIN,) if not refusal and m < n and effective_labels < LEAST_GAIN * m else ()
    return CorrectedEstimate(corrected, refusal, labels, judge, lam, m, n, effective_labels, notes)


def limit_value(value: float, bounds: Range) -> float:
    """Return the nearest value within the bounds. A correction may lead out of them."""
    low, high = bounds
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def check_lam(lam: float | None) -> None:
    """Check how far a judge is to be trusted.

    Raises:
        ValueError: If it lies outside [0, 1].
    """
    if lam is not None and not 0 <= lam <= 1:
        raise ValueError(f"lam must lie between 0 and 1, got {lam}")


def _select(labels: ArrayLike, kept: np.ndarray, name: str) -> np.ndarray:
    array = np.asarray(labels)
    if array.shape != kept.shape:
        raise ValueError(f"{name} must have one label for each of {len(kept)} rows, got {array.shape}")
    return np.asarray(array[kept])


def _choose_form(judged: Floats, labels: Floats, low: float | None, high: float | None) -> tuple[Form, Range]:
    form: Form = "logit"
    if _is_binary(labels) and (low, high) in ((None, None), (0, 1)) and judged.min() >= 0 and judged.max() <= 1:
        form, low, high = "wilson", 0.0, 1.0
    both = np.concatenate([judged, labels])
    check_range(float(both.min()), float(both.max()), (low, high))
    return form, (low, high)


def corrected_difference(
    judged_a: ArrayLike,
    judged_b: ArrayLike,
    labels_a: ArrayLike,
    labels_b: ArrayLike,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    probability: ArrayLike | None = None,
    label_strata: ArrayLike | None = None,
    lam: float | None = None,
    interval: Question = "new",
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
) -> CorrectedEstimate[PairedDifference]:
    """Compare two models' means of people's values, a - b, on the (prompt, seed) cells that both have.

    Whole cells are drawn for labels: a cell counts as labelled if people labelled both images. The interval is
    plain t, as for `paired_difference`. The other arguments are those of `corrected_mean`, with one row for each
    cell.

    Args:
        judged_a: The judge's values of the first model, finite, shape (n,).
        judged_b: The judge's values of the second model for the same prompts and seeds in the same order.
        labels_a: People's values of the first model, NaN where nobody labelled it, shape (n,).
        labels_b: People's values of the second model.
        low: Lower end of the range of the measure, not of the difference.
        high: Upper end of the same range.

    Returns:
        The corrected difference with its p-value, the labels' own and the judge's. Refused as by `corrected_mean`;
        what must not be too rare are cells whose labels differ.

    Raises:
        ValueError: As `corrected_mean` raises it.
    """
    check_level(level)
    check_lam(lam)
    (f_a, y_a), (f_b, y_b) = _check_values(judged_a, labels_a), _check_values(judged_b, labels_b)
    if f_a.shape != f_b.shape:
        raise ValueError(f"the two models must pair up, got shapes {f_a.shape} and {f_b.shape}")
    f, y = f_a - f_b, y_a - y_b
    label_design = make_label_design(~np.isnan(y), probability, label_strata)
    known = label_design.labelled
    form, bounds = _choose_form(np.concatenate([f_a, f_b]), np.concatenate([y_a[known], y_b[known]]), low, high)
    options = {"interval": interval, "level": level, "crossed": crossed, "low": bounds[0], "high": bounds[1]}
    judge = paired_difference(f_a, f_b, prompt, seed, strata=strata, **options)  # type: ignore[arg-type]
    own = paired_difference(
        y_a[known],
        y_b[known],
        _select(prompt, known, "prompt"),
        None if seed is None else _select(seed, known, "seed"),
        weights=label_design.weight[known],
        strata=None if strata is None else _select(strata, known, "strata"),
        **options,  # type: ignore[arg-type]
    )
    rows = correct_rows(
        f,
        np.where(known, y, 0.0),
        label_design,
        lam=lam,
        worst_error=1.0 if form == "wilson" else None,
    )
    refusal = refuse(y[known], "labelled pairs")
    corrected = None
    if not refusal:
        design = make_design(prompt, seed, len(f), interval=interval, crossed=crossed, strata=strata)
        estimate = _estimate(rows, label_design, design, form="t", bounds=limit_difference(*bounds), level=level)
        corrected = make_comparison(estimate, design, len(f))
    return note_gain(corrected, refusal, own, judge, rows.lam, label_design, rows.effective_labels)
