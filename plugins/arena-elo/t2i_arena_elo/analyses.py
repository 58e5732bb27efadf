"""Analyses of a run's battles: ratings with ranks, verdicts, subsets, and counts of images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from t2i_core.api.facet_levels import locate_levels
from t2i_core.api.figure import BarChart, ForestPlot
from t2i_core.api.study import Analysis, Study

from .battles import VERDICTS, Battles, split_subsets
from .judge_comparison import add_subsets, compare_ratings, compare_verdicts, split_people
from .online import rate_online
from .options import EloOptions
from .ratings import Ratings, rate
from .rows import battles_of
from .source_comparison import HERE, compare_sources, read_sources
from .summary import RatedLevels, top_one

ALL = "all"


def analyses(study: Study, options: EloOptions) -> Iterator[Analysis]:
    """Yield all analyses of a run's battles."""
    battles = battles_of(study.table, prompt="cluster")
    whole = _rated(battles, options)
    summary = f"Ratings and ranks, with 95 % intervals over {whole.clusters}: bootstrap (low, high) and sandwich."
    figure = ForestPlot(label="model", value="rating", title="rating, 95 % interval")
    yield Analysis("ratings", " ".join([summary, *whole.notes]), whole.table, figure)
    yield Analysis("position", "Advantage of being shown first, in Elo points.", _position(battles, whole))
    levels = {
        facet: {
            str(level): battles_of(study.table.iloc[rows], prompt="cluster")
            for level, rows in locate_levels(study.table[facet]).items()
        }
        for facet in options.by
        if facet in study.table
    }
    by_level = {facet: {level: _rated(own, options) for level, own in of.items()} for facet, of in levels.items()}
    for facet, found in by_level.items():
        tables = [ratings.table.assign(**{facet: level}) for level, ratings in found.items()]
        notes = [f"{level}: {'; '.join(ratings.notes)}." for level, ratings in found.items() if ratings.notes]
        summary = " ".join([f"Ratings from the battles of each {facet} alone.", *notes])
        table = pd.concat(tables, ignore_index=True)
        figure = ForestPlot(label="model", value="rating", facet=facet, title="rating, 95 % interval")
        yield Analysis(f"ratings by {facet}", summary, table, figure)
    shares = [_verdicts(battles, ALL, ALL)]
    shares += [_verdicts(own, facet, level) for facet, of in levels.items() for level, own in of.items()]
    summary = "Outcomes of each model's battles, as shares of all of them, including those without a verdict."
    yield Analysis("verdicts", summary, pd.concat(shares, ignore_index=True), _stack_outcomes(shares[0]))
    if len(study.samples):  # battles of files have no images
        yield count_images(study.samples)
    yield _rate_online(battles, options)
    sources = read_sources(battles_of(study.table), options)
    judged = split_people(sources)
    yield from compare_ratings(judged, options)
    for facet in by_level:
        here = battles_of(study.table, subset=facet)
        yield compare_verdicts(add_subsets(judged, here), facet)
    yield from compare_sources(sources, options)
    yield from top_one(study, {"elo": (whole, by_level), **_rate_others(sources, study, options)})


def _rate_others(sources: Mapping[str, Battles], study: Study, options: EloOptions) -> dict[str, RatedLevels]:
    """Return the ratings by each other judge, overall and by level, to stand beside this run's in `top-1`."""
    found: dict[str, RatedLevels] = {}
    for judge, battles in split_people({name: own for name, own in sources.items() if name != HERE}).items():
        by_level = {}
        for facet in options.by:
            if facet in study.table:
                known = add_subsets({judge: battles}, battles_of(study.table, subset=facet))[judge]
                by_level[facet] = {level: _rated(own, options) for level, own in split_subsets(known).items()}
        found[f"elo, {judge}"] = (_rated(battles, options), by_level)
    return found


def _rate_online(battles: Battles, options: EloOptions) -> Analysis:
    """Return online Elo beside the Bradley-Terry ratings, in the order of the rows and over shuffled orders."""
    table = rate_online(battles, k_factor=options.k_factor, ties=options.ties)
    summary = (
        f"Online Elo with K = {options.k_factor:g}, for comparison with old leaderboards. The rating depends on "
        "the order of the rows; over shuffled orders: mean, middle 95 % (not a confidence interval) and extremes."
    )
    figure = ForestPlot(
        label="model",
        value="mean",
        ticks={"rating": "in the order of the rows"},
        title="online Elo, 95 % of shuffled orders",
    )
    return Analysis("online", summary, table, figure)


def _rated(battles: Battles, options: EloOptions) -> Ratings:
    return rate(battles, ties=options.ties, order=options.position)


def _position(battles: Battles, ratings: Ratings) -> pd.DataFrame:
    """Return a table with the fitted order term and the observed share of wins of the image shown first."""
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
    """Return the shares of outcomes by model: won, lost, and the verdicts that do not depend on the side."""
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


def count_images(samples: pd.DataFrame) -> Analysis:
    """Count each model's images, and those that it has for several prompts, as retrieval does."""
    table = images(samples)
    told = [
        f"{row.model}: {row.distinct:,} distinct images of {row.images:,}, {row.reused:,} had been used for an "
        f"earlier prompt, {row.missing:,} missing."
        for row in table[table["reused"] > 0].itertuples()
    ]
    summary = "Number of images of each model, and of those that it also has for another prompt."
    return Analysis("images", " ".join([summary, *told]), table)


def images(samples: pd.DataFrame) -> pd.DataFrame:
    """Count each model's images.

    Returns:
        A row for each model: images, failed, missing; distinct (images of different content), shared (images that
        occur for several prompts) and reused (images whose content an earlier prompt has).
    """
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
                "reused": len(there.drop_duplicates(["digest", "prompt"])) - len(prompts),
                "shared": int(there["digest"].isin(prompts.index[prompts > 1]).sum()),
            }
        )
    return pd.DataFrame(lines)


OUTCOMES = ("won", "tie", "both-bad", "unparsable", "refused", "failed", "lost")


def _stack_outcomes(table: pd.DataFrame) -> BarChart:
    """Return the shares of outcomes of each model as parts of a bar."""
    there = [name for name in OUTCOMES if table[name].any()]
    long = table.melt("model", there, var_name="outcome", value_name="share")
    return BarChart(
        label="model", value="share", colour="outcome", stacked=True, title="share of battles", data=long
    )
