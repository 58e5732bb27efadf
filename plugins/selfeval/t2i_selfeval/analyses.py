"""Analyses of decisions: by task, trials, steps and estimator, and the differences between two models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.figure import BarChart, ForestPlot, LinePlot
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.statistics import Question, mean_interval, paired_difference

from .ablation import ESTIMATORS, STEPS, TRIALS, read_values
from .choices import ABOVE, ACCURACY, CHANCE, PICKED, RIGHT
from .samples import PAIR_CHANCE, PAPER_CHANCE, TASKS
from .votes import compare_with_people, set_beside_people

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
    tasks = by_task(table, study.interval)
    yield tasks
    present = set(table["measure"].astype(str))
    for facet, (name, summary) in ABLATIONS.items():
        if facet in table and table[facet].notna().any():
            yield ablation(table, facet, name, summary, study.interval)
    if "repeat" in table and table["repeat"].nunique() > 1:
        yield repeats(table)
    if "calls" in present:
        yield calls(table)
    if "because" in table:
        yield picked_captions(table)
    right = decisions(table)
    if right["model"].nunique() > 1:
        yield only_one_right(right, study.interval)
        yield where_only_one_is_right(right)
    if votes is not None:
        places = find_places(study.samples)
        yield compare_with_people(votes, pairs(right), places)
        prompts = right.groupby(["model", "task"])["prompt"].agg(frozenset).rename("prompts")
        own = tasks.table.join(prompts, on=["model", "task"])
        yield set_beside_people(votes, combinations(dict.fromkeys(right["model"]), 2), own, places, study.interval)


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
    both = [_rows(table, measure) for measure in (ACCURACY, CHANCE)]
    lines = []
    for model in dict.fromkeys(both[0]["model"]):
        for task in _list_tasks(both[0]["task"]):
            own = [rows[(rows["model"] == model) & (rows["task"] == task)] for rows in both]
            if own[0].empty:
                continue
            right, chance = own[0], own[1]["value"].mean()
            e = mean_interval(right["value"], right["cluster"], right["seed"], interval=interval, low=0, high=1)
            paper = PAPER_CHANCE.get(task, np.nan)
            numbers = (e.value, chance, e.value - chance, e.lo - chance, e.hi - chance, paper, e.value - paper)
            counted = (len(own[0]), own[0]["cluster"].nunique())
            lines.append((model, task, *(100 * n for n in numbers), *counted))
    names = ("accuracy", "chance", "above_chance", "low", "high", "papers_chance", "above_papers_chance")
    found = pd.DataFrame(lines, columns=["model", "task", *names, "samples", "images"])
    summary = (
        "Accuracy minus chance by task, in per cent, and the paper's chance. The interval is that of the accuracy "
        "over source images, moved by the known chance."
    )
    figure = ForestPlot(
        label="task", value="above_chance", colour="model", reference=0, hover=["accuracy", "samples"],
        title="accuracy minus chance, per cent",
    )  # fmt: skip
    return Analysis("tasks", summary, found, figure)


def ablation(table: pd.DataFrame, facet: str, name: str, summary: str, interval: Question) -> Analysis:
    """Return accuracy minus chance, averaged over tasks, by the values of one ablation."""
    parts, by = _list_variations(_rows(table, ABOVE), facet, name)
    samples = ["model", "prompt", "seed"]
    chance = _rows(table, CHANCE).set_index(samples)["value"].rename("chance")
    parts = parts.join(chance, on=samples)
    lines = []
    for names, own in parts.groupby(by, sort=facet != ESTIMATORS):
        equal = 1 / own.groupby("task")["value"].transform("size")  # equal weights of tasks, as in the headline
        known = float(np.average(own["chance"], weights=equal))
        accuracy = (own["value"] + own["chance"]).clip(0, 1)  # sums of rounded numbers
        e = mean_interval(accuracy, own["cluster"], own["seed"], weights=equal, interval=interval, low=0, high=1)
        lines.append((*names, e.value - known, e.lo - known, e.hi - known, len(own)))
    found = pd.DataFrame(lines, columns=[*by, "above_chance", "low", "high", "samples"])
    return Analysis(name, summary, found, _plot_ablation(found, facet, name))


def _list_variations(rows: pd.DataFrame, facet: str, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Return a row for each variation of each sample, and the columns that tell variations of models apart."""
    rows = rows.dropna(subset=facet)
    parts = rows.assign(of=rows[facet].map(lambda text: list(read_values(text).items()))).explode("of")
    parts[name], parts["value"] = zip(*parts["of"], strict=True)
    by = ["model", name]
    if facet == STEPS:
        parts[name], parts["chain_of"] = zip(*parts[name].str.split("/"), strict=True)
        by.append("chain_of")
    if facet != ESTIMATORS:
        parts = parts.astype(dict.fromkeys(by[1:], int))
    return parts.reset_index(drop=True), by


def _plot_ablation(found: pd.DataFrame, facet: str, name: str) -> ForestPlot | LinePlot:
    """Draw accuracy minus chance by the values of one ablation. No line joins values of different chains."""
    value, title = "above_chance", "accuracy minus chance"
    if facet == ESTIMATORS:
        return ForestPlot(label=name, value=value, colour="model", reference=0, title=title)
    return LinePlot(
        x=name,
        y=value,
        colour="model",
        scale="levels",
        reference=0,
        y_title=title,
        facet="chain" if facet == STEPS else None,
        data=_name_chains(found) if facet == STEPS else None,
    )


def _name_chains(found: pd.DataFrame) -> pd.DataFrame:
    return found.assign(chain="chain of " + found["chain_of"].astype(str) + " steps")


def _plot_pairs(facet: str, name: str) -> ForestPlot | LinePlot:
    """Draw the scores of pairs by the values of one ablation, each score in its own panel."""
    title = "share of pairs"
    if facet == ESTIMATORS:
        ticks = {"chance": "chance"}
        return ForestPlot(label=name, value="accuracy", colour="model", facet="score", ticks=ticks, title=title)
    note = "Chance is 1/4, of the group score 1/6."
    return LinePlot(x=name, y="accuracy", colour="model", facet="score", scale="levels", y_title=title, note=note)


def analyse_pairs(study: Study) -> Iterator[Analysis]:
    """Yield the ablations of scores of pairs: text, image and group score by each hyperparameter."""
    table = study.table
    for facet, (name, summary) in ABLATIONS.items():
        if facet not in table or not table[facet].notna().any():
            continue
        lines = []
        for score, chance in PAIR_CHANCE.items():
            parts, by = _list_variations(_rows(table, score), facet, name)
            for names, own in parts.groupby(by, sort=facet != ESTIMATORS):
                e = mean_interval(
                    own["value"], own["cluster"], own["seed"], interval=study.interval, low=0, high=1
                )
                lines.append((score, *names, e.value, e.lo, e.hi, chance, len(own)))
        found = pd.DataFrame(lines, columns=["score", *by, "accuracy", "low", "high", "chance", "pairs"])
        summary = summary.replace("Accuracy minus chance", "Text, image and group score")
        yield Analysis(name, summary, found, _plot_pairs(facet, name))


def picked_captions(table: pd.DataFrame) -> Analysis:
    """Return the samples that are decided wrongly, with the caption that was picked."""
    rows = _rows(table, ACCURACY)
    wrong = rows[rows["value"] < 1]
    captions = wrong["because"].str.removeprefix(PICKED).str.removesuffix(")").str.rpartition(RIGHT)
    found = wrong[["model", "task", "prompt", "seed"]].assign(right=captions[2], picked=captions[0])
    summary = "Samples whose right caption was not picked alone, with the picked captions; several are tied."
    return Analysis("picked captions", summary, found.reset_index(drop=True))


def repeats(table: pd.DataFrame) -> Analysis:
    """Return accuracy minus chance by task and repeat, with mean and standard deviation over the repeats."""
    rows = _rows(table, ABOVE)
    means = rows.groupby(["model", "task", "repeat"], sort=False)["value"].mean().reset_index()
    every = means.groupby(["model", "repeat"], sort=False)["value"].mean().reset_index().assign(task="all")
    each = pd.concat([means, every], ignore_index=True)
    wide = each.pivot_table(index=["model", "task"], columns="repeat", values="value", sort=False)
    wide = 100 * wide.rename_axis(columns=None)
    found = wide.rename(columns=lambda repeat: f"repeat {repeat}").assign(
        mean=wide.mean(axis=1), deviation=wide.std(axis=1, ddof=1)
    )
    summary = (
        "Accuracy minus chance in per cent in each repeat, with other samples and other noise; their mean and "
        "standard deviation. Task `all`: the mean over tasks."
    )
    return Analysis("repeats", summary, found.reset_index())


def calls(table: pd.DataFrame) -> Analysis:
    """Return the denoiser calls per sample, with and without elimination."""
    means = {
        name: _rows(table, measure).groupby(["model", "task"], sort=False)["value"].mean()
        for name, measure in (("calls", "calls"), ("all_terms", "calls_unpruned"))
    }
    found = pd.DataFrame(means).reset_index()
    found["share"] = found["calls"] / found["all_terms"]
    figure = BarChart(
        label="task", value="share", colour="model", range=(0, 1), title="share of the calls of all terms"
    )
    summary = "Denoiser calls per sample, and the calls that all terms would take."
    return Analysis("calls", summary, found, figure)


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
    figure = ForestPlot(label="task", value="difference", facet=("model_a", "model_b"), reference=0)
    return Analysis("models", summary, pd.DataFrame(lines, columns=names), figure)


def where_only_one_is_right(right: pd.DataFrame) -> Analysis:
    """Return the samples that exactly one of two models gets right; people vote on these."""
    lines = []
    for a, b, both in pairs(right):
        for line in both[(both["a"] == 1) != (both["b"] == 1)].itertuples():
            lines.append((a, b, line.task, line.prompt, line.seed, a if line.a == 1 else b))
    found = pd.DataFrame(lines, columns=["model_a", "model_b", "task", "prompt", "seed", "right"])
    return Analysis("only-one-right", "Samples that exactly one of two models gets right.", found)
