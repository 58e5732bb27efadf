"""Agreement of the judges of one metric, if a run measures it with several, on what both of them saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import pandas as pd

from ..api.metric import SetMetric
from ..results.result import JudgeAgreement
from ..statistics import Correlation, Estimate, cohen_kappa, spearman
from .job import Job
from .numbers import make_interval, make_number

_UNIT = ("model", "model_a", "model_b", "prompt", "seed")
"""Columns that tell units apart."""


def compare_judges(
    jobs: Sequence[Job], tables: Mapping[tuple[str, str | None], pd.DataFrame]
) -> list[JudgeAgreement]:
    """Return the agreement of each two judges of each metric, on the values of its headline measure.

    A metric of a model's whole set has too few values.

    Args:
        jobs: All jobs of the run.
        tables: The rows of each metric, by `Job.key`.
    """
    by_metric: dict[str, dict[str, Job]] = {}
    for job in jobs:
        if job.by is not None and not isinstance(job.instance, SetMetric):
            by_metric.setdefault(job.metric.spec, {})[job.by] = job
    return [
        _compare(first, second, tables[first.key], tables[second.key])
        for of_metric in by_metric.values()
        for first, second in combinations(of_metric.values(), 2)
    ]


def _compare(first: Job, second: Job, a: pd.DataFrame, b: pd.DataFrame) -> JudgeAgreement:
    measure = first.measures[0].name
    both = _join(_average(a, measure), _average(b, measure))
    binary = bool(both[["a", "b"]].isin((0.0, 1.0)).all(axis=None))
    found: Estimate | Correlation
    if binary:
        found = cohen_kappa(both["a"], both["b"], both["prompt"])
    else:
        groups = [column for column in both.columns if column not in ("a", "b", "seed")]
        means = both.groupby(groups, observed=True)[["a", "b"]].mean()
        found = spearman(means["a"], means["b"])
    return JudgeAgreement(
        metric=first.metric.spec,
        a=first.by or "",
        b=second.by or "",
        measure=measure,
        n=len(both),
        equal=float((both["a"] == both["b"]).mean()) if len(both) else None,
        coefficient="kappa" if binary else "rho",
        value=make_number(found.value),
        ci=make_interval(found),
    )


def _average(table: pd.DataFrame, measure: str) -> pd.Series[float]:
    """Return the mean value of a measure for each unit; most units have one value."""
    if table.empty:
        return pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["model", "prompt"]))
    own = table[table["measure"] == measure]
    units = list(_list_unit_columns(own))
    return own.astype(dict.fromkeys(units, object)).groupby(units)["value"].mean()


def _list_unit_columns(table: pd.DataFrame) -> Iterator[str]:
    return (column for column in _UNIT if column in table and table[column].notna().all())


def _join(a: pd.Series[float], b: pd.Series[float]) -> pd.DataFrame:
    """Return the units that both have, with columns `a` and `b`."""
    if list(a.index.names) != list(b.index.names):
        return pd.DataFrame({"prompt": [], "a": [], "b": []}, dtype=float)
    return pd.concat({"a": a, "b": b}, axis="columns", join="inner").reset_index()
