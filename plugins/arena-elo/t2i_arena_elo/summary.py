"""Best and second model by metric and subset, by the rules of Table 1 of the taxonomy benchmark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from t2i_core.api.facet_levels import locate_levels
from t2i_core.api.study import UPPER_BOUND, Analysis, Study
from t2i_core.results.score_difference import select_whole_sets
from t2i_core.statistics import Question, block_jackknife

from .ratings import Ratings
from .rows import estimate_mean


class ModelStanding(NamedTuple):
    """A model's score with its interval; NaN if unknown."""

    value: float
    low: float
    high: float


RatedLevels = tuple[Ratings, Mapping[str, Mapping[str, Ratings]]]
"""Ratings from all battles, and by facet and level."""

PLACES = ("best", "second")


def find_best(scores: Mapping[str, ModelStanding], lower: bool, place: int = 0) -> str:
    """Return the name of the best model, or of the next after it.

    Scores tie if they are equal when rounded to three significant digits.

    Args:
        scores: Score of each model; models without a finite score are ignored.
        lower: Whether lower scores are better.
        place: 0 for the best, 1 for the second.

    Returns:
        The name; `A/B` for two that tie; `Draw` for more. A `*` follows if the next score lies within the interval
        of this one. Empty if no model is left.
    """
    known = {model: score for model, score in scores.items() if math.isfinite(score.value)}
    if not known:
        return ""
    sign = -1.0 if lower else 1.0
    ordered = sorted(known, key=lambda model: -sign * known[model].value)
    best = known[ordered[0]]
    tied = [model for model in ordered if f"{known[model].value:.3g}" == f"{best.value:.3g}"]
    if place:
        return find_best({model: known[model] for model in ordered[len(tied) :]}, lower, place - 1)
    name = ordered[0] if len(tied) == 1 else "/".join(tied) if len(tied) == 2 else "Draw"
    after = ordered[len(tied) :]
    near = bool(after) and best.low <= known[after[0]].value <= best.high
    return f"{name}*" if near else name


def top_one(study: Study, rated: Mapping[str, RatedLevels]) -> Iterator[Analysis]:
    """Yield a table with the best and second model by metric, on all prompts and at each level of the facets.

    Other metrics of the run are represented by their headline measure, if it says whether higher is better.

    Args:
        study: The run.
        rated: The ratings by each judge, those of the run first.
    """
    _, by_level = next(iter(rated.values()))
    heads = Counter(["metric", "place", "all", *(level for of in by_level.values() for level in of)])
    # levels of two facets may have the same name
    columns = {
        (facet, level): level if heads[level] == 1 else f"{facet}: {level}"
        for facet, of in by_level.items()
        for level in of
    }
    lines = []
    for name, (whole, levels) in rated.items():
        standings = {"all": _of(whole)} | {
            column: _of(levels[facet][level])
            for (facet, level), column in columns.items()
            if level in levels.get(facet, {})
        }
        lines += _list_places(name, standings, lower=False)
    others = study.others if study.others is not None else pd.DataFrame()
    for metric, rows in others.groupby("metric", sort=False, observed=True) if len(others) else ():
        headline = next(iter(study.measures.get(str(metric), ())), None)
        if headline is None or headline.higher_is_better is None:
            continue
        rows = rows[rows["measure"] == headline.name]
        if "model" in rows:
            rows = rows[~rows["model"].astype(str).str.startswith(UPPER_BOUND)]
        if rows.empty or "model" not in rows:
            continue
        places = {facet: locate_levels(rows[facet]) for facet in by_level if facet in rows}
        standings = {"all": _scores(rows, study.interval)} | {
            column: _scores(rows.iloc[places[facet][level]], study.interval, facet)
            for (facet, level), column in columns.items()
            if level in places.get(facet, {})
        }
        lines += _list_places(str(metric).rpartition("/")[2], standings, lower=not headline.higher_is_better)
    summary = (
        "The best and the second model by metric and subset. A/B: these two tie. Draw: more than two tie. *: the "
        "next model lies within the interval of this one."
    )
    yield Analysis("top-1", summary, pd.DataFrame(lines).fillna(""))


def _list_places(
    metric: str, standings: Mapping[str, Mapping[str, ModelStanding]], lower: bool
) -> list[dict[str, str]]:
    """Return a line for each place, with the model in each column."""
    return [
        {
            "metric": metric,
            "place": name,
            **{column: find_best(scores, lower, place) for column, scores in standings.items()},
        }
        for place, name in enumerate(PLACES)
    ]


def _of(ratings: Ratings) -> dict[str, ModelStanding]:
    rows = ratings.table[["model", "rating", "low", "high"]].itertuples(index=False, name=None)
    return {model: ModelStanding(rating, low, high) for model, rating, low, high in rows}


def _scores(rows: pd.DataFrame, question: Question, facet: str | None = None) -> dict[str, ModelStanding]:
    """Return each model's score: the mean over images, or the value of a set with a jackknife interval.

    Args:
        rows: The rows of one measure; those of one level, if a facet is given.
        question: The question that the intervals answer.
        facet: The facet.
    """
    found = {}
    for model, own in rows.groupby("model", sort=False, observed=True):
        if "left_out" in own and own["left_out"].notna().all():
            own = select_whole_sets(own, facet)
            blocks = own.set_index(own["left_out"].astype(str))["value"]
            full, parts = float(blocks["none"]), blocks.drop("none")
            e = block_jackknife(full, list(parts)) if len(parts) > 1 else None
            found[str(model)] = ModelStanding(full, e.lo if e else np.nan, e.hi if e else np.nan)
        else:
            e = estimate_mean(own, question)
            found[str(model)] = ModelStanding(e.value, e.lo, e.hi)
    return found
