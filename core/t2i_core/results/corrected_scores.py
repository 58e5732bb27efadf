"""Scores corrected by people's labels: the headline, named scores, and facets whose labels suffice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import scipy  # its `sparse` is imported when it is first used
from numpy.typing import NDArray

from .. import statistics
from ..api.facet_levels import locate_levels
from ..api.metric import PairMetric, TableMetric
from ..statistics import Estimate, PairedDifference, Question, corrected_mean, corrected_statistics
from .correction import Correction, LabelScore
from .labelled_rows import LabelledRows
from .numbers import make_interval, make_number
from .result import Result, Score
from .score_difference import Scoring, Statistic, find_clusters, make_statistic, select_aggregated

Found = statistics.CorrectedEstimate[Estimate]

NO_VALUE = "people's answers give no value of this score"
OWN_INTERVALS = "the metric forms the interval of this score itself, so labels cannot correct it"
NOT_CONNECTED = "the labelled battles do not connect all models, so they give no ratings"


def correct_result(result: Result, corrector: ScoreCorrector | None, people: str) -> Result:
    """Return a result with the corrections of its scores.

    Args:
        result: The result.
        corrector: Corrects scores of its model; None if none of its samples is labelled.
        people: The judge that gives people's answers.
    """
    if corrector is None:
        nothing = describe_nothing(people)
        scores = {name: score.model_copy(update={"correction": nothing}) for name, score in result.scores.items()}
        return result.model_copy(update={"correction": nothing, "scores": scores})
    notes = corrector.rows.notes
    found = {name: corrector.correct(name, result.label) for name in result.scores}
    scores = {
        name: _add(
            score,
            describe_nothing(people, corrector.explain_nothing(name))
            if (own := found[name]) is None
            else describe_correction(own, people, notes),
        )
        for name, score in result.scores.items()
    }
    facets = {
        measure: {
            facet: {
                level: score
                if (own := corrector.correct(measure, result.label, (facet, level))) is None
                or own.corrected is None
                else _add(score, describe_correction(own, people, notes))
                for level, score in levels.items()
            }
            for facet, levels in of_measure.items()
        }
        for measure, of_measure in result.facets.items()
    }
    headline = next((score.correction for score in scores.values()), None)
    if headline is None:
        headline = describe_nothing(people, NO_VALUE)
    return result.model_copy(update={"correction": headline, "scores": scores, "facets": facets})


def describe_nothing(people: str, reason: str = "nobody labelled images that are measured here") -> Correction:
    """Return the correction of a score without any labels."""
    return Correction(
        people=people,
        value=None,
        ci=None,
        reason=reason,
        labels=LabelScore(value=None, ci=None),
        n_labels=0,
    )


def describe_correction(
    found: statistics.CorrectedEstimate[Any], people: str, notes: tuple[str, ...] = ()
) -> Correction:
    """Return a correction as a typed result."""
    corrected, labels = found.corrected, found.labels
    return Correction(
        people=people,
        value=None if corrected is None else make_number(get_value(corrected)),
        ci=None if corrected is None else make_interval(corrected),
        reason=found.refusal or None,
        interval=None if corrected is None else f"{corrected.method}; {corrected.question}",
        labels=LabelScore(value=make_number(get_value(labels)), ci=make_interval(labels)),
        lam=make_number(found.lam),
        n_labels=found.n_labels,
        gain=make_number(found.gain),
        notes=list(dict.fromkeys([*notes, *found.notes, *(corrected.notes if corrected else ())])),
    )


def get_value(found: Estimate | PairedDifference) -> float:
    """Return the value of an estimate or a difference."""
    return found.diff if isinstance(found, PairedDifference) else found.value


def _add(score: Score, correction: Correction) -> Score:
    return score.model_copy(update={"correction": correction})


class ScoreCorrector:
    """Corrects the scores of one model, or of all models of a metric of pairs, over all rows or those of a level.

    Args:
        scoring: The rules that turn rows into scores.
        rows: The judge's rows beside people's.
        interval: The question that intervals answer.
    """

    def __init__(self, scoring: Scoring, rows: LabelledRows, interval: Question) -> None:
        self._scoring, self.rows, self._interval = scoring, rows, interval
        own = select_aggregated(scoring, rows.judged)
        self._aggregated = set(make_statistic(scoring, own)(np.ones(len(own))))
        metric = type(scoring.instance)
        self._has_own_intervals = issubclass(metric, TableMetric) and metric.estimates is not TableMetric.estimates
        self._kept: dict[tuple[str, str] | None, Mapping[str, Found]] = {}
        self._aligned: dict[str, NDArray[np.float64] | None] = {}

    def correct(self, name: str, label: str, at: tuple[str, str] | None = None) -> Found | None:
        """Return the correction of a score; None if it cannot be formed, or a level has too few labels.

        Args:
            name: Name of the score.
            label: The model's label.
            at: Facet and level; None for all rows.
        """
        pairs = isinstance(self._scoring.instance, PairMetric)
        key = label if pairs and name == self._scoring.measures[0].name else name
        if self._is_formed_by_metric(key):
            return None
        if at is not None and self._count_labels(at) < statistics.correction.LEAST_LABELS:
            return None
        if key in self._aggregated:
            if at not in self._kept:
                self._kept[at] = self._correct_aggregated(at)
            return self._kept[at].get(key)
        if not all((table["measure"] == name).any() for table in (self.rows.judged, self.rows.labels)):
            return None  # a metric may measure less by people's answers than by a judge
        return self._correct_mean(name, at)

    def explain_nothing(self, name: str) -> str:
        """Return why a score has no correction at all."""
        return OWN_INTERVALS if self._is_formed_by_metric(name) else NO_VALUE

    def _is_formed_by_metric(self, key: str) -> bool:
        """Return whether a score's interval follows from others by the metric's own rule, not from weights."""
        if not self._has_own_intervals:
            return False
        return key in self._aggregated or not (self.rows.judged["measure"] == key).any()

    def _count_labels(self, at: tuple[str, str]) -> int:
        judged = self._select(self.rows.judged, at)
        units = np.unique(self.rows.unit[judged])
        return int(self.rows.is_labelled[units].sum())

    def _correct_mean(self, name: str, at: tuple[str, str] | None) -> Found | None:
        rows = self.rows
        measure = next(each for each in self._scoring.measures if each.name == name)
        if name not in self._aligned:
            self._aligned[name] = rows.align(name, measure.facets)
        labels = self._aligned[name]
        if labels is None:
            masks = [(table["measure"] == name).to_numpy() for table in (rows.judged, rows.labels)]
            return self._correct_statistic(rows, [name], masks, at, _mean_of).get(name)
        of_measure = (rows.judged["measure"] == name).to_numpy()
        own, unit = rows.judged[of_measure], rows.unit[of_measure]
        kept = self._select(own, at)
        if not (~np.isnan(labels[kept])).any():
            return None
        if len(np.unique(unit[kept])) < kept.sum():  # labels are counted by unit, and some have several rows
            masks = [(table["measure"] == name).to_numpy() for table in (rows.judged, rows.labels)]
            return self._correct_statistic(rows, [name], masks, at, _mean_of).get(name)
        return corrected_mean(
            own["value"].to_numpy(np.float64)[kept],
            labels[kept],
            probability=rows.probability[unit][kept],
            label_strata=None if rows.strata is None else rows.strata[unit][kept],
            interval=self._interval,
            low=measure.low,
            high=measure.high,
            **find_clusters(self._scoring, own[kept]),
        )

    def _correct_aggregated(self, at: tuple[str, str] | None) -> Mapping[str, Found]:
        own = select_aggregated(self._scoring, self.rows.judged)
        measures = set(own["measure"].unique())
        rows = self.rows.of_kind(measures)
        masks = [table["measure"].isin(measures).to_numpy() for table in (rows.judged, rows.labels)]
        return self._correct_statistic(rows, sorted(self._aggregated), masks, at, make_statistic)

    def _correct_statistic(
        self,
        rows: LabelledRows,
        names: list[str],
        masks: Sequence[NDArray[np.bool_]],
        at: tuple[str, str] | None,
        make: Callable[[Scoring, pd.DataFrame], Statistic],
    ) -> Mapping[str, Found]:
        """Correct a statistic of whole units, whose rows need not be the same ones for judge and people."""
        inside = self._select(rows.judged, at)
        judged, labels = masks[0] & inside, masks[1] & self._select(rows.labels, at)
        units, first = np.unique(rows.unit[inside], return_index=True)
        known = rows.is_labelled[units]
        if not known.any() or not judged.any():
            return {}
        number = np.full(len(rows.probability), -1)
        number[units] = np.arange(len(units))
        labels &= number[rows.unit_of_labels] >= 0
        statistic = make(self._scoring, rows.judged[judged])
        answered = make(self._scoring, rows.labels[labels])
        of_judge, of_people = number[rows.unit[judged]], number[rows.unit_of_labels[labels]]
        determined = is_determined(self._scoring, rows.labels[labels], rows.judged[judged])
        found = corrected_statistics(
            lambda weights: pick_values(statistic(weights[of_judge]), names),
            lambda weights: pick_values(answered(weights[of_people]) if determined else {}, names),
            known,
            answers=average_answers(rows.labels[labels], of_people, len(units)),
            probability=rows.probability[units],
            label_strata=None if rows.strata is None else rows.strata[units],
            interval=self._interval,
            ranges={each.name: (each.low, each.high) for each in self._scoring.measures if each.name in names},
            **find_clusters(self._scoring, rows.judged[inside].iloc[first]),
        )
        return found if determined else {name: refuse(own, NOT_CONNECTED) for name, own in found.items()}

    @staticmethod
    def _select(table: pd.DataFrame, at: tuple[str, str] | None) -> NDArray[np.bool_]:
        if at is None:
            return np.ones(len(table), bool)
        facet, level = at
        inside = np.zeros(len(table), bool)
        for name, rows in locate_levels(table[facet]).items() if facet in table else ():
            if str(name) == level:
                inside[rows] = True
        return inside


def _mean_of(_: Scoring, table: pd.DataFrame) -> Statistic:
    """Return the mean of a table's rows as a function of their weights."""
    names, values = table["measure"].unique(), table["value"].to_numpy(np.float64)
    if not len(values):
        return lambda _: {}

    def statistic(weights: NDArray[np.float64]) -> Mapping[str, float]:
        total = float(weights.sum())
        return {str(names[0]): float((weights * values).sum()) / total if total > 0 else float("nan")}

    return statistic


def pick_values(found: Mapping[str, float], names: list[str]) -> dict[str, float]:
    """Return the values of names; NaN for those that are not found."""
    return {name: float(found.get(name, float("nan"))) for name in names}


def average_answers(labels: pd.DataFrame, unit: NDArray[np.intp], n_units: int) -> NDArray[np.float64]:
    """Return the mean of people's rows about each unit, of the measure that most rows have; 0 without any.

    Args:
        labels: People's rows.
        unit: The unit of each row, in 0..n_units - 1.
        n_units: Number of units.
    """
    if labels.empty:
        return np.zeros(n_units)
    own = (labels["measure"] == labels["measure"].mode().iloc[0]).to_numpy()
    counts = np.bincount(unit[own], minlength=n_units)
    sums = np.bincount(unit[own], labels["value"].to_numpy(np.float64)[own], n_units)
    return np.asarray(sums / np.maximum(counts, 1), np.float64)


AnyFound = TypeVar("AnyFound", Estimate, PairedDifference)


def refuse(found: statistics.CorrectedEstimate[AnyFound], reason: str) -> statistics.CorrectedEstimate[AnyFound]:
    """Return a correction without a corrected value, for a reason."""
    return replace(found, corrected=None, refusal=reason)


def is_determined(scoring: Scoring, labels: pd.DataFrame, judged: pd.DataFrame) -> bool:
    """Return whether people's answers connect all models of a metric of pairs, so that ratings exist.

    Each two models must be joined both ways by a chain of models of which one did not lose all to the next.

    Args:
        scoring: The rules that turn rows into scores.
        labels: People's rows.
        judged: The judge's rows, which name all models.

    References:
        L. R. Ford, Solution of a ranking problem from binary comparisons (1957).
    """
    if not isinstance(scoring.instance, PairMetric):
        return True
    bounds = {each.name: (each.low, each.high) for each in scoring.measures}
    rows = labels[labels["measure"].isin([n for n, (low, high) in bounds.items() if None not in (low, high)])]
    if rows.empty:
        return not labels.empty
    models = sorted({*judged["model_a"].astype(str), *judged["model_b"].astype(str)})
    number = {model: place for place, model in enumerate(models)}
    a, b = (rows[side].astype(str).map(number).to_numpy() for side in ("model_a", "model_b"))
    low, high = (rows["measure"].astype(str).map({n: e[i] for n, e in bounds.items()}) for i in (0, 1))
    won = np.zeros((len(models), len(models)), bool)
    np.logical_or.at(won, (a, b), rows["value"].to_numpy() > low.to_numpy(float))
    np.logical_or.at(won, (b, a), rows["value"].to_numpy() < high.to_numpy(float))
    return int(scipy.sparse.csgraph.connected_components(won, connection="strong")[0]) == 1
