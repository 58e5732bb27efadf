"""Stored runs as pilots: the variance components of their scores and differences, and the designs that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadOption, T2IError
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.prompt import RESERVED
from t2i_core.api.resolver import ResolvedComponent, Resolver, installed_resolver
from t2i_core.results.analysis import list_metrics
from t2i_core.results.compared_model import ComparedModel, select_rows
from t2i_core.results.metric_comparison import compare_metric, match_judges
from t2i_core.results.result import list_bound_labels
from t2i_core.results.run import Run
from t2i_core.results.score_difference import (
    make_stored_scoring,
)
from t2i_core.statistics.power import BoundedScore
from t2i_core.statistics.sample_size import find_fewest_prompts
from t2i_core.statistics.variance_components import Components, estimate_components, find_unequal_variances

from ..names import model_names
from .pilot import Pilot
from .rough_pilots import find_rough_need, is_rough
from .sample_sizes import DEFAULT_GOAL, DesignNeed, DesignNeeds, Goal, LevelNeed

_MOST_LEVELS = 8
_LEVEL = 0.05


def find_needs(
    runs: Sequence[Run], goal: Goal = DEFAULT_GOAL, resolver: Resolver[Any] | None = None
) -> DesignNeeds:
    """Return the designs that the metrics of runs need: for each pair of models, or for the only model.

    Args:
        runs: The runs, which are pilots.
        goal: The difference that matters.
        resolver: Finds the metrics. If None, those that are installed.

    Raises:
        BadOption: If the runs have no model with a score.
    """
    resolver = resolver or installed_resolver()
    sides = _list_models(runs)
    if not sides:
        raise BadOption("the runs have no model with a score")
    listed = [list_metrics(run, resolver) for run in runs]
    metrics = {name: made for each in listed for name, made in each.made.items()}
    found: list[DesignNeed] = []
    left_out = [(name, why) for each in listed for name, why in each.absent.items()]
    for name, metric in metrics.items():
        own = [side for side in sides if any(r.metric == name and r.label == side.label for r in side.run.results)]
        for group in _list_groups(own):
            try:
                found += _find_needs(metric, group, goal)
            except T2IError as error:
                left_out.append((f"{name}: {' against '.join(s.name for s in group)}", str(error)))
    return DesignNeeds(tuple(found), tuple(dict.fromkeys(left_out)))


def _list_groups(sides: Sequence[ComparedModel]) -> list[tuple[ComparedModel, ...]]:
    """Return each pair of different models once, of one run if a run has both; or the only model."""
    pairs = sorted(combinations(sides, 2), key=lambda pair: pair[0].run.folder != pair[1].run.folder)
    found: dict[frozenset[str], tuple[ComparedModel, ...]] = {}
    for pair in pairs:
        names = frozenset(side.name for side in pair)
        if len(names) == 2:
            found.setdefault(names, pair)
    return list(found.values()) or [(side,) for side in sides[:1]]


def _list_models(runs: Sequence[Run]) -> list[ComparedModel]:
    names = model_names(runs)
    return [
        ComparedModel(run, label, own[label])
        for run, own in zip(runs, names, strict=True)
        for label in run.manifest.models
        if label not in list_bound_labels(run.results)
    ]


def _find_needs(
    metric: ResolvedComponent[MetricInfo], sides: tuple[ComparedModel, ...], goal: Goal
) -> Iterator[DesignNeed]:
    """Yield the designs that a pair of models, or one model, needs under each judge."""
    scoring = make_stored_scoring(metric)
    if any(side.run.manifest.request.interval == "seeds" for side in sides):
        raise BadOption("with --interval seeds the prompts are fixed, so no number of prompts can be proposed")
    judges = (
        match_judges(*sides, metric.spec)
        if len(sides) == 2
        else [(by, by) for by in _list_judges(sides[0], metric)]
    )
    for by in judges:
        own = tuple(replace(side, by=each) for side, each in zip(sides, by, strict=False))
        pilot = Pilot(metric, scoring, own, by, goal)
        yield find_rough_need(pilot) if is_rough(pilot) else _find_need(pilot)


def _list_judges(side: ComparedModel, metric: ResolvedComponent[MetricInfo]) -> list[str | None]:
    return [r.by for r in side.run.results if (r.metric, r.label) == (metric.spec, side.label)]


def _find_need(pilot: Pilot) -> DesignNeed:
    """Return the designs for a mean over images, or the difference of two."""
    own_rows = select_rows(pilot.sides[0], pilot.metric.spec)
    own_rows = own_rows[own_rows["measure"] == pilot.headline.name]
    if own_rows.empty:
        raise BadOption("it has no measured values")
    if len(pilot.sides) == 2:
        rows, score = _pair_rows(pilot), None
    else:
        rows, score = own_rows, _find_score(own_rows["value"], pilot.headline)
    components = _estimate(rows, pilot)
    sizes, unit = pilot.find_sizes(components, score)
    need = DesignNeed(pilot.title, pilot.names, components, sizes, score, price_unit=unit)
    best = need.cheapest
    if best is None or len(pilot.sides) == 1:
        return need
    return replace(need, levels=tuple(_find_levels(pilot, rows, own_rows, best.seeds)))


def _pair_rows(pilot: Pilot) -> pd.DataFrame:
    """Return the differences of two models, a row for each cell."""
    pair = compare_metric(pilot.sides[0], pilot.sides[1], pilot.metric, pilot.by)
    if pair.found is None:
        raise BadOption(pair.why)
    cell = [name for name in ("prompt", "seed") if name in pair.rows and pair.rows[name].notna().all()]
    wide = pair.rows.groupby([*cell, "model"], observed=True)["value"].mean().unstack("model").dropna()
    return (wide[pilot.names[0]] - wide[pilot.names[1]]).rename("value").reset_index()


def _find_levels(pilot: Pilot, rows: pd.DataFrame, own_rows: pd.DataFrame, seeds: int) -> Iterator[LevelNeed]:
    """Yield what the levels of facets of prompts need by themselves, where their prompts vary differently."""
    facets = {}
    for facet in (name for name in own_rows.columns if name not in RESERVED and name != "rater"):
        by_prompt = own_rows.groupby("prompt", observed=True)[facet].agg(["nunique", "first"])
        if (by_prompt["nunique"] == 1).all() and 2 <= by_prompt["first"].nunique() <= _MOST_LEVELS:
            facets[facet] = rows["prompt"].astype(str).map(by_prompt["first"].rename(index=str))
    for facet, levels in facets.items():
        means = rows.groupby([levels.rename("level"), "prompt"], observed=True)["value"].mean()
        parts = [part.to_numpy() for _, part in means.groupby(level="level", observed=True)]
        if not find_unequal_variances(parts) < _LEVEL / len(facets):
            continue
        for level, part in rows.groupby(levels, observed=True):
            try:
                components = _estimate(part, pilot)
            except BadOption:  # too few prompts, or no variation: this level tells nothing
                continue
            prompts = find_fewest_prompts(components, seeds, pilot.goal.margin, pilot.goal.power)
            yield LevelNeed(facet, str(level), seeds, prompts, components)


def _estimate(rows: pd.DataFrame, pilot: Pilot) -> Components:
    """Return the components of rows, for the question of the runs' intervals."""
    seeds = rows["seed"].astype(str) if "seed" in rows and rows["seed"].notna().all() else None
    try:
        found = estimate_components(rows["value"], rows["prompt"].astype(str), seeds, crossed=pilot.shares_seeds)
    except ValueError as error:
        raise BadOption(str(error)) from error
    # with --interval prompts the seeds are fixed: what they have in common does not vary
    interval = pilot.sides[0].run.manifest.request.interval
    return found if interval == "new" else replace(found, seed=0.0, nested=True)


def _find_score(values: pd.Series[float], measure: SettledMeasure) -> BoundedScore | None:
    """Return the score within its range; None if the measure has no range, or the score is at one of its ends."""
    binary = bool(values.isin([0, 1]).all()) and (measure.low, measure.high) in ((None, None), (0, 1))
    low, high = (0.0, 1.0) if binary else (measure.low, measure.high)
    mean = float(values.mean())
    if low is None or high is None or not low < mean < high:
        return None
    return BoundedScore((mean - low) / (high - low), high - low, binary)
