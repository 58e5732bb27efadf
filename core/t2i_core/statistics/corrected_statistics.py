"""Correction of a judge by people for any smooth statistic of row weights, such as Bradley-Terry ratings.

With J the statistic of the judge's values, P that of people's labels, and w a weight of each row,

    P(labelled rows, w) - lam (J(labelled rows, w) - J(all rows, w))

has little of the labels' noise and none of the judge's bias. All three are evaluated under the same reweightings
of prompts, seeds and cells, so the variance is found as for any statistic.

References:
    T. Zrnic, A note on the prediction-powered bootstrap (2024).
    A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: efficient prediction-powered inference (2023), for lam.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from numpy.typing import ArrayLike

from .comparison import PairedDifference, limit_difference, make_comparison
from .correction import CorrectedEstimate, check_lam, limit_value, note_gain, refuse, refuse_few
from .design import Crossing, Floats, Question
from .estimate import Estimate, Form, Range, check_level
from .label_design import LabelDesign, make_label_design
from .power_tuning import PSEUDO_ERRORS
from .resampling import Draws, Replicates, Statistic, replicate

NO_VALUE = "the labels alone give no value (for ratings: labelled battles must connect all models)"
UNSTABLE = "under more than a tenth of the reweightings the labels alone give no value"


@dataclass(frozen=True)
class CorrectedReplicates:
    """Replicates of a statistic of people's labels and of the judge's values.

    Attributes:
        replicates: Values named "people NAME", "labelled NAME" (the judge's, of labelled rows) and "judge NAME"
            (of all rows).
        labels: How the labels were drawn.
        refusal: Why no value is corrected; empty if none speaks against it.
        lam: How far to trust the judge; None to tune it for each value.
    """

    replicates: Replicates
    labels: LabelDesign
    refusal: str
    lam: float | None

    def correct(
        self, of: Callable[[Draws], Floats], *, form: Form, bounds: Range, level: float
    ) -> CorrectedEstimate[Estimate]:
        """Return the correction of a value that `of` computes from the statistic's named values."""

        def evaluate(part: str, draws: Mapping[str, float] | Draws) -> Floats:
            prefix = part + " "
            named = {k.removeprefix(prefix): np.asarray(v) for k, v in draws.items() if k.startswith(prefix)}
            return np.asarray(of(named), dtype=np.float64)

        def surplus(draws: Mapping[str, float] | Draws) -> Floats:
            return np.asarray(evaluate("labelled", draws) - evaluate("judge", draws))

        def estimate(value: float, of: Callable[[Draws], Floats], extra: float, most_df: float) -> Estimate:
            return replicates.estimate(
                limit_value(value, bounds),
                of,
                form=form,
                bounds=bounds,
                level=level,
                extra_variance=extra,
                most_df=most_df,
            )

        replicates, df = self.replicates, float(self.labels.df)
        full = replicates.full
        people = float(evaluate("people", full))
        judge = estimate(float(evaluate("judge", full)), lambda draws: evaluate("judge", draws), 0.0, math.inf)
        own = estimate(people, lambda draws: evaluate("people", draws), 0.0, df)
        lam, alone, together = self.lam or 0.0, math.nan, math.nan
        if replicates.draws:
            last = replicates.draws[-1]  # the finest clusters show the noise of the labels with least else
            a, d = evaluate("people", last), surplus(last)
            finite = np.isfinite(a) & np.isfinite(d)
            if finite.sum() >= 2:
                lam = _tune(a[finite], d[finite]) if self.lam is None else self.lam
                alone, together = float(a[finite].var()), float((a - lam * d)[finite].var())
        refusal = self.refusal or ("" if math.isfinite(people) else NO_VALUE)
        corrected = None
        if not refusal:
            m, n = self.labels.labels, len(self.labels.weight)
            corrected = estimate(
                people - lam * float(surplus(full)),
                lambda draws: evaluate("people", draws) - lam * surplus(draws),
                # as for means: half a label more disagrees; a label's own variance is at most 1/4 of such an error
                PSEUDO_ERRORS * 4 * alone * (1 - m / n) / m if math.isfinite(alone) else 0.0,
                df,
            )
            if math.isnan(corrected.lo):
                corrected, refusal = None, UNSTABLE
            else:
                corrected = replace(corrected, method=f"corrected by {m} labels, {corrected.method}")
        effective = self.labels.labels * alone / together if together > 0 else math.nan
        return note_gain(corrected, refusal, own, judge, lam, self.labels, min(effective, len(self.labels.weight)))


def _tune(people: Floats, surplus: Floats) -> float:
    """Return the lam in [0, 1] that minimises the variance of people - lam surplus over rounds."""
    variance = float(surplus.var())
    if variance <= 1e-24 * max(1.0, float(people.var())):
        return 0.0
    covariance = float(((people - people.mean()) * (surplus - surplus.mean())).mean())
    return min(max(covariance / variance, 0.0), 1.0)


def _replicate(
    judged: Statistic,
    answered: Statistic,
    labelled: ArrayLike,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    answers: ArrayLike | None,
    probability: ArrayLike | None,
    label_strata: ArrayLike | None,
    lam: float | None,
    interval: Question,
    crossed: Crossing,
    strata: ArrayLike | None,
    rounds: int,
    rng_seed: int,
) -> CorrectedReplicates:
    check_lam(lam)
    labels = make_label_design(labelled, probability, label_strata)

    def every(weights: Floats) -> dict[str, float]:
        rows = np.bincount(labels.stratum, weights, minlength=len(labels.n_rows))
        shares = labels.total(weights)
        scale = np.divide(rows, shares, out=np.zeros_like(rows), where=shares > 0)
        on_labels = weights * labels.weight * scale[labels.stratum]
        people, judge = answered(on_labels), judged(weights)
        if people.keys() != judge.keys():
            raise ValueError(f"judged returns {sorted(judge)} and answered {sorted(people)}: names must be equal")
        return {
            **{f"people {name}": value for name, value in people.items()},
            **{f"labelled {name}": value for name, value in judged(on_labels).items()},
            **{f"judge {name}": value for name, value in judge.items()},
        }

    replicates = replicate(
        every, prompt, seed, interval=interval, crossed=crossed, strata=strata, rounds=rounds, rng_seed=rng_seed
    )
    known = labels.labelled
    if answers is None:
        refusal = refuse_few(labels.labels, "labels")
    else:
        given = np.asarray(answers, dtype=np.float64)
        if given.shape != known.shape or not np.isfinite(given[known]).all():
            raise ValueError("answers must have one value for each row, finite where it is labelled")
        refusal = refuse(given[known])
    return CorrectedReplicates(replicates, labels, refusal, lam)


def corrected_statistics(
    judged: Statistic,
    answered: Statistic,
    labelled: ArrayLike,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    answers: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    label_strata: ArrayLike | None = None,
    lam: float | None = None,
    interval: Question = "new",
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
    ranges: Mapping[str, Range] | None = None,
    level: float = 0.95,
    rounds: int = 1000,
    rng_seed: int = 0,
) -> dict[str, CorrectedEstimate[Estimate]]:
    """Return the named values of a statistic, each corrected by people.

    The arguments that are not listed are those of `statistic_intervals` and `corrected_mean`. The judge's
    statistic is evaluated twice under each round of weights, and people's once. lam is tuned for each value. For
    a plain mean `corrected_mean` is exact and faster.

    Args:
        judged: The statistic of the judge's values, as `statistic_intervals` takes it. Rows of weight 0 must count
            as absent.
        answered: The same statistic of people's values. Rows without a label have weight 0.
        labelled: True for each row with a label, shape (n,).
        answers: People's value of each row, any number where it has none, shape (n,). If given, labels of which
            fewer than 10 differ from the most frequent value correct nothing.

    Returns:
        The corrections by name. None is corrected from fewer than 30 labels, or where the labels alone give no
        value, as when they do not connect the models of a rating. `effective_labels` compares with labels drawn
        as these were.

    Raises:
        ValueError: If the two statistics return different names, or as `statistic_intervals` and `corrected_mean`
            raise it.
    """
    check_level(level)
    replicates = _replicate(
        judged,
        answered,
        labelled,
        prompt,
        seed,
        answers=answers,
        probability=probability,
        label_strata=label_strata,
        lam=lam,
        interval=interval,
        crossed=crossed,
        strata=strata,
        rounds=rounds,
        rng_seed=rng_seed,
    )
    names = _names(replicates)
    if unknown := set(ranges or ()) - set(names):
        raise ValueError(f"ranges for {sorted(unknown)}, which the statistic does not return")
    return {
        name: replicates.correct(
            itemgetter(name), form="logit", bounds=(ranges or {}).get(name, (None, None)), level=level
        )
        for name in names
    }


def corrected_statistic_differences(
    judged: Statistic,
    answered: Statistic,
    labelled: ArrayLike,
    pairs: Iterable[tuple[str, str]],
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    answers: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    label_strata: ArrayLike | None = None,
    lam: float | None = None,
    interval: Question = "new",
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
    rounds: int = 1000,
    rng_seed: int = 0,
) -> dict[tuple[str, str], CorrectedEstimate[PairedDifference]]:
    """Compare named values of one statistic, each difference corrected by people.

    The arguments are those of `corrected_statistics`, and `pairs`, `low` and `high` those of
    `statistic_differences`.

    Raises:
        ValueError: If the statistic does not return a name, or as `corrected_statistics` raises it.
    """
    check_level(level)
    replicates = _replicate(
        judged,
        answered,
        labelled,
        prompt,
        seed,
        answers=answers,
        probability=probability,
        label_strata=label_strata,
        lam=lam,
        interval=interval,
        crossed=crossed,
        strata=strata,
        rounds=rounds,
        rng_seed=rng_seed,
    )
    pairs = list(pairs)
    if unknown := {name for pair in pairs for name in pair} - set(_names(replicates)):
        raise ValueError(f"the statistic returns no {sorted(unknown)}")
    design, n = replicates.replicates.design, np.size(prompt)
    corrections = {}
    for a, b in pairs:

        def difference(draws: Draws, a: str = a, b: str = b) -> Floats:
            return np.asarray(draws[a] - draws[b])

        found = replicates.correct(difference, form="t", bounds=limit_difference(low, high), level=level)
        corrections[a, b] = CorrectedEstimate(
            None if found.corrected is None else make_comparison(found.corrected, design, n),
            found.refusal,
            make_comparison(found.labels, design, found.n_labels),
            make_comparison(found.judge, design, n),
            found.lam,
            found.n_labels,
            found.n_rows,
            found.effective_labels,
            found.notes,
        )
    return corrections


def _names(replicates: CorrectedReplicates) -> list[str]:
    return [name.removeprefix("people ") for name in replicates.replicates.full if name.startswith("people ")]
