"""A judge's rows beside people's rows of the samples that they labelled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..api.metric_output import Measure
from .label_rows import PROBABILITY
from .label_units import choose_measure, name_outcomes

Floats = NDArray[np.float64]

_UNIT = ("model", "model_a", "model_b", "prompt", "seed", "seeds")
"""Columns that tell units apart."""

UNKNOWN_DRAW = (
    "the answers do not say how the images were drawn; they are taken for a simple random draw from all measured"
)


@dataclass(frozen=True)
class LabelledRows:
    """The rows of a judge, and people's rows of those of its units that they labelled.

    Attributes:
        judged: The judge's rows, of one model or of all pairs.
        labels: People's rows of the same units.
        unit: The unit of each row of `judged`, in 0..max, shape (rows,).
        unit_of_labels: The same for `labels`.
        probability: The probability of each unit to be labelled; NaN for those that are not. Shape (units,).
        strata: The stratum from which each unit was drawn; None if all were drawn alike. Shape (units,).
        notes: What readers must know of the draw.
    """

    judged: pd.DataFrame
    labels: pd.DataFrame
    unit: NDArray[np.intp]
    unit_of_labels: NDArray[np.intp]
    probability: Floats
    strata: NDArray[np.object_] | None
    notes: tuple[str, ...] = ()

    @cached_property
    def is_labelled(self) -> NDArray[np.bool_]:
        """Mask of the units that are labelled, shape (units,)."""
        return ~np.isnan(self.probability)

    def align(self, measure: str, facets: Sequence[str]) -> Floats | None:
        """Return people's value for each row of the judge of a measure, NaN where nobody labelled it.

        Args:
            measure: The measure.
            facets: Facets that tell its rows of one unit apart.

        Returns:
            The values, shape (rows of the measure,); None if judge and people do not have the same rows of a
            labelled unit, because which rows there are depends on what is seen.
        """
        keys = [c for c in facets if c in self.judged and c in self.labels]
        sides = ((self.judged, self.unit), (self.labels, self.unit_of_labels))
        own = [(table[mask], unit[mask]) for table, unit in sides for mask in [table["measure"] == measure]]
        mine, theirs = (
            pd.MultiIndex.from_arrays([unit, *(write_column(table[key]) for key in keys)]) for table, unit in own
        )
        beside = mine[self.is_labelled[own[0][1]]]
        if beside.has_duplicates or theirs.has_duplicates or set(beside) != set(theirs):
            return None
        said = pd.Series(own[1][0]["value"].to_numpy(), index=theirs)
        return said.reindex(mine).to_numpy(np.float64)

    def of_kind(self, measures: Collection[str]) -> LabelledRows:
        """Return the rows about units of the kind that measures are about: single images, or whole prompts."""
        if "seed" not in self.judged or "seed" not in self.labels:
            return self
        rows = self.judged["measure"].isin(measures)
        single = bool(self.judged.loc[rows, "seed"].notna().all())
        masks = [(table["seed"].notna() == single).to_numpy() for table in (self.judged, self.labels)]
        if all(mask.all() for mask in masks):
            return self
        codes, distinct = pd.factorize(self.unit[masks[0]])
        numbers = pd.Series(np.arange(len(distinct)), index=distinct)
        return LabelledRows(
            self.judged[masks[0]],
            self.labels[masks[1]],
            codes.astype(np.intp),
            numbers.reindex(self.unit_of_labels[masks[1]]).to_numpy(np.intp),
            self.probability[distinct],
            None if self.strata is None else self.strata[distinct],
            self.notes,
        )


def join_labels(judged: pd.DataFrame, labels: pd.DataFrame, measures: Sequence[Measure]) -> LabelledRows | None:
    """Put people's rows beside a judge's.

    Labels of units of which the judge has no value are dropped.

    Args:
        judged: The judge's rows, of one model or of all pairs.
        labels: People's rows, with `PROBABILITY`.
        measures: The measures, the headline first, by whose values units may have been drawn.

    Returns:
        The rows; None if no unit has labels.
    """
    if judged.empty or labels.empty or not {"prompt", "measure"} <= set(labels):
        return None
    columns = [c for c in _UNIT if c in judged and c in labels and judged[c].notna().any()]
    units, of_labels = (
        pd.MultiIndex.from_arrays([write_column(table[c]) for c in columns]) for table in (judged, labels)
    )
    codes, distinct = pd.factorize(units)
    own = distinct.get_indexer(of_labels)
    known = own >= 0
    if not known.any():
        return None
    of_people, own = labels[known], own[known].astype(np.intp)
    drawn = (
        of_people[PROBABILITY].astype(float) if PROBABILITY in of_people else pd.Series(np.nan, of_people.index)
    )
    unknown = drawn.isna().to_numpy()
    notes: tuple[str, ...] = ()
    if unknown.all():
        notes = (UNKNOWN_DRAW,)
        drawn = drawn.fillna(len(np.unique(own)) / len(distinct))
    elif unknown.any():
        left_out = len(np.unique(own[unknown]))
        notes = (f"{left_out} labels without the probability with which they were drawn are left out",)
        of_people, own, drawn = of_people[~unknown], own[~unknown], drawn[~unknown]
    probability = np.full(len(distinct), np.nan)
    probability[own] = drawn
    unit = codes.astype(np.intp)
    strata = _find_strata(judged, unit, probability, measures)
    of_people = of_people.drop(columns=PROBABILITY, errors="ignore")
    return LabelledRows(judged, of_people, unit, own, probability, strata, notes)


def _find_strata(
    judged: pd.DataFrame, unit: NDArray[np.intp], probability: Floats, measures: Sequence[Measure]
) -> NDArray[np.object_] | None:
    """Return the judge's outcome of each unit, if units were drawn by it: then probabilities follow outcomes."""
    known = ~np.isnan(probability)
    if len(np.unique(np.round(probability[known], 12))) < 2:
        return None
    measure = choose_measure(measures, judged)
    rows = (judged["measure"] == measure).to_numpy()
    values = (
        pd.Series(judged["value"].to_numpy()[rows]).groupby(unit[rows]).mean().reindex(range(len(probability)))
    )
    names = name_outcomes(values.dropna().tolist())
    strata = values.map(names).fillna("").to_numpy(object)
    spread = pd.Series(probability[known]).groupby(strata[known]).agg(lambda own: own.max() - own.min())
    return strata if (spread < 1e-9).all() else None


def write_column(column: pd.Series[Any]) -> list[str]:
    """Return cells as texts, the same for tables whose columns have other types; empty where one is missing."""
    return ["" if pd.isna(cell) else str(cell) for cell in column.astype(object)]
