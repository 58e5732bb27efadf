"""What a run's battles say beyond the ratings: ranks, verdicts, subsets, and the images that fought."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.study import Analysis, Study

from .battles import VERDICTS, Battles
from .beside import compared
from .options import EloOptions
from .ratings import Ratings, rate
from .rows import battles_of
from .summary import top_one

ALL = "all"


def analyses(study: Study, options: EloOptions) -> Iterator[Analysis]:
    """Yield all that can be said of a run's battles."""
    battles = battles_of(study.table, prompt="cluster")
    whole = _rated(battles, options)
    summary = f"Ratings, 95 % intervals over {whole.clusters}, resampled and by the sandwich; ranks."
    yield Analysis("ratings", " ".join([summary, *whole.notes]), whole.table, partial(_bars, whole.table))
    yield Analysis("position", "What it is worth to be shown first.", _position(battles, whole))
    levels = {
        facet: {str(level): battles_of(rows, prompt="cluster") for level, rows in own}
        for facet in options.by
        if facet in study.table
        for own in [study.table.groupby(facet, observed=True, sort=False)]
    }
    by_level = {facet: {level: _rated(own, options) for level, own in of.items()} for facet, of in levels.items()}
    for facet, found in by_level.items():
        tables = [ratings.table.assign(**{facet: level}) for level, ratings in found.items()]
        table = pd.concat(tables, ignore_index=True)
        yield Analysis(f"ratings by {facet}", f"The same for each {facet}, with its battles alone.", table)
    shares = [_verdicts(battles, ALL, ALL)]
    shares += [_verdicts(own, facet, level) for facet, of in levels.items() for level, own in of.items()]
    summary = "How battles ended, as shares of those of each model; of those without a verdict too."
    yield Analysis("verdicts", summary, pd.concat(shares, ignore_index=True), partial(_stack, shares[0]))
    yield Analysis("images", "Images of each model, and how many are another prompt's too.", images(study.samples))
    yield from compared(study, options)
    yield from top_one(study, whole, by_level)


def _rated(battles: Battles, options: EloOptions) -> Ratings:
    return rate(battles, ties=options.ties, order=options.position)


def _position(battles: Battles, ratings: Ratings) -> pd.DataFrame:
    """The fitted term, and how often the first was preferred in all."""
    decided = np.bincount(battles.verdict, minlength=len(VERDICTS))
    won = int(decided[0]) + int(decided[1])
    found = ratings.position
    nan = float("nan")
    line = {
        "points": found.points if found else nan,
        "low": found.low if found else nan,
        "high": found.high if found else nan,
        "share_against_an_equal": found.share if found else nan,
        "first_won": int(decided[0]) / won if won else nan,
        "battles_won": won,
    }
    return pd.DataFrame([line])


def _verdicts(battles: Battles, facet: str, level: str) -> pd.DataFrame:
    """Shares by model: won, lost, and the verdicts that are the same from either side."""
    names = ("won", "lost", *VERDICTS[2:])
    counts = np.zeros((len(battles.models), len(names)), np.int64)
    turned = np.array([1, 0, *range(2, len(names))])
    np.add.at(counts, (battles.left, battles.verdict), 1)
    np.add.at(counts, (battles.right, turned[battles.verdict]), 1)
    total = counts.sum(axis=1)
    table = pd.DataFrame({"by": facet, "level": level, "model": battles.models, "battles": total})
    for name, column in zip(names, counts.T, strict=True):
        table[name] = column / np.maximum(total, 1)
    return table[table["battles"] > 0]


def images(samples: pd.DataFrame) -> pd.DataFrame:
    """Count each model's images; `shared` are those that several prompts have (a retrieval's duplicates)."""
    lines = []
    for model, own in samples.groupby("model", sort=False, observed=True):
        there = own[own["status"] == "ok"]
        prompts = there.groupby("digest", observed=True)["prompt"].nunique()
        status = own["status"].value_counts()
        lines.append(
            {
                "model": model,
                "images": len(there),
                "failed": int(status.get("failed", 0)),
                "missing": int(status.get("missing", 0)),
                "distinct": len(prompts),
                "shared": int(there["digest"].isin(prompts.index[prompts > 1]).sum()),
            }
        )
    return pd.DataFrame(lines)


def _bars(table: pd.DataFrame, axes: Any) -> None:
    below, above = table["rating"] - table["low"], table["high"] - table["rating"]
    axes.errorbar(table["rating"], range(len(table)), xerr=[below.fillna(0), above.fillna(0)], fmt="o", capsize=3)
    axes.set_yticks(range(len(table)), table["model"])
    axes.invert_yaxis()
    axes.set_xlabel("rating, 95 % interval")


def _stack(table: pd.DataFrame, axes: Any) -> None:
    begin = np.zeros(len(table))
    for name in ("won", "tie", "both-bad", "unparsable", "refused", "failed", "lost"):
        if table[name].any():
            axes.barh(range(len(table)), table[name], left=begin, label=name)
        begin += table[name].to_numpy()
    axes.set_yticks(range(len(table)), table["model"])
    axes.invert_yaxis()
    axes.set_xlabel("share of battles")
    axes.legend()
