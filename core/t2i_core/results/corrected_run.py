"""Results of a run, or of an evaluation, corrected by people's labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from ..api.errors import BadFolder, BadOption, NoJudge
from ..api.metric import PairMetric
from ..api.plugin_info import JudgeInfo
from ..api.resolver import ResolvedComponent, Resolver
from ..api.text import escape_control_characters
from ..files.digest import digest_file
from ..io.answers import read_answers
from ..statistics import Question
from .analysis import list_metrics
from .corrected_comparisons import correct_difference, correct_pairs, describe_differences
from .corrected_scores import ScoreCorrector, correct_result
from .label_rows import LabelledMetric, LabelRows, measure_labels
from .labelled_rows import LabelledRows, join_labels
from .result import Comparison, Result, list_bound_labels
from .run import Run
from .score_difference import Scoring, StoredScoring, make_stored_scoring
from .stored_samples import list_samples


@dataclass(frozen=True)
class JudgedMetric:
    """A metric by one judge, to be corrected.

    Attributes:
        scorings: The rules that turn rows into the scores of each model, by label.
        table: The judge's rows of all models.
        labels: People's rows.
        find_shared: Function of two labels: returns the ids of the prompts that are the same for both, or None if
            all of one id are.
    """

    scorings: Mapping[str, Scoring]
    table: pd.DataFrame
    labels: LabelRows
    find_shared: Callable[[str, str], Collection[str] | None] = lambda a, b: None


def correct_metric(
    metric: JudgedMetric,
    results: Sequence[Result],
    comparisons: Sequence[Comparison],
    people: str,
    interval: Question,
) -> tuple[list[Result], list[Comparison]]:
    """Return the results and comparisons of a metric by one judge, with their corrections.

    Args:
        metric: The metric.
        results: Its results.
        comparisons: Its comparisons.
        people: The judge that gives people's answers.
        interval: The question that intervals answer.
    """
    first = next(iter(metric.scorings.values()))
    pairs = isinstance(first.instance, PairMetric)
    rows: dict[str, LabelledRows | None] = {}
    correctors: dict[str, ScoreCorrector | None] = {}
    for label, scoring in metric.scorings.items():
        if pairs and rows:  # all models have the same rows
            shared = next(iter(rows))
            rows[label], correctors[label] = rows[shared], correctors[shared]
            continue
        judged, labels = (
            table if pairs or table.empty else table[table["model"] == label]
            for table in (metric.table, metric.labels.table)
        )
        own = rows[label] = join_labels(judged, labels, scoring.measures)
        correctors[label] = None if own is None else ScoreCorrector(scoring, own, interval)
    lost = describe_lost(metric.labels)
    corrected = [_complete(correct_result(each, correctors[each.label], people), lost) for each in results]
    wanted = [(each.a, each.b) for each in comparisons]
    if pairs:
        joined = next(iter(rows.values()))
        found = {} if joined is None else dict(correct_pairs(first, joined, wanted, interval))
    else:
        found = {}
        for a, b in wanted:
            # crossed by seed only if both models share their seeds
            scoring = metric.scorings[b] if metric.scorings[a].shares_seeds else metric.scorings[a]
            same = metric.find_shared(a, b)
            if (difference := correct_difference(scoring, rows, (a, b), same, interval)) is not None:
                found[a, b] = difference
    return corrected, describe_differences(comparisons, found, people)


def describe_lost(labels: LabelRows) -> list[str]:
    """Return a note on the labelled units without a value, if there are any, with the most frequent reason."""
    if not labels.without_value:
        return []
    total = sum(labels.without_value.values())
    reason = max(labels.without_value, key=labels.without_value.__getitem__)
    return [f"{total} measured without a value, and count as not labelled; most often: {reason}"]


def _complete(result: Result, notes: Sequence[str]) -> Result:
    """Return a result whose correction has these notes, too, and a signature line if it has a score."""
    own = result.correction
    if own is None:
        return result
    changed: dict[str, Any] = {"notes": [*own.notes, *notes]}
    if own.value is not None and result.signature is not None:
        changed["signature"] = f"{result.signature}|corrected:{_name_labels(own.people)}"
    return result.model_copy(update={"correction": own.model_copy(update=changed)})


def _name_labels(people: str) -> str:
    """Return the name of the file of labels, without its folder, and a digest of its content."""
    file = Path(people.partition(":")[2])
    name = escape_control_characters(file.name).replace("|", "%7C")
    return f"{name}#{digest_file(file)[:8]}"


def correct_run(run: Run, people: str, resolver: Resolver[Any]) -> Run:
    """Return a finished run with its scores corrected by people's labels. Nothing is generated, judged or written.

    Args:
        run: The run.
        people: The judge that gives people's answers: `people:FILE`.
        resolver: Finds it, and the run's metrics.

    Raises:
        NoJudge: If people can be asked about none of its metrics.
        BadFolder: If the run has no scores, or its tables cannot be read.
        BadOption: If the answers are not valid, or none is about what the metrics measure.
    """
    if not run.results:
        raise BadFolder(f"{run.path}: has no scores to correct")
    labels = measure_run_labels(run, resolver.component("judge", people, {}), resolver)
    table = run.measurements()
    results: list[Result] = []
    comparisons: list[Comparison] = []
    for (name, by), own in groupby(run.results, key=lambda each: (each.metric, each.by)):
        theirs = [each for each in run.comparisons if (each.metric, each.by) == (name, by)]
        listed = list(own)
        bounds = list_bound_labels(listed)
        if name in labels:
            scoring, said = labels[name]
            rows = table[(table["metric"] == name) & ((table["by"] == by) if by is not None else True)]
            measured = [each for each in listed if each.label not in bounds]
            metric = JudgedMetric(_score_models(run, scoring, measured), _settle(rows), said)
            measured, theirs = correct_metric(metric, measured, theirs, people, run.manifest.request.interval)
            listed = [*measured, *(each for each in listed if each.label in bounds)]
        results += listed
        comparisons += theirs
    if not any(each.correction is not None and each.correction.n_labels for each in results):
        lost = next((note for each in results if each.correction for note in each.correction.notes), "")
        raise BadOption(
            f"{people}: no answer gives a value of this run's metrics; collect answers with `t2i label {run.path}`"
            f"{f' ({lost})' if lost else ''}"
        )
    manifest = run.manifest.model_copy(update={"results": results, "comparisons": comparisons})
    return replace(run, manifest=manifest)


def measure_run_labels(
    run: Run, people: ResolvedComponent[JudgeInfo], resolver: Resolver[Any]
) -> dict[str, tuple[StoredScoring, LabelRows]]:
    """Return what each metric of a run measures by people's answers, by its name.

    Raises:
        NoJudge: If people can be asked about none of them.
    """
    stored = list_metrics(run, resolver)
    answers = read_answers(Path(people.setup().argument or "")).answers
    samples = list(list_samples(run))
    models = list(run.manifest.models)
    found: dict[str, tuple[StoredScoring, LabelRows]] = {}
    refused: list[str] = list(stored.absent.values())
    for name, metric in stored.made.items():
        scoring = make_stored_scoring(metric)
        labelled = LabelledMetric(metric, scoring.instance, scoring.measures, people)
        try:
            found[name] = scoring, measure_labels(labelled, answers, samples, models)
        except NoJudge as error:
            refused.append(str(error))
    if not found:
        raise NoJudge(refused[0] if refused else f"{run.path}: has no metric that can be corrected")
    return found


def _score_models(run: Run, scoring: StoredScoring, results: Sequence[Result]) -> dict[str, StoredScoring]:
    shared = run.manifest.request.noise == "shared"
    models = run.manifest.models
    crossed = {each.label: shared and models[each.label].unshared_seeds is None for each in results}
    if isinstance(scoring.instance, PairMetric):
        crossed = dict.fromkeys(crossed, all(crossed.values()))
    return {label: replace(scoring, shares_seeds=own) for label, own in crossed.items()}


def _settle(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of a stored run as an evaluation has them: every column but the values has categories."""
    own = table.drop(columns=["metric", "by"], errors="ignore").dropna(axis="columns", how="all")
    return own.astype({name: "category" for name in own.columns if name != "value"})
