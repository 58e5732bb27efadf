"""Ratings and verdicts of each judge side by side: people, models, and other runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from t2i_core.api.figure import BarChart, ForestPlot
from t2i_core.api.study import Analysis
from t2i_core.statistics import spearman

from .battles import DECIDED, VERDICTS, Battles, split_subsets
from .options import EloOptions
from .ratings import Ratings, rate

ALL = "all"
SHOWN = ("first", "second", "tie", "both bad")
"""Verdicts that decide a battle, by the place of the image that won."""


def split_people(sources: Mapping[str, Battles]) -> dict[str, Battles]:
    """Return each source's battles, those judged by people apart from those judged by models."""
    found: dict[str, Battles] = {}
    for title, battles in sources.items():
        human = battles.human
        if human.any() and not human.all():
            found |= {f"{title}, people": battles.take(human), f"{title}, models": battles.take(~human)}
        else:
            found[f"{title}, people" if human.any() else title] = battles
    return found


def compare_ratings(judged: Mapping[str, Battles], options: EloOptions) -> Iterator[Analysis]:
    """Yield the ratings by each judge in one figure, with their rank correlation, if there are several."""
    if len(judged) < 2:
        return
    rated = {judge: rate(battles, ties=options.ties, order=options.position) for judge, battles in judged.items()}
    columns = ["model", "rating", "low", "high", "rank", "rank_low", "rank_high", "regularised", "battles"]
    table = pd.concat(
        [ratings.table[columns].assign(judge=judge) for judge, ratings in rated.items()], ignore_index=True
    )
    (first, one), *others = rated.items()
    notes = [_describe_correlation(first, one, judge, other) for judge, other in others]
    figure = ForestPlot(
        label="model", value="rating", colour="judge", title="rating, 95 % interval", note="; ".join(notes)
    )
    summary = "Ratings of the models by each judge, with 95 % intervals."
    yield Analysis("ratings by judge", " ".join([summary, *(f"{note}." for note in notes)]), table, figure)


def _describe_correlation(first: str, one: Ratings, judge: str, other: Ratings) -> str:
    ratings = [ratings.table.dropna(subset="rating").set_index("model")["rating"] for ratings in (one, other)]
    both = ratings[0].index.intersection(ratings[1].index)
    found = spearman(ratings[0][both], ratings[1][both])
    if np.isnan(found.value):
        return f"{first} and {judge}: rank correlation {found.method}"
    return f"{first} and {judge}: Spearman's rho {found.value:.2f}, p = {found.p:.2g} ({found.n} models)"


def compare_verdicts(judged: Mapping[str, Battles], facet: str) -> Analysis:
    """Return the shares of each verdict by judge, overall and for each level of a facet.

    Args:
        judged: Battles by judge; their `subset` is the level of the facet.
        facet: Name of the facet.
    """
    lines = [
        {"judge": judge, facet: level, **_share_verdicts(own)}
        for judge, battles in judged.items()
        for level, own in {ALL: battles, **split_subsets(battles)}.items()
    ]
    table = pd.DataFrame(lines)
    long = table.melt([facet, "judge"], list(SHOWN), var_name="verdict", value_name="share")
    figure = BarChart(
        label=facet, value="share", colour="verdict", facet="judge", stacked=True, data=long,
        title="share of verdicts", range=(0, 1), note="first, second: the image that was shown there was better",
    )  # fmt: skip
    summary = "Shares of each verdict that decides a battle, by the place in which the better image was shown."
    return Analysis(f"verdicts by {facet}", summary, table, figure)


def _share_verdicts(battles: Battles) -> dict[str, float]:
    counts = np.bincount(battles.verdict, minlength=len(VERDICTS))
    decided = int(counts[:DECIDED].sum())
    shares = counts[:DECIDED] / decided if decided else np.full(DECIDED, np.nan)
    return {**dict(zip(SHOWN, shares.tolist(), strict=True)), "decided": decided, "battles": len(battles)}


def add_subsets(judged: Mapping[str, Battles], here: Battles) -> dict[str, Battles]:
    """Return battles with the subsets that this run's prompts have; those of other prompts keep their own."""
    known = {here.prompts[p]: here.subsets[s] for p, s in zip(here.prompt, here.subset, strict=True)}
    return {judge: _replace_subsets(battles, known) for judge, battles in judged.items()}


def _replace_subsets(battles: Battles, known: Mapping[str, str]) -> Battles:
    texts = [
        known.get(battles.prompts[p], battles.subsets[s])
        for p, s in zip(battles.prompt, battles.subset, strict=True)
    ]
    codes, distinct = pd.factorize(np.array(texts, dtype=object))
    return replace(battles, subset=codes.astype(np.int32), subsets=tuple(map(str, distinct)))
