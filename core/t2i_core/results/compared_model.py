"""A model of a stored run, with what the run measured of it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ..api.plugin_info import MetricInfo
from ..api.resolver import ResolvedComponent
from .result import Result
from .run import Run


@dataclass(frozen=True)
class ComparedModel:
    """A model of a stored run.

    Attributes:
        run: The run.
        label: Label of the model in the run.
        name: Name of the model in the comparison.
        by: The judges, if the run measures the metric with several.
    """

    run: Run
    label: str
    name: str
    by: str | None = None

    @property
    def unshared_seeds(self) -> str | None:
        """Reason why its images of one seed have nothing in common; None if the run's noise settles it."""
        return self.run.manifest.models[self.label].unshared_seeds


def find_scored_result(side: ComparedModel, metric: ResolvedComponent[MetricInfo]) -> Result | None:
    """Return the model's result under the metric, if it has a score."""
    wanted = (metric.spec, side.by, side.label)
    theirs = (r for r in side.run.results if (r.metric, r.by, r.label) == wanted)
    return next((result for result in theirs if result.score is not None), None)


def select_rows(side: ComparedModel, metric: str) -> pd.DataFrame:
    """Return a model's measured rows under a metric and its judges."""
    table = side.run.measurements()
    if "model" not in table:
        return table.iloc[:0]
    own = table[(table["metric"] == metric) & (table["model"] == side.label)]
    if side.by is not None:
        own = own[own["by"] == side.by]
    return (
        own.assign(model=side.name)
        .drop(columns=["metric", "by"], errors="ignore")
        .dropna(axis="columns", how="all")
    )


def categorize(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all columns except the values as categories, like the table of an evaluation."""
    return table.astype({name: "category" for name in table.columns if name != "value"})


def read_texts(side: ComparedModel) -> dict[str, str]:
    """Return the text of each prompt of a model, by its id."""
    samples = side.run.samples()
    own = samples[samples["model"] == side.label].drop_duplicates("prompt")
    return dict(zip(own["prompt"], own["text"].fillna(""), strict=True))
