"""Who comes out first, by metric and subset: the taxonomy benchmark's Table 1, by its rules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from t2i_core.api.study import Analysis, Study
from t2i_core.statistics import block_jackknife, mean_interval

from .ratings import Ratings


class ModelStanding(NamedTuple):
    """A model's score with its interval; NaN where there is none."""

    value: float
    low: float
    high: float


def winner(scores: Mapping[str, ModelStanding], lower: bool) -> str:
    """Name the best: two that tie with a slash between, more as `Draw`; `*` where the next is within its interval.

    Scores tie where they are the same to three digits, as a table would show them.
    """
    known = {model: score for model, score in scores.items() if math.isfinite(score.value)}
    if not known:
        return ""
    sign = -1.0 if lower else 1.0
    ordered = sorted(known, key=lambda model: -sign * known[model].value)
    best = known[ordered[0]]
    tied = [model for model in ordered if f"{known[model].value:.3g}" == f"{best.value:.3g}"]
    name = ordered[0] if len(tied) == 1 else "/".join(tied) if len(tied) == 2 else "Draw"
    after = ordered[len(tied) :]
    near = bool(after) and best.low <= known[after[0]].value <= best.high
    return f"{name}*" if near else name


def top_one(study: Study, whole: Ratings, by_level: Mapping[str, Mapping[str, Ratings]]) -> Iterator[Analysis]:
    """Yield a line for each metric of the run: the winner on all prompts and at each level of the facets.

    Of other metrics the headline counts, where it is a mean of rows and says which end of it is better.
    """
    heads = Counter(["metric", "all", *(level for of in by_level.values() for level in of)])
    # levels of two facets may be called alike
    columns = {
        (facet, level): level if heads[level] == 1 else f"{facet}: {level}"
        for facet, of in by_level.items()
        for level in of
    }
    own = {column: winner(_of(by_level[facet][level]), False) for (facet, level), column in columns.items()}
    lines = [{"metric": "elo", "all": winner(_of(whole), False), **own}]
    others = study.others if study.others is not None else pd.DataFrame()
    for metric, rows in others.groupby("metric", sort=False, observed=True) if len(others) else ():
        headline = next(iter(study.measures.get(str(metric), ())), None)
        if headline is None or headline.higher_is_better is None:
            continue
        rows, lower = rows[rows["measure"] == headline.name], not headline.higher_is_better
        if rows.empty or "model" not in rows:
            continue
        line = {"metric": str(metric).rpartition("/")[2], "all": winner(_scores(rows), lower)}
        for (facet, level), column in columns.items():
            if facet in rows:
                line[column] = winner(_scores(rows[rows[facet].astype(str) == level]), lower)
        lines.append(line)
    summary = "The best model by metric and subset: A/B tie, Draw: more do, *: the next lies within the interval."
    yield Analysis("top-1", summary, pd.DataFrame(lines).fillna(""))


def _of(ratings: Ratings) -> dict[str, ModelStanding]:
    return {row.model: ModelStanding(row.rating, row.low, row.high) for row in ratings.table.itertuples()}


def _scores(rows: pd.DataFrame) -> dict[str, ModelStanding]:
    """Each model's mean over images, or the value of its whole set, which has rows without blocks beside."""
    found = {}
    for model, own in rows.groupby("model", sort=False, observed=True):
        if "left_out" in own and own["left_out"].notna().all():
            blocks = own.set_index(own["left_out"].astype(str))["value"]
            full, parts = float(blocks["none"]), blocks.drop("none")
            e = block_jackknife(full, list(parts)) if len(parts) > 1 else None
            found[str(model)] = ModelStanding(full, e.lo if e else np.nan, e.hi if e else np.nan)
        else:
            e = mean_interval(own["value"].to_numpy(np.float64), own["cluster"].astype(str), None)
            found[str(model)] = ModelStanding(e.value, e.lo, e.hi)
    return found
