"""Agreement of the judges of one metric, if a run measures it with several, on what both of them saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import pandas as pd

from ..api.metric import SetMetric
from ..api.metric_output import SettledMeasure
from ..results.numbers import make_interval, make_number
from ..results.result import JudgeAgreement
from ..statistics import Correlation, Estimate, cohen_kappa, spearman
from .job import Job

_A, _B = "value by a", "value by b"
_UNIT = ("model", "model_a", "model_b", "prompt", "seed")
"""Columns that tell units apart."""


def compare_judges(
    jobs: Sequence[Job], tables: Mapping[tuple[str, str | None], pd.DataFrame]
) -> list[JudgeAgreement]:
    """Return the agreement of each two judges of each metric, on its first measure that has values of both.

    A metric of a model's whole set has too few values. The images of upper bounds are left out.

    Args:
        jobs: All jobs of the run.
        tables: The rows of each metric, by `Job.key`.
    """
    by_metric: dict[str, dict[str, Job]] = {}
    for job in jobs:
        if job.by is not None and not job.is_bound and not isinstance(job.instance, SetMetric):
            by_metric.setdefault(job.metric.spec, {})[job.by] = job
    bounds = {model.label for job in jobs if job.is_bound for model in job.models}
    found = [
        _compare(first, second, *(_drop_models(tables[job.key], bounds) for job in (first, second)))
        for of_metric in by_metric.values()
        for first, second in combinations(of_metric.values(), 2)
    ]
    return [agreement for agreement in found if agreement is not None]


def _drop_models(table: pd.DataFrame, labels: set[str]) -> pd.DataFrame:
    return table[~table["model"].isin(labels)] if "model" in table else table


def _compare(first: Job, second: Job, a: pd.DataFrame, b: pd.DataFrame) -> JudgeAgreement | None:
    """Return the agreement of two judges; None if no measure has values of both."""
    joined = ((measure.name, _join(a, b, measure)) for measure in first.measures)
    measure, both = next(((name, both) for name, both in joined if len(both)), ("", pd.DataFrame()))
    if not measure:
        return None
    found: Estimate | Correlation
    binary = bool(both[[_A, _B]].isin((0.0, 1.0)).all(axis=None))
    if binary:
        found = cohen_kappa(both[_A], both[_B], both["prompt"])
    else:
        means = both.groupby("prompt")[[_A, _B]].mean()
        found = spearman(means[_A], means[_B])
    return JudgeAgreement(
        metric=first.metric.spec,
        a=first.by or "",
        b=second.by or "",
        measure=measure,
        n=len(both) if isinstance(found, Estimate) else found.n,
        equal=float((both[_A] == both[_B]).mean()) if binary else None,
        coefficient="kappa" if binary else "rho",
        value=make_number(found.value),
        ci=make_interval(found),
    )


def _join(a: pd.DataFrame, b: pd.DataFrame, measure: SettledMeasure) -> pd.DataFrame:
    """Return the values of a measure that both judges have, beside the columns of their units.

    Units with several values are told apart by the facets that the measure declares. Other facets may follow the
    answers themselves.
    """
    both = set(a.columns) & set(b.columns)
    if a.empty or b.empty or not {"prompt", "measure"} <= both:
        return pd.DataFrame()
    sides = [table[table["measure"] == measure.name] for table in (a, b)]
    units = [column for column in _UNIT if column in both]
    if any(side.duplicated(units).any() for side in sides):
        units += [facet for facet in measure.facets if facet in both]
    means = [_average(side, units).rename(name) for side, name in zip(sides, (_A, _B), strict=True)]
    return pd.concat(means, axis="columns", join="inner").reset_index()


def _average(table: pd.DataFrame, units: list[str]) -> pd.Series[float]:
    """Return the mean value of each unit."""
    named = table.astype(dict.fromkeys(units, object)).fillna(dict.fromkeys(units, ""))
    return named.groupby(units)["value"].mean()
