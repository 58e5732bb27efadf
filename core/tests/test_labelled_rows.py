"""A judge's rows beside people's: which units are labelled, how they were drawn, and whether rows match."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from t2i_core.api.metric import PairMetric
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.results.corrected_scores import is_determined
from t2i_core.results.label_rows import PROBABILITY
from t2i_core.results.labelled_rows import UNKNOWN_DRAW, join_labels

MEASURES = (SettledMeasure("shown", "Shown."), SettledMeasure("found", "Found.", facets=("object",)))


def table(rows, **more):
    names = ["prompt", "seed", "measure", "object", "value"]
    return pd.DataFrame(rows, columns=names).assign(model="m", cluster=lambda t: t["prompt"], **more)


JUDGED = table(
    [
        ("p", 0, "shown", None, 1.0), ("p", 0, "found", "dog", 1.0), ("p", 0, "found", "cat", 0.0),
        ("p", 1, "shown", None, 0.0), ("p", 1, "found", "dog", 0.0), ("p", 1, "found", "cat", 0.0),
        ("q", 0, "shown", None, 1.0), ("q", 0, "found", "dog", 1.0), ("q", 0, "found", "cat", 1.0),
    ]
)  # fmt: skip


def test_values_stand_beside_those_of_the_same_row() -> None:
    labels = table(
        [("p", "1", "found", "cat", 0.5), ("p", "1", "found", "dog", 0.25), ("p", "1", "shown", None, 1.0),
         ("gone", "1", "shown", None, 1.0)],
        **{PROBABILITY: 0.5},
    )  # fmt: skip
    rows = join_labels(JUDGED, labels, MEASURES)
    assert rows is not None
    assert rows.is_labelled.tolist() == [False, True, False]
    assert rows.probability[1] == 0.5
    assert rows.strata is None
    np.testing.assert_equal(rows.align("shown", ()), [np.nan, 1.0, np.nan])
    np.testing.assert_equal(rows.align("found", ("object",)), [np.nan, np.nan, 0.25, 0.5, np.nan, np.nan])


def test_rows_that_depend_on_what_is_seen_do_not_match() -> None:
    labels = table([("p", 0, "found", "dog", 1.0), ("p", 0, "shown", None, 1.0)], **{PROBABILITY: 1.0})
    rows = join_labels(JUDGED, labels, MEASURES)
    assert rows is not None
    assert rows.align("found", ("object",)) is None
    assert rows.align("shown", ()) is not None


def test_an_unknown_draw_is_taken_for_a_simple_one() -> None:
    rows = join_labels(JUDGED, table([("p", 0, "shown", None, 1.0), ("q", 0, "shown", None, 1.0)]), MEASURES)
    assert rows is not None
    assert rows.notes == (UNKNOWN_DRAW,)
    np.testing.assert_allclose(rows.probability, [2 / 3, np.nan, 2 / 3])


@pytest.mark.parametrize(("chances", "stratified"), [((0.5, 1.0), True), ((1.0, 1.0), False)])
def test_strata_are_the_outcomes_that_probabilities_follow(chances: tuple[float, float], stratified: bool) -> None:
    labels = table([("p", 0, "shown", None, 0.0), ("p", 1, "shown", None, 1.0)], **{PROBABILITY: list(chances)})
    rows = join_labels(JUDGED, labels, MEASURES)
    assert rows is not None
    assert (None if rows.strata is None else rows.strata.tolist()) == (["1", "0", "1"] if stratified else None)
    other = table([("p", 0, "shown", None, 0.0), ("q", 0, "shown", None, 1.0)], **{PROBABILITY: [0.5, 0.25]})
    unlike = join_labels(JUDGED, other, MEASURES)  # one outcome, two probabilities
    assert unlike is not None
    assert unlike.strata is None


def test_nothing_is_joined_without_labels() -> None:
    assert join_labels(JUDGED, pd.DataFrame(), MEASURES) is None
    assert join_labels(JUDGED, table([("r", 0, "shown", None, 1.0)]), MEASURES) is None


@pytest.mark.parametrize(
    ("battles", "determined"),
    [
        ([("a", "b", 1.0), ("b", "a", 1.0), ("b", "c", 0.5)], True),
        ([("a", "b", 1.0), ("b", "c", 1.0), ("c", "a", 1.0)], True),
        ([("a", "b", 1.0), ("b", "c", 0.5)], False),
        ([("a", "b", 0.5), ("c", "c", 0.5)], False),
        ([("a", "b", 1.0), ("b", "a", 1.0)], False),  # nobody labelled c, whom the judge rates
        ([], False),
    ],
)
def test_ratings_need_battles_that_connect_the_models(
    battles: list[tuple[str, str, float]], determined: bool
) -> None:
    scoring = SimpleNamespace(
        instance=object.__new__(type("Pairs", (PairMetric,), {"measure": None})),
        measures=(SettledMeasure("rating", "Rating."), SettledMeasure("win", "Points.", low=0.0, high=1.0)),
    )
    rows = pd.DataFrame(battles, columns=["model_a", "model_b", "value"]).assign(measure="win")
    judged = pd.DataFrame([("a", "b"), ("b", "c")], columns=["model_a", "model_b"])
    assert is_determined(scoring, rows, judged) is determined
