"""Comparison of a run's battles with other sources: another judge, people, or prompts with definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import ForestPlot, HeatMap
from t2i_core.api.study import Analysis
from t2i_core.io.answers import NOBODY
from t2i_core.statistics import mean_interval, spearman

from .battles import DECIDED, VERDICTS, Battles
from .options import EloOptions
from .ratings import MEAN, POINTS, decided_battles, fit_ratings
from .sources import read_source

HERE = "this run"
_POINTS = np.array([1.0, 0.0, 0.5, 0.5])
_ORIENTED = ("first", "second", *VERDICTS[2:])
"""Verdicts on two models in the alphabetical order of their names, whichever was shown on the left."""


def read_sources(here: Battles, options: EloOptions) -> dict[str, Battles]:
    """Return this run's battles and those of the sources beside it, by name.

    Raises:
        BadOption: If a source has no vote that counts.
    """
    return {HERE: here, **read_named(options.beside)}


def compare_sources(sources: Mapping[str, Battles], options: EloOptions) -> Iterator[Analysis]:
    """Yield comparisons with each other source: rank correlation, confusion of verdicts, and changes by model.

    Raises:
        BadOption: If a source has no vote that counts, or no battle of this run's prompts and models.
    """
    here = sources[HERE]
    judged = {**sources, **{name: own for title, all_ in sources.items() for name, own in _judges(title, all_)}}
    if len(judged) > 1:
        summary = (
            "Spearman's rho between the ratings of the same models by two judges, annotators or runs; 95 % "
            "interval by Fisher's z from 5 models on, p exact up to 8 models."
        )
        forest = ForestPlot(label=("a", "b"), value="rho", range=(-1, 1), reference=0, title="Spearman's rho")
        yield Analysis("judges", summary, _spearman(judged, options), forest)
    for name, there in sources.items():
        if name != HERE:
            table = confusion(here, there)
            if not options.confusion_ties:
                table = table.drop(index="tie", columns="tie")
            counts = table.to_numpy(np.int64)
            decided = table.index.isin(_ORIENTED[:DECIDED])
            same, total = int(np.diagonal(counts)[decided].sum()), int(counts.sum())
            if not total:
                raise BadOption(f"{name}: has no battle of this run's prompts and models")
            summary = (
                f"Verdicts of this run (rows) and {name} (columns) on the same images; {same} of {total} agree. "
                "`first` is the model that comes first in alphabetical order, wherever it was shown."
            )
            table = table.reset_index(names="here")
            long = table.melt("here", var_name="there", value_name="battles")
            heat_map = HeatMap(
                x="there", y="here", value="battles", digits=0, x_title=name, y_title=HERE,
                data=long[long["battles"] > 0], range=(0, None),
            )  # fmt: skip
            yield Analysis(f"confusion with {name}", summary, table, heat_map)
            summary = (
                f"Share of battles won in this run minus the share in {name}, ties counted half, on the prompts "
                "that both have, with its 95 % interval over prompts; and the change of the rating."
            )
            shift = ForestPlot(label="model", value="change", reference=0, title="change of the share won")
            yield Analysis(f"change from {name}", summary, change(here, there, options), shift)
    yield from _compare_definitions(sources, options)


def _compare_definitions(sources: Mapping[str, Battles], options: EloOptions) -> Iterator[Analysis]:
    """Yield how each model's share of battles won changes by definitions, for each judge that saw both."""
    if not options.without:
        return
    plain = _join_kinds(read_named(options.without))
    tables = [
        change(own, plain[judge], options).assign(judge=judge)
        for judge, own in _join_kinds(sources).items()
        if judge in plain
    ]
    if not any(table["prompts"].any() for table in tables):
        raise BadOption(
            f"{', '.join(map(str, options.without))}: no judge has battles of the same models and prompts with "
            "and without definitions"
        )
    summary = (
        "Share of battles won with definitions minus the share without, ties counted half, on the prompts that "
        "both have, with 95 % intervals over prompts; people together, and models together."
    )
    figure = ForestPlot(
        label="model", value="change", colour="judge", reference=0, title="change of the share won by definitions"
    )
    yield Analysis("change by definitions", summary, pd.concat(tables, ignore_index=True), figure)


def _join_kinds(sources: Mapping[str, Battles]) -> dict[str, Battles]:
    """Return the battles of all sources that people judged, and those that models judged."""
    every = list(chain.from_iterable(sources.values()))
    kinds = {"people": True, "models": False}
    found = {kind: Battles.of(b for b in every if b.human is human) for kind, human in kinds.items()}
    return {kind: battles for kind, battles in found.items() if len(battles)}


def read_named(paths: Sequence[Path]) -> dict[str, Battles]:
    """Return the battles of other runs and files, by the last part of the path, or the path if taken.

    Raises:
        BadOption: If a source has no vote that counts.
    """
    found: dict[str, Battles] = {}
    for path in paths:
        source = read_source(path)
        if not len(source.battles):
            raise BadOption(f"{path}: has no vote on two models' images that counts")
        found[path.name if path.name not in found else str(path)] = source.battles
    return found


def _judges(title: str, battles: Battles) -> Iterator[tuple[str, Battles]]:
    """Yield the battles of each judge, if there are several."""
    own = np.unique(battles.judge)
    for code in own if len(own) > 1 else []:
        yield f"{title}: {battles.judges[code] or NOBODY}", battles.take(battles.judge == code)


class Strengths(NamedTuple):
    """Ratings by model, without intervals.

    Attributes:
        ratings: Rating by model.
        regularised: Whether draws were added, as in `ratings.ModelFit`.
    """

    ratings: pd.Series[float]
    regularised: bool


def strengths(battles: Battles, options: EloOptions) -> Strengths:
    """Rate the models of decided battles, without intervals."""
    data, _, present = decided_battles(battles, options.ties)
    models = tuple(battles.models[i] for i in present)
    if not models:
        return Strengths(pd.Series(dtype=np.float64), False)
    model_fit = fit_ratings(data, models, options.position)
    return Strengths(pd.Series(MEAN + POINTS * model_fit.fit.theta, index=models), model_fit.regularised)


def _spearman(judged: Mapping[str, Battles], options: EloOptions) -> pd.DataFrame:
    rated = {name: strengths(own, options) for name, own in judged.items()}
    lines = []
    for (a, one), (b, other) in combinations(rated.items(), 2):
        both = one.ratings.index.intersection(other.ratings.index)
        found = spearman(one.ratings[both], other.ratings[both])
        line = {"a": a, "b": b, "models": len(both), "rho": found.value, "low": found.lo, "high": found.hi}
        lines.append({**line, "p": found.p, "regularised": one.regularised or other.regularised})
    return pd.DataFrame(lines)


def _keyed(battles: Battles) -> pd.DataFrame:
    """Return a row for each battle, with the two models in alphabetical order and the verdict turned to match."""
    models = np.array(battles.models, dtype=object)
    left, right = models[battles.left], models[battles.right]
    turned = left > right
    flip = np.array([1, 0, *range(2, len(VERDICTS))])
    return pd.DataFrame(
        {
            "prompt": np.array(battles.prompts, dtype=object)[battles.prompt],
            "seed": battles.seed,
            "a": np.where(turned, right, left),
            "b": np.where(turned, left, right),
            "verdict": np.where(turned, flip[battles.verdict], battles.verdict),
        }
    )


def confusion(here: Battles, there: Battles) -> pd.DataFrame:
    """Count pairs of verdicts on the same images. A battle with an unknown seed matches every seed."""
    both = _keyed(here).merge(_keyed(there), on=["prompt", "a", "b"], suffixes=("", "_there"))
    alike = (both["seed"] == both["seed_there"]) | (both["seed"] < 0) | (both["seed_there"] < 0)
    counts = np.zeros((len(VERDICTS), len(VERDICTS)), np.int64)
    np.add.at(counts, (both.loc[alike, "verdict"], both.loc[alike, "verdict_there"]), 1)
    return pd.DataFrame(counts, index=list(_ORIENTED), columns=list(_ORIENTED))


def change(here: Battles, there: Battles, options: EloOptions) -> pd.DataFrame:
    """Compare each model's share of battles won in two sources, paired by prompt, and its rating."""
    rated, beside = (strengths(each, options) for each in (here, there))
    shares = [_shares(each) for each in (here, there)]
    lines = []
    for model in rated.ratings.index.intersection(beside.ratings.index):
        own = pd.concat([share.xs(model) for share in shares], axis=1, join="inner")
        line = {"model": model, "here": np.nan, "there": np.nan, "change": np.nan, "low": np.nan, "high": np.nan}
        if len(own):
            gap = own.iloc[:, 0] - own.iloc[:, 1]
            found = mean_interval(gap.to_numpy(), np.arange(len(gap)), None, low=-1, high=1)
            line |= {"here": own.iloc[:, 0].mean(), "there": own.iloc[:, 1].mean()}
            line |= {"change": found.value, "low": found.lo, "high": found.hi}
        line |= {"prompts": len(own), "rating_here": rated.ratings[model], "rating_there": beside.ratings[model]}
        line["rating_change"] = line["rating_here"] - line["rating_there"]
        lines.append({**line, "regularised": rated.regularised or beside.regularised})
    return pd.DataFrame(lines)


def _shares(battles: Battles) -> pd.Series[float]:
    """Return the share of decided battles won, ties counted half, by model and prompt."""
    decided = battles.take(battles.decided)
    got = _POINTS[decided.verdict]
    prompts = np.array(decided.prompts, dtype=object)[decided.prompt]
    models = np.array(decided.models, dtype=object)
    sides = [(models[decided.left], got), (models[decided.right], 1 - got)]
    table = pd.concat([pd.DataFrame({"model": m, "prompt": prompts, "got": g}) for m, g in sides])
    return table.groupby(["model", "prompt"])["got"].mean()
