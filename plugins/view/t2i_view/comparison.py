"""Models of several runs beside each other: their scores, and their differences from one of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from t2i_core.results.manifest import Manifest
from t2i_core.results.result import Result, list_bound_labels
from t2i_core.results.run import Run

from .listing import LONGEST_NAME, make_id
from .made_pages import MadePage, MadePages

MANIFEST = "run.json"
"""The file that changes whenever the results of a run do."""

MOST_MODELS = 12
"""Models that one page compares."""


@dataclass(frozen=True)
class ModelOfRun:
    """A model of a run.

    Attributes:
        run: The run.
        label: Its label.
        name: Its name on the page: the label, with the run's name if models of several runs share it.
    """

    run: Run
    label: str
    name: str

    @property
    def id(self) -> str:
        """Its name in addresses."""
        return f"{make_id(self.run.folder)}:{self.label}"


@dataclass(frozen=True)
class MetricBeside:
    """One metric of all models.

    Attributes:
        title: The metric.
        results: The result of each model, in the order of the models; None for a model without one.
        protocols: Number of different signature lines; scores of several are not comparable.
    """

    title: str
    results: Sequence[Result | None]
    protocols: int


@dataclass(frozen=True)
class ShownDifference:
    """A paired difference under one metric.

    Attributes:
        metric: The metric.
        diff: The model minus the base; None if it does not exist.
        interval: Its 95 % confidence interval.
        p: Its p-value.
        n: Number of shared samples.
    """

    metric: str
    diff: float | None
    interval: tuple[float | None, float | None]
    p: float | None
    n: int


@dataclass(frozen=True)
class ComparedPair:
    """A model compared with the base.

    Attributes:
        model: The model.
        rows: Its differences; None while they are being computed.
        fault: Why it has no differences; empty if it has some.
        is_adjusted: Whether the p-values are adjusted for the number of comparisons, because the run did so.
    """

    model: ModelOfRun
    rows: Sequence[ShownDifference] | None
    fault: str = ""
    is_adjusted: bool = False


def list_models(runs: Sequence[Run]) -> list[ModelOfRun]:
    """Return the models of runs; not those that only give upper bounds, nor those with too long a name."""
    found = [(run, label) for run in runs for label in _list_labels(run.manifest)]
    labels = [label for _, label in found]
    return [
        ModelOfRun(run, label, f"{label} ({run.folder.name})" if labels.count(label) > 1 else label)
        for run, label in found
    ]


def _list_labels(manifest: Manifest) -> list[str]:
    bounds = list_bound_labels(manifest.results)
    return [label for label in manifest.models if label not in bounds and len(label) <= LONGEST_NAME]


def list_metrics(models: Sequence[ModelOfRun]) -> list[MetricBeside]:
    """Return the metrics of models, each with all of their results."""
    by_model = [
        {result.headline: result for result in model.run.results if result.label == model.label}
        for model in models
    ]
    return [
        MetricBeside(title, results, len({result.signature for result in results if result is not None}))
        for title in dict.fromkeys(title for own in by_model for title in own)
        for results in [[own.get(title) for own in by_model]]
    ]


def compare_with_base(
    base: ModelOfRun, others: Sequence[ModelOfRun], pages: MadePages, patience: float
) -> Iterator[ComparedPair]:
    """Yield each model compared with the base, as far as it is known by now.

    Differences within a run are its own. Others are computed by `t2i compare` in a separate process.
    """
    for other in others:
        if other.run.folder == base.run.folder:
            yield ComparedPair(other, list(_read_own(base, other)), is_adjusted=True)
            continue
        made = pages.find(write_compare_words(other, base, "--format", "csv"), list_files(other, base), patience)
        patience = 0.0
        if made is None:
            yield ComparedPair(other, None)
        elif made.file is None:
            yield ComparedPair(other, [], made.fault)
        else:
            yield ComparedPair(other, _parse_differences(made))


def write_compare_words(a: ModelOfRun, b: ModelOfRun, *more: str) -> list[str]:
    """Return the command that compares two models."""
    return ["compare", str(a.run.folder), str(b.run.folder), f"--a={a.label}", f"--b={b.label}", *more]


def list_files(*models: ModelOfRun) -> list[Path]:
    """Return the files that a comparison depends on."""
    return [model.run.folder / MANIFEST for model in models]


def _read_own(base: ModelOfRun, other: ModelOfRun) -> Iterator[ShownDifference]:
    for each in base.run.comparisons:
        lo, hi = each.ci
        if (each.a, each.b) == (other.label, base.label):
            yield ShownDifference(each.title, each.diff, (lo, hi), each.p_adjusted, each.n)
        elif (each.b, each.a) == (other.label, base.label):
            yield ShownDifference(
                each.title, _negate(each.diff), (_negate(hi), _negate(lo)), each.p_adjusted, each.n
            )


def _negate(value: float | None) -> float | None:
    return None if value is None else -value


def _parse_differences(made: MadePage) -> list[ShownDifference]:
    """Return the differences of a table that `t2i compare` wrote."""
    assert made.file is not None
    rows: Iterator[Mapping[str, str]] = csv.DictReader(io.StringIO(made.file.read_text(encoding="utf-8")))
    return [
        ShownDifference(
            row["metric"],
            _read_number(row["diff"]),
            (_read_number(row["low"]), _read_number(row["high"])),
            _read_number(row["p_unadjusted"]),
            int(row["n"]),
        )
        for row in rows
    ]


def _read_number(text: str) -> float | None:
    return float(text) if text and text != "nan" else None
