"""Designs for scores that are not means over images: ratings, scores of whole sets, statistics of all rows.

Their variance is scaled by the number of prompts or images as if they were means, which is rough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from t2i_core.api.errors import BadOption
from t2i_core.api.metric import PairMetric, SetMetric
from t2i_core.results.compared_model import categorize, select_rows
from t2i_core.results.metric_comparison import compare_metric
from t2i_core.results.score_difference import (
    StoredScoring,
    find_clusters,
    make_statistic,
    select_aggregated,
    select_whole_sets,
    split_left_out,
)
from t2i_core.statistics import block_jackknife, statistic_differences, statistic_intervals
from t2i_core.statistics.design import TermVariance
from t2i_core.statistics.needed_design import read_components
from t2i_core.statistics.sample_size import SEEDS

from .pilot import Pilot
from .sample_sizes import DesignNeed


def is_rough(pilot: Pilot) -> bool:
    """Return whether the headline is computed from all rows together, and is not a mean over images."""
    if isinstance(pilot.scoring.instance, SetMetric | PairMetric):
        return True
    rows = categorize(select_rows(pilot.sides[0], pilot.metric.spec))
    own = select_aggregated(pilot.scoring, rows)
    return pilot.headline.name in make_statistic(pilot.scoring, own)(np.ones(len(own)))


def find_rough_need(pilot: Pilot) -> DesignNeed:
    """Return the designs for a score that is not a mean, by scaling its variance by the prompts or images."""
    sets = isinstance(pilot.scoring.instance, SetMetric)
    find: Callable[[Pilot], tuple[TermVariance, ...]] = _find_set_terms if sets else _find_reweighted_terms
    try:
        components = read_components(find(pilot))
    except ValueError as error:
        raise BadOption(str(error)) from error
    seeds: Sequence[int] = SEEDS
    if components.one_seed:  # the number of seeds stays that of the pilot
        seeds = (1,) if sets else (pilot.n_seeds,)
        components = replace(components, seeds=seeds[0], one_seed=False, nested=True)
    sizes, unit = pilot.find_sizes(components, None, seeds)
    return DesignNeed(
        pilot.title,
        pilot.names,
        components,
        sizes,
        unit="images" if sets else "prompts",
        rough=True,
        price_unit=unit,
    )


def _find_set_terms(pilot: Pilot) -> tuple[TermVariance, ...]:
    """Return the jackknife's variance of a set's score, or of the difference of two, over its images."""
    name = pilot.headline.name
    full, parts, images = [], [], []
    for side in pilot.sides:
        rows = select_rows(side, pilot.metric.spec)
        if "left_out" not in rows:  # no set has a value
            raise BadOption(f"{side.label} has no score")
        whole, left_out = split_left_out(select_whole_sets(rows[rows["measure"] == name]))
        full.append(whole)
        parts.append(left_out)
        results = side.run.results
        images.append(next(r.n_ok for r in results if (r.metric, r.label) == (pilot.metric.spec, side.label)))
    sign = (1, -1)
    apart = sum((s * part for s, part in zip(sign, parts, strict=False)), start=0 * parts[0]).dropna()
    whole = sum(s * each for s, each in zip(sign, full, strict=False))
    if len(apart) < 2:
        raise BadOption("its sets have too few blocks in common for a jackknife")
    estimate = block_jackknife(whole, list(apart))
    return (TermVariance((estimate.se or 0.0) ** 2, min(images)),)


def _find_reweighted_terms(pilot: Pilot) -> tuple[TermVariance, ...]:
    """Return the variances of a score that the metric computes from all rows, or of the difference of two."""
    scoring = replace(pilot.scoring, shares_seeds=pilot.shares_seeds)
    interval = pilot.sides[0].run.manifest.request.interval
    if isinstance(scoring.instance, PairMetric):
        return _find_rating_terms(pilot, scoring)
    if len(pilot.sides) == 2:
        pair = compare_metric(pilot.sides[0], pilot.sides[1], pilot.metric, pilot.by)
        if pair.found is None:
            raise BadOption(pair.why)
        return pair.found.terms
    rows = select_aggregated(scoring, categorize(select_rows(pilot.sides[0], pilot.metric.spec)))
    statistic, name = make_statistic(scoring, rows), pilot.headline.name
    found = statistic_intervals(
        lambda weights: {name: statistic(weights)[name]}, interval=interval, **find_clusters(scoring, rows)
    )
    return found[name].terms


def _find_rating_terms(pilot: Pilot, scoring: StoredScoring) -> tuple[TermVariance, ...]:
    """Return the variances of the difference of two ratings, which come from the battles of one run."""
    if len(pilot.sides) != 2 or pilot.sides[0].run.folder != pilot.sides[1].run.folder:
        raise BadOption("the metric itself compares models within a run, and needs a run with both")
    run, labels = pilot.sides[0].run, (pilot.sides[0].label, pilot.sides[1].label)
    table = run.measurements()
    own = table[table["metric"] == pilot.metric.spec]
    if pilot.sides[0].by is not None:
        own = own[own["by"] == pilot.sides[0].by]
    rows = categorize(own.drop(columns=["metric", "by"], errors="ignore").dropna(axis="columns", how="all"))
    rows = select_aggregated(scoring, rows)
    statistic = make_statistic(scoring, rows)
    if not set(labels) <= set(statistic(np.ones(len(rows)))):
        raise BadOption("one of the models has no rating")
    clusters = find_clusters(scoring, rows)
    return statistic_differences(statistic, [labels], interval=run.manifest.request.interval, **clusters)[
        labels
    ].terms
