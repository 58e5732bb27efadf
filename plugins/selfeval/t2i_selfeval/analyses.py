"""Analyses of decisions: by task, trials, steps and estimator, and the differences between two models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.statistics import Question, mean_interval, paired_difference

from .ablation import ESTIMATORS, STEPS, TRIALS, read_values
from .choices import ABOVE, ACCURACY, CHANCE
from .samples import PAPER_CHANCE, TASKS
from .votes import compare_with_people

ABLATIONS = {
    TRIALS: ("trials", "Accuracy minus chance by number of trials, computed from the terms of one run."),
    STEPS: (
        "steps",
        "Accuracy minus chance by number of steps, computed from the steps of a chain of chain_of steps; the "
        "model was queried for each of these chains.",
    ),
    ESTIMATORS: ("estimator", "Accuracy minus chance by estimator, computed from the same terms."),
}


def analyse(study: Study, votes: Path | None) -> Iterator[Analysis]:
    """Yield the analyses of one metric's decisions.

    Args:
        study: The run.
        votes: A file of people's answers; if None, there is no analysis of agreement with people.

    Raises:
        BadOption: If the votes are not valid or none concerns this run.
    """
    table = study.table
    if table.empty:
        return
    yield by_task(table, study.interval)
    present = set(table["measure"].astype(str))
    for facet, (name, summary) in ABLATIONS.items():
        if facet in table and table[facet].notna().any():
            yield ablation(table, facet, name, summary, study.interval)
    if "calls" in present:
        yield calls(table)
    right = decisions(table)
    if right["model"].nunique() > 1:
        yield only_one_right(right, study.interval)
        yield where_only_one_is_right(right)
    if votes is not None:
        yield compare_with_people(votes, pairs(right), find_places(study.samples))


def _rows(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the rows of a measure, without categorical columns."""
    rows = table[table["measure"] == measure].copy()
    for name in rows.columns.difference(["value"]):
        rows[name] = rows[name].astype(object)
    return rows


def decisions(table: pd.DataFrame) -> pd.DataFrame:
    """Return the correctness of each model on each sample: model, task, prompt, cluster, seed, value."""
    return _rows(table, ACCURACY)[["model", "task", "prompt", "cluster", "seed", "value"]]


def _list_tasks(tasks: pd.Series) -> list[Any]:
    """Return the distinct tasks: the paper's in its order, then any others."""
    found = list(dict.fromkeys(tasks))
    return sorted(found, key=lambda task: TASKS.index(task) if task in TASKS else len(TASKS))


def by_task(table: pd.DataFrame, interval: Question) -> Analysis:
    """Return accuracy minus chance of each model and task in per cent, with both kinds of chance."""
    right, above, chance = (_rows(table, measure) for measure in (ACCURACY, ABOVE, CHANCE))
    lines = []
    for model in dict.fromkeys(right["model"]):
        for task in _list_tasks(right["task"]):
            own = [rows[(rows["model"] == model) & (rows["task"] == task)] for rows in (right, above, chance)]
            if own[0].empty:
                continue
            score = mean_interval(
                own[1]["value"], own[1]["cluster"], own[1]["seed"], interval=interval, low=-1, high=1
            )
            accuracy = own[0]["value"].mean()
            paper = PAPER_CHANCE.get(task, np.nan)
            numbers = (accuracy, own[2]["value"].mean(), score.value, score.lo, score.hi, paper, accuracy - paper)
            counted = (len(own[0]), own[0]["cluster"].nunique())
            lines.append((model, task, *(100 * n for n in numbers), *counted))
    names = ("accuracy", "chance", "above_chance", "low", "high", "papers_chance", "above_papers_chance")
    found = pd.DataFrame(lines, columns=["model", "task", *names, "samples", "images"])
    summary = (
        "Accuracy minus chance by task, in per cent, with intervals over source images and the paper's chance."
    )
    return Analysis("tasks", summary, found, partial(_bars, found))


def ablation(table: pd.DataFrame, facet: str, name: str, summary: str, interval: Question) -> Analysis:
    """Return accuracy minus chance, averaged over tasks, by the values of one ablation."""
    rows = _rows(table, ABOVE).dropna(subset=facet)
    parts = rows.assign(of=rows[facet].map(lambda text: list(read_values(text).items()))).explode("of")
    parts[name], parts["value"] = zip(*parts["of"], strict=True)
    by = ["model", name]
    if facet == STEPS:
        parts[name], parts["chain_of"] = zip(*parts[name].str.split("/"), strict=True)
        by.append("chain_of")
    if facet != ESTIMATORS:
        parts = parts.astype(dict.fromkeys(by[1:], int))
    lines = []
    for names, own in parts.groupby(by, sort=facet != ESTIMATORS):
        equal = 1 / own.groupby("task")["value"].transform("size")  # equal weights of tasks, as in the headline
        e = mean_interval(
            own["value"], own["cluster"], own["seed"], weights=equal, interval=interval, low=-1, high=1
        )
        lines.append((*names, e.value, e.lo, e.hi, len(own)))
    found = pd.DataFrame(lines, columns=[*by, "above_chance", "low", "high", "samples"])
    return Analysis(name, summary, found, partial(_lines, found, name) if facet != ESTIMATORS else None)


def calls(table: pd.DataFrame) -> Analysis:
    """Return the denoiser calls per sample, with and without elimination."""
    means = {
        name: _rows(table, measure).groupby(["model", "task"], sort=False)["value"].mean()
        for name, measure in (("calls", "calls"), ("all_terms", "calls_unpruned"))
    }
    found = pd.DataFrame(means).reset_index()
    found["share"] = found["calls"] / found["all_terms"]
    return Analysis("calls", "Denoiser calls per sample, and the calls that all terms would take.", found)


def pairs(right: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield each pair of models with their correctness (`a`, `b`) on the samples that both have."""
    keys = ["task", "prompt", "cluster", "seed"]
    for a, b in combinations(dict.fromkeys(right["model"]), 2):
        own = [right[right["model"] == model].set_index(keys)["value"] for model in (a, b)]
        yield a, b, pd.concat(own, axis=1, keys=["a", "b"], join="inner").reset_index()


def only_one_right(right: pd.DataFrame, interval: Question) -> Analysis:
    """Return the numbers of samples that both, one or none of two models gets right, and the difference."""
    lines = []
    for a, b, both in pairs(right):
        parts = [(task, both[both["task"] == task]) for task in _list_tasks(both["task"])]
        for task, part in [*parts, ("all", both)]:
            if part.empty:
                continue
            e = paired_difference(part["a"], part["b"], part["cluster"], part["seed"], interval=interval)
            first, second = part["a"] == 1, part["b"] == 1
            counted = [(first & second).sum(), (first & ~second).sum(), (second & ~first).sum()]
            lines.append((a, b, task, *counted, (~first & ~second).sum(), e.diff, e.lo, e.hi, e.p))
    names = ["model_a", "model_b", "task", "both", "only_a", "only_b", "neither"]
    names += ["difference", "low", "high", "p_unadjusted"]
    summary = (
        "Numbers of samples that both, one or none of two models gets right (ties count as wrong), and the "
        "difference of the accuracies."
    )
    return Analysis("models", summary, pd.DataFrame(lines, columns=names))


def where_only_one_is_right(right: pd.DataFrame) -> Analysis:
    """Return the samples that exactly one of two models gets right; people vote on these."""
    lines = []
    for a, b, both in pairs(right):
        for line in both[(both["a"] == 1) != (both["b"] == 1)].itertuples():
            lines.append((a, b, line.task, line.prompt, line.seed, a if line.a == 1 else b))
    found = pd.DataFrame(lines, columns=["model_a", "model_b", "task", "prompt", "seed", "right"])
    return Analysis("only-one-right", "Samples that exactly one of two models gets right.", found)


def _bars(found: pd.DataFrame, axes: Any) -> None:
    tasks, models = list(dict.fromkeys(found["task"])), list(dict.fromkeys(found["model"]))
    width = 0.8 / len(models)
    for i, model in enumerate(models):
        own = found[found["model"] == model]
        places = [tasks.index(task) + (i + 0.5) * width for task in own["task"]]
        spread = np.clip([own["above_chance"] - own["low"], own["high"] - own["above_chance"]], 0, None)
        axes.bar(places, own["above_chance"], width, yerr=spread, capsize=2, label=model)
    axes.axhline(0, color="k", linewidth=0.8)
    axes.set_xticks([place + 0.4 for place in range(len(tasks))], tasks, fontsize=8)
    axes.set_ylabel("accuracy minus chance, per cent")
    axes.legend(fontsize=7)


def _lines(found: pd.DataFrame, facet: str, axes: Any) -> None:
    for model, own in found.groupby("model", sort=False):
        axes.plot(own[facet], own["above_chance"], marker="o", markersize=4, label=model)
        axes.fill_between(own[facet], own["low"], own["high"], alpha=0.15, linewidth=0)
    axes.axhline(0, color="k", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel(facet)
    axes.set_ylabel("accuracy minus chance")
    axes.legend(fontsize=7)
