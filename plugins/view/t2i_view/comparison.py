"""Models of several runs beside each other: their scores, and their differences from one of them.

The differences of two models of one run stand in its run.json. Those of models of two runs are computed from the
tables of both runs, by `t2i compare` in a separate process: a table may have millions of rows, or come from
somebody else, and the page must neither wait for it nor need memory for it, and stays up if reading it fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from t2i_core.results.manifest import Manifest
from t2i_core.results.pair_verdict import PairVerdict, find_verdict
from t2i_core.results.result import Comparison, Result, list_bound_labels
from t2i_core.results.run import Run
from t2i_core.results.run_comparisons import describe_stop, list_run_comparisons
from t2i_core.results.signature_line import describe_difference, read_parts

from .listing import LONGEST_NAME, make_id
from .made_pages import MadePages

MANIFEST = "run.json"
"""The file that changes whenever the results of a run do."""

MOST_MODELS = 12
"""Models that one page compares."""

MOST_METRICS = 100
"""Metrics under which one page compares them."""


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
        differences: How the other signature lines differ from the base's, in words, with the models' names.
    """

    title: str
    results: Sequence[Result | None]
    protocols: int
    differences: Sequence[str]


@dataclass(frozen=True)
class ShownDifference:
    """A model compared with the base under one metric.

    Attributes:
        metric: The metric.
        verdict: The verdict, with the comparison that it rests on.
        words: The verdict on the model, in words.
        note: What limits the comparison, or why the run or `t2i compare` makes none; may be empty.
    """

    metric: str
    verdict: PairVerdict
    words: str
    note: str


@dataclass(frozen=True)
class ComparedPair:
    """A model compared with the base.

    Attributes:
        model: The model.
        rows: The metrics of both; None while they are being compared.
        fault: Why nothing is compared; empty if something is.
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


def list_metrics(models: Sequence[ModelOfRun], base: ModelOfRun) -> list[MetricBeside]:
    """Return the metrics of models, each with all of their results."""
    by_model = [
        {result.headline: result for result in model.run.results if result.label == model.label}
        for model in models
    ]
    return [
        MetricBeside(title, results, len(names), list(_describe_protocols(names)))
        for title in dict.fromkeys(title for own in by_model for title in own)
        for results in [[own.get(title) for own in by_model]]
        for names in [_group_by_signature(models, results, base)]
    ]


def _group_by_signature(
    models: Sequence[ModelOfRun], results: Sequence[Result | None], base: ModelOfRun
) -> dict[str | None, list[str]]:
    """Return the names of the models with each signature line, those of the base's line first."""
    found: dict[str | None, list[str]] = {}
    for model, result in sorted(zip(models, results, strict=True), key=lambda pair: pair[0] != base):
        if result is not None:
            found.setdefault(result.signature, []).append(model.name)
    return found


def _describe_protocols(names: Mapping[str | None, Sequence[str]]) -> Iterator[str]:
    """Yield how each signature line differs from the first."""
    (first, _), *others = names.items() or [(None, ())]
    for signature, labels in others:
        if first is None or signature is None:
            difference = "only one of the results has a signature line"
        else:
            difference = describe_difference(read_parts(signature), read_parts(first))
        yield f"{', '.join(labels)}: {difference}"


def compare_with_base(
    base: ModelOfRun, others: Sequence[ModelOfRun], pages: MadePages, patience: float
) -> Iterator[ComparedPair]:
    """Yield each model compared with the base, as far as it is known by now."""
    for other in others:
        if other.run.folder == base.run.folder:
            yield ComparedPair(other, list(islice(_list_own(other, base), MOST_METRICS)), is_adjusted=True)
            continue
        made = pages.find(write_compare_words(other, base, "--format", "json"), list_files(other, base), patience)
        patience = 0.0
        if made is None:
            yield ComparedPair(other, None)
        elif made.file is None:
            yield ComparedPair(other, [], made.fault)
        else:
            yield ComparedPair(other, list(islice(_read_differences(made.file, other, base), MOST_METRICS)))


def write_compare_words(a: ModelOfRun, b: ModelOfRun, *more: str) -> list[str]:
    """Return the command that compares two models."""
    return ["compare", str(a.run.folder), str(b.run.folder), f"--a={a.label}", f"--b={b.label}", *more]


def list_files(*models: ModelOfRun) -> list[Path]:
    """Return the files that a comparison depends on."""
    return [model.run.folder / MANIFEST for model in models]


def _list_own(model: ModelOfRun, base: ModelOfRun) -> Iterator[ShownDifference]:
    """Yield the differences of two models of one run, as the run has them."""
    own = {each.title: each for each in list_run_comparisons(model.run, (model.label, base.label))}
    theirs = {result.title for result in base.run.results if result.label == base.label}
    for result in model.run.results:
        if result.label == model.label and result.title in theirs:
            found = own.get(result.title)
            note = "the run does not compare them" if found is None else describe_stop(found) or ""
            yield _show(result.title, found, result.higher_is_better, note)


def _read_differences(file: Path, model: ModelOfRun, base: ModelOfRun) -> Iterator[ShownDifference]:
    """Yield the differences that `t2i compare` wrote."""
    directions = {
        result.title: result.higher_is_better
        for side in (model, base)  # a row is named like the side whose run has several judges
        for result in side.run.results
        if result.label == side.label
    }
    for row in json.loads(file.read_bytes()):
        found = None
        if row["n"] is not None:
            found = Comparison(
                metric=row["metric"],
                a=model.id,
                b=base.id,
                diff=row["diff"],
                ci=[row["low"], row["high"]],
                p_adjusted=row["p_unadjusted"],  # the only comparison of these two runs under the metric
                p_unadjusted=row["p_unadjusted"],
                n=row["n"],
                interval=row["interval"],
            )
        yield _show(row["metric"], found, directions.get(row["metric"]), row["note"] or "")


def _show(metric: str, comparison: Comparison | None, higher_is_better: bool | None, note: str) -> ShownDifference:
    if comparison is None:
        return ShownDifference(metric, PairVerdict("none", "", ""), "not compared", note)
    model = comparison.a
    verdict = find_verdict([comparison], model, comparison.b, higher_is_better)
    return ShownDifference(metric, verdict, _describe_verdict(verdict, model), note)


def _describe_verdict(verdict: PairVerdict, model: str) -> str:
    """Return a verdict in words that continue the name of one of the two models."""
    is_first = verdict.first == model
    match verdict.kind:
        case "better":
            return "better" if is_first else "worse"
        case "higher":
            return "scores higher" if is_first else "scores lower"
        case "close":
            assert verdict.comparison is not None
            assert verdict.comparison.stopped is not None
            return f"differs by less than {verdict.comparison.stopped.margin:g}"
        case "open":
            return "no significant difference"
        case "none":
            return "not compared"
