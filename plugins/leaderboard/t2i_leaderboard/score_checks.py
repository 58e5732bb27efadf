"""Checks of a score that a run records against the run's own tables, before any judge is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isclose, isfinite, nan

import pandas as pd
from t2i_core.api.errors import BadFolder
from t2i_core.api.metric import Metric, PairMetric, PromptMetric, SetMetric
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.resolver import ResolvedComponent
from t2i_core.results.compared_model import categorize
from t2i_core.results.manifest import ModelRecord
from t2i_core.results.numbers import make_interval, make_number
from t2i_core.results.result import Comparison, Result
from t2i_core.results.run import Run
from t2i_core.results.score_difference import StoredScoring, select_whole_sets
from t2i_core.results.score_estimates import compare_pair_scores, estimate_model_scores, estimate_pair_scores
from t2i_core.results.signature_line import Parts, describe_metric, read_parts, write_line
from t2i_core.statistics import Estimate, PairedDifference

from .named_run import NamedRun
from .sample_checks import CHANGED, check_samples, refuse_misfits, select_own_rows

_NOT_VALUES = ("value", "because")
"""Columns that do not tell a row from others."""


def check_score(run: Run, result: Result, scoring: StoredScoring) -> tuple[Result, str]:
    """Check a score with its counts, which is not one of pairs, against the run's tables.

    Intervals are computed again but not compared, because another NumPy may draw other numbers for some of them.

    Args:
        run: The run.
        result: The score.
        scoring: The rules of its metric.

    Returns:
        The score with intervals that its rows give; and why its prompts cannot be checked, which is empty if they
        are those of the signature line.

    Raises:
        BadFolder: If they contradict each other.
    """
    _check_settings(run, result, scoring.metric)
    with refuse_misfits(run):
        own = select_own_rows(run, result)
        _check_rows(run, own, scoring)
        fitting = _match_noise(run, [run.manifest.models[result.label]], scoring)
        found = estimate_model_scores(fitting, categorize(own), run.manifest.request.interval)
        checked = _compare_scores(result, found.scores)
        return checked, check_samples(run, result, scoring, own, [result.label])


def check_pairs(
    run: NamedRun, results: Sequence[Result], scoring: StoredScoring
) -> tuple[NamedRun, dict[str, Result], str]:
    """Check the scores of models that were measured in pairs, as `check_score` does.

    Args:
        run: The run.
        results: The scores of all models under the metric and its judges.
        scoring: The rules of the metric.

    Returns:
        The run with the comparisons that its rows give in place of those that it records; the scores by model,
        with the intervals that its rows give; and why prompts cannot be checked.
    """
    first = results[0]
    labels, interval = [result.label for result in results], run.manifest.request.interval
    with refuse_misfits(run):
        table = run.measurements()
        own = table[table["metric"] == first.metric]
        own = own if first.by is None else own[own["by"] == first.by]
        own = own.drop(columns=["metric", "by"], errors="ignore").dropna(axis="columns", how="all")
        _check_rows(run, own, scoring)
        if isinstance(scoring.instance, PairMetric):
            scoring.instance.set_models(labels)
        fitting = _match_noise(run, [run.manifest.models[label] for label in labels], scoring)
        rows = categorize(own)
        found = estimate_pair_scores(fitting, labels, rows, interval)
        compared = compare_pair_scores(fitting, labels, rows, interval)
        others = {name: estimate for name, estimate in found.items() if name not in labels}
        named = own.assign(model=own["model_a"] + " | " + own["model_b"])
        notes, checked = [], {}
        for result in results:
            _check_settings(run, result, scoring.metric)
            rated = {scoring.measures[0].name: found[result.label], **others} if result.label in found else {}
            checked[result.label] = _compare_scores(result, rated)
            pairs = [" | ".join(pair) for pair in combinations(labels, 2) if result.label in pair]
            notes.append(check_samples(run, result, scoring, named[named["model"].isin(pairs)], pairs))
    comparisons = [_make_comparison(first, *pair, found) for pair, found in compared.items()]
    manifest = run.manifest.model_copy(update={"comparisons": comparisons})
    return replace(run, manifest=manifest), checked, next(filter(None, notes), "")


def _make_comparison(of: Result, a: str, b: str, found: PairedDifference) -> Comparison:
    """Return a difference under the metric of a result, as a run records it."""
    p = make_number(found.p)
    return Comparison(
        metric=of.metric,
        by=of.by,
        a=a,
        b=b,
        diff=make_number(found.diff),
        ci=make_interval(found),
        p_adjusted=p,  # the board adjusts it
        p_unadjusted=p,
        n=found.n,
        interval=f"{found.method}; {found.question}",
    )


def _check_settings(run: Run, result: Result, metric: ResolvedComponent[MetricInfo]) -> None:
    """Check the settings by which a score is computed again.

    Args:
        run: The run.
        result: The score.
        metric: The metric with the options that the run records.

    Raises:
        BadFolder: If they are not those of the signature line, or the score has no such line.
    """
    if not result.signature:
        raise BadFolder("the run has no signature line, because an earlier version of t2i wrote it; repeat it")
    parts, request = read_parts(result.signature), run.manifest.request
    line = dict(parts)
    for key, own in (("interval", request.interval), ("noise", request.noise)):
        if line.get(key) != own:
            raise BadFolder(f"the signature line says {key} {line.get(key)}, but the run records {own}; {CHANGED}")
    said, recorded = _select_metric_parts(parts, metric), _describe_recorded(run, metric)
    if [_drop_folders(part) for part in said] != [_drop_folders(part) for part in recorded]:
        raise BadFolder(
            f"the signature line says {write_line(said)}, but the run records {write_line(recorded)}; {CHANGED}"
        )


def _select_metric_parts(parts: Parts, metric: ResolvedComponent[MetricInfo]) -> Parts:
    """Return name, version and options of the metric, which stand before the prompts, of a signature line."""
    end = max((n for n, (key, _) in enumerate(parts) if key == "prompts"), default=0)
    if metric.info.loading.weights and parts[end - 1][0] == "files":
        end -= 1  # files that may not be on this machine
    return tuple(part for n, part in enumerate(parts[:end]) if (n, part[0]) != (2, metric.dist))


def _describe_recorded(run: Run, metric: ResolvedComponent[MetricInfo]) -> Parts:
    """Return the same of the metric that a run records, whose version may be another than the installed one."""
    components = run.manifest.components
    version = next((c.metric_version for c in components if (c.kind, c.name) == ("metric", metric.spec)), None)
    parts = [part for part in describe_metric(metric) if part[0] != metric.dist]
    return read_parts(write_line([parts[0], ("version", str(version or 1)), *parts[2:]]))


def _drop_folders(part: tuple[str, str]) -> tuple[str, str]:
    """Return an option without folders, which signature lines leave out where the run's machine has them."""
    return part[0], part[1].rpartition("/")[2]


def _match_noise(run: Run, models: Iterable[ModelRecord], scoring: StoredScoring) -> StoredScoring:
    """Return the rules for these models, whose images of one seed may have nothing in common."""
    shared = run.manifest.request.noise == "shared" and all(model.unshared_seeds is None for model in models)
    return replace(scoring, shares_seeds=shared)


def _check_rows(run: Run, own: pd.DataFrame, scoring: StoredScoring) -> None:
    """Raise BadFolder unless the metric could have given these rows."""
    if own.empty:
        raise BadFolder("the run has no measured values of this score")
    file = run.path / "measurements.csv"
    of_sets = isinstance(scoring.instance, SetMetric)
    for name in _list_columns(scoring.instance):
        if name not in own or (own[name].isna().any() and not of_sets):
            raise BadFolder(f"{file}: rows of this score have no {name}")
    measures = {measure.name: measure for measure in scoring.measures}
    for name in own["measure"].unique():
        rows, measure = own[own["measure"] == name], measures.get(name)
        if measure is None:
            raise BadFolder(f"{file}: {name} is not a measure of the metric")
        outside = next((end for end in (rows["value"].min(), rows["value"].max()) if not measure.holds(end)), None)
        if outside is not None:
            raise BadFolder(f"{file}: a value of {name} is {outside:.6g}, outside of its range")
        blocks = list(select_whole_sets(rows)["left_out"]) if of_sets else ["none"]
        if "none" not in blocks or len(set(blocks)) != len(blocks):
            raise BadFolder(f"{file}: {name} does not have one row of all images and one of each block")
    twice = own[own.duplicated([column for column in own if column not in _NOT_VALUES])]
    if len(twice):
        where = {name: twice.iloc[0][name] for name in ("prompt", "seed", "measure") if name in own}
        raise BadFolder(
            f"{file}: {len(twice)} rows repeat prompt, seed, measure and facets of another row, the first of them "
            f"{', '.join(f'{name} {value}' for name, value in where.items())}"
        )


def _list_columns(metric: Metric) -> tuple[str, ...]:
    """Return the columns that all rows of a metric have."""
    if isinstance(metric, SetMetric):
        return "left_out", "seeds"
    if isinstance(metric, PromptMetric):
        return "prompt", "cluster"
    pair = ("model_a", "model_b") if isinstance(metric, PairMetric) else ()
    return "prompt", "cluster", "seed", *pair


def _compare_scores(result: Result, found: Mapping[str, Estimate]) -> Result:
    """Compare the scores that a result records with those that the run's rows give.

    Args:
        result: The result.
        found: The scores of the rows by name, the headline first.

    Returns:
        The result with their intervals.

    Raises:
        BadFolder: If the scores differ.
    """
    if list(result.scores) != list(found):
        raise BadFolder(
            f"the run records the scores {', '.join(result.scores)}, but its measured values give "
            f"{', '.join(found)}; {CHANGED}"
        )
    headline = next(iter(found.values()), None)
    _compare_numbers("score", result.score, headline)
    for name, score in result.scores.items():
        _compare_numbers(f"score {name}", score.value, found[name])
    scores = {n: each.model_copy(update={"ci": make_interval(found[n])}) for n, each in result.scores.items()}
    return result.model_copy(update={"ci": headline and make_interval(headline), "scores": scores})


def _compare_numbers(what: str, recorded: float | None, found: Estimate | None) -> None:
    """Raise BadFolder if a number that a run records, named in words, is not the one that its rows give."""
    again = nan if found is None else found.value
    if not _is_equal(recorded, again):
        raise BadFolder(
            f"the run records the {what} {_write(recorded)}, but its measured values give {_write(again)}; "
            f"{CHANGED}"
        )


def _is_equal(recorded: float | None, again: float) -> bool:
    """Return whether a recorded number, None if it is missing, is the one that is found again."""
    if recorded is None or not isfinite(again):
        return recorded is None and not isfinite(again)
    return isclose(recorded, again, rel_tol=1e-6, abs_tol=1e-9)


def _write(number: float | None) -> str:
    return "none" if number is None or not isfinite(number) else f"{number:.6g}"
