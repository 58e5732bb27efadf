"""Differences of two models' headline scores, corrected by people's labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import statistics
from ..statistics import (
    PairedDifference,
    Question,
    corrected_difference,
    corrected_statistic_differences,
    holm,
)
from .corrected_scores import (
    NOT_CONNECTED,
    average_answers,
    describe_correction,
    describe_nothing,
    is_determined,
    pick_values,
    refuse,
)
from .correction import CorrectedDifference
from .labelled_rows import LabelledRows, write_column
from .numbers import make_number
from .result import Comparison
from .score_difference import Scoring, find_clusters, make_statistic, select_aggregated, select_shared

Found = statistics.CorrectedEstimate[PairedDifference]
Pair = tuple[str, str]

_CELL = ("prompt", "seed", "seeds")


def correct_pairs(
    scoring: Scoring, rows: LabelledRows, pairs: Sequence[Pair], interval: Question
) -> Mapping[Pair, Found]:
    """Return the corrected differences of a metric of pairs.

    Args:
        scoring: The rules that turn rows into scores.
        rows: The judge's rows of all pairs beside people's.
        pairs: The two models of each difference.
        interval: The question that intervals answer.
    """
    own, said = (select_aggregated(scoring, table) for table in (rows.judged, rows.labels))
    statistic, answered = make_statistic(scoring, own), make_statistic(scoring, said)
    names = sorted(statistic(np.ones(len(own))))
    of_judge, of_people = (
        unit[table.index.get_indexer(part.index)]
        for table, part, unit in ((rows.judged, own, rows.unit), (rows.labels, said, rows.unit_of_labels))
    )
    _, first = np.unique(rows.unit, return_index=True)
    determined = is_determined(scoring, said, own)
    found = corrected_statistic_differences(
        lambda weights: pick_values(statistic(weights[of_judge]), names),
        lambda weights: pick_values(answered(weights[of_people]) if determined else {}, names),
        rows.is_labelled,
        [pair for pair in pairs if set(pair) <= set(names)],
        answers=average_answers(said, of_people, len(rows.probability)),
        probability=rows.probability,
        label_strata=rows.strata,
        interval=interval,
        low=scoring.measures[0].low,
        high=scoring.measures[0].high,
        **find_clusters(scoring, rows.judged.iloc[first]),
    )
    return found if determined else {pair: refuse(each, NOT_CONNECTED) for pair, each in found.items()}


def correct_difference(
    scoring: Scoring,
    rows: Mapping[str, LabelledRows | None],
    pair: Pair,
    same: Collection[str] | None,
    interval: Question,
) -> Found | None:
    """Return the corrected difference of two models, paired on the cells that both have.

    A cell counts as labelled if people labelled the images of both models.

    Args:
        scoring: The rules of both.
        rows: The rows of each model beside people's.
        pair: The two models.
        same: Ids of the prompts that are the same for both; None if all of one id are.
        interval: The question that the interval answers.

    Returns:
        The difference; None if no cell is labelled.
    """
    sides = [rows[model] for model in pair]
    if sides[0] is None or sides[1] is None:
        return None
    cells = _PairedCells(scoring, pair, (sides[0], sides[1]), same)
    if not cells.labelled.any():
        return None
    measure = scoring.measures[0]
    options: dict[str, Any] = {
        "probability": cells.probability,
        "interval": interval,
        "low": measure.low,
        "high": measure.high,
        **find_clusters(scoring, cells.first),
    }
    if not cells.aggregated:
        (f_a, y_a), (f_b, y_b) = cells.values(measure.name)
        return corrected_difference(f_a, f_b, y_a, y_b, **options)
    judged, answered = cells.statistics(measure.name)
    return corrected_statistic_differences(judged, answered, cells.labelled, [pair], **options)[pair]


class _PairedCells:
    """The cells of two models: prompts and seeds, or prompts whose images are measured together."""

    def __init__(
        self,
        scoring: Scoring,
        pair: Pair,
        sides: tuple[LabelledRows, LabelledRows],
        same: Collection[str] | None,
    ) -> None:
        self._scoring, self._pair, self._sides = scoring, pair, sides
        own = [select_aggregated(scoring, side.judged) for side in sides]
        statistic = make_statistic(scoring, own[0])
        self.aggregated = scoring.measures[0].name in statistic(np.ones(len(own[0])))
        headline = scoring.measures[0].name
        both = pd.concat(own if self.aggregated else [table[table["measure"] == headline] for table in own])
        if same is not None:
            both = both[both["prompt"].isin(same)]
        shared = select_shared(both, *pair)
        self._columns = [c for c in _CELL if c in shared and shared[c].notna().any()]
        cells = self._index(shared)
        self.index = cells.unique()
        self.first = shared[~cells.duplicated()]
        chances = [self._chances(side) for side in sides]
        self.labelled = ~np.isnan(chances[0]) & ~np.isnan(chances[1])
        self.probability = chances[0] if _are_drawn_together(*chances) else chances[0] * chances[1]

    def _index(self, table: pd.DataFrame) -> pd.MultiIndex:
        return pd.MultiIndex.from_arrays([write_column(table[column]) for column in self._columns])

    def _chances(self, side: LabelledRows) -> NDArray[np.float64]:
        """Return the probability of one model's image in each cell to be labelled; NaN if it is not."""
        index = self._index(side.labels)
        chance = pd.Series(side.probability[side.unit_of_labels], index=index)
        return np.asarray(chance[~index.duplicated()].reindex(self.index), np.float64)

    def values(self, measure: str) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return each model's mean in each cell by the judge and by people, NaN where nobody labelled it."""
        found = []
        for side in self._sides:
            tables = (table[table["measure"] == measure] for table in (side.judged, side.labels))
            means = [table["value"].groupby(self._index(table)).mean() for table in tables]
            judged, said = (mean.reindex(self.index).to_numpy(np.float64) for mean in means)
            found.append((judged, said))
        return found

    def statistics(self, name: str) -> tuple[Any, Any]:
        """Return both models' scores as functions of the cells' weights, by the judge and by people."""
        judged, labels = ([getattr(side, of) for side in self._sides] for of in ("judged", "labels"))
        return self._score_each(judged, name), self._score_each(labels, name)

    def _score_each(self, tables: Sequence[pd.DataFrame], name: str) -> Any:
        parts = []
        for table in tables:
            own = select_aggregated(self._scoring, table)
            places = self.index.get_indexer(self._index(own))
            parts.append((make_statistic(self._scoring, own[places >= 0]), places[places >= 0]))

        def score(weights: NDArray[np.float64]) -> dict[str, float]:
            return {
                model: float(statistic(weights[places]).get(name, float("nan")))
                for model, (statistic, places) in zip(self._pair, parts, strict=True)
            }

        return score


def _are_drawn_together(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Return whether whole cells were drawn, rather than the images of each model by themselves.

    Then both images of a cell have one probability, and only images that somebody could not answer about leave
    half a cell. If images were drawn one by one, with the probability p, 2 (1 - p) / p cells are half labelled for
    each that is labelled whole; the border is half of that.

    Args:
        a: The probability of the first model's image in each cell, NaN if it is not labelled, shape (cells,).
        b: The same for the second model.
    """
    whole, half = ~np.isnan(a) & ~np.isnan(b), np.isnan(a) != np.isnan(b)
    if not whole.any() or not np.allclose(a[whole], b[whole], rtol=1e-9):
        return False
    chance = float(a[whole].mean())
    return int(half.sum()) <= int(whole.sum()) * (1 - chance) / chance


def describe_differences(
    comparisons: Sequence[Comparison], found: Mapping[Pair, Found | None], people: str
) -> list[Comparison]:
    """Return the comparisons of one metric by one judge with their corrections; p-values are adjusted together."""
    raw = [
        own.corrected.p if (own := found.get((each.a, each.b))) is not None and own.corrected else float("nan")
        for each in comparisons
    ]
    adjusted = holm(raw)
    return [
        each.model_copy(update={"correction": _describe(found.get((each.a, each.b)), people, p, q)})
        for each, p, q in zip(comparisons, raw, adjusted, strict=True)
    ]


def _describe(found: Found | None, people: str, p: float, adjusted: float) -> CorrectedDifference:
    if found is None:
        nothing = describe_nothing(people, "nobody labelled images of both models for one prompt and seed")
        return CorrectedDifference(**nothing.model_dump())
    correction = describe_correction(found, people)
    return CorrectedDifference(
        **correction.model_dump(), p_adjusted=make_number(adjusted), p_unadjusted=make_number(p)
    )
