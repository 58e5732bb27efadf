"""Analyses of one model under several settings: scores along a setting, their front, and images per synset."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.figure import LinePlot, ScatterPlot
from t2i_core.api.study import Analysis, Study

LINE = ("generator", "rest")
"""Columns that name the line of a sweep: the model, and its other settings."""


def sweeps(study: Study, measure: str) -> Iterator[Analysis]:
    """Yield the scores along each numeric setting that varies between otherwise equal models: a line for each.

    References:
        Hypernymy paper, Figure 2.
    """
    means = scores(study.table, measure)
    for key, line in _find_lines(study, means).items():
        table = line.assign(**{measure: line["model"].map(means)})
        figure = LinePlot(x=key, y=measure, colour=LINE, hover=["model"])
        yield Analysis(f"by {key}", f"{measure} along {key}.", table, figure)


def _find_lines(study: Study, labels: Container[str]) -> dict[str, pd.DataFrame]:
    """Return, for each numeric setting, the models that differ in it alone.

    Args:
        study: The measurements of a run.
        labels: The models to take.

    Returns:
        By setting: model, the setting, `generator` and `rest` (the other settings), which name the line. Lines
        have two numbers or more, in ascending order.
    """
    found = {}
    for key in dict.fromkeys(key for settings in study.settings.values() for key in settings):
        points = [
            {
                "model": label,
                key: settings[key],
                "generator": study.generators.get(label, ""),
                "rest": _format_others(settings, key),
            }
            for label, settings in study.settings.items()
            if label in labels and isinstance(settings.get(key), int | float)
        ]
        table = pd.DataFrame(points, columns=["model", key, *LINE])
        table = table[table.groupby(list(LINE))[key].transform("nunique") > 1]
        if len(table):
            found[key] = table.sort_values([*LINE, key], ignore_index=True)
    return found


def scores(table: pd.DataFrame, measure: str) -> dict[str, float]:
    """Return the score of each model: the mean over synsets of each synset's mean."""
    rows = table[table["measure"] == measure]
    by_synset = rows.groupby(["model", "prompt"], observed=True)["value"].mean()
    return {
        str(model): float(value) for model, value in by_synset.groupby(level="model", observed=True).mean().items()
    }


def planes(study: Study, a: str, b: str) -> Iterator[Analysis]:
    """Yield two scores of each model: a curve for each sweep of a setting, and the Pareto front of all models.

    Args:
        study: The measurements of a run.
        a: The metric's own measure.
        b: A measure of another metric of the same run.

    References:
        Hypernymy paper, Figure 3.
    """
    if study.others is None:
        return
    first, second = scores(study.table, a), scores(study.others, b)
    labels = [label for label in first if label in second]
    if len(labels) < 2:
        return
    for key, line in _find_lines(study, labels).items():
        table = line.assign(**{a: line["model"].map(first), b: line["model"].map(second)})
        name = table["generator"].str.cat(table["rest"], ", ").str.strip(", ")
        yield Analysis(
            f"{a} and {b} by {key}",
            f"{a} against {b}: a curve for each model along {key}.",
            table,
            ScatterPlot(
                x=a,
                y=b,
                label=key,
                colour=LINE,
                curve="line",
                note=f"labels: {key}",
                data=table.assign(line=name),
            ),
        )
    points = np.array([[first[label], second[label]] for label in labels])
    table = pd.DataFrame({"model": labels, a: points[:, 0], b: points[:, 1], "front": on_front(points)})
    keys = dict.fromkeys(key for label in labels for key in study.settings.get(label, {}))
    for key in reversed(keys):
        table.insert(1, key, [study.settings.get(label, {}).get(key) for label in labels])
    table = table.sort_values(a, ignore_index=True)
    yield Analysis(
        f"{a} and {b}",
        f"{a} against {b}; front: no other model is as good in both and better in one.",
        table,
        ScatterPlot(
            x=a,
            y=b,
            label="model",
            colour="on",
            curve="line",
            note="line: the front",
            data=table.assign(
                on=table["front"].map({True: "on the front", False: "behind it"}),
                line=table["front"].map({True: "front", False: None}),
            ),
        ),
    )


def on_front(points: NDArray[np.float64]) -> list[bool]:
    """Return for each point whether no other point is as good in both scores and better in one.

    Args:
        points: Scores, float64 of shape (n, 2); higher is better.
    """
    as_good = (points[:, None] >= points[None]).all(axis=2)
    better = (points[:, None] > points[None]).any(axis=2)
    beaten: NDArray[np.bool] = np.asarray((as_good & better).any(axis=0))
    return [not each for each in beaten]


RUNS = 4
"""Largest number of disjoint runs that a number of images is divided into, as in the hypernymy paper."""


def split_runs(count: int, size: int) -> list[slice]:
    """Return the images of disjoint runs of `size` images each, at most `RUNS`, evenly spread over `count` images.

    Each run begins its own segment, so that runs of more images use images that runs of fewer do not.

    Example:
        >>> split_runs(128, 4)
        [slice(0, 4, None), slice(32, 36, None), slice(64, 68, None), slice(96, 100, None)]
    """
    runs = min(RUNS, count // size)
    return [slice(start, start + size) for start in (run * (count // runs) for run in range(runs))]


def by_images(rows: pd.DataFrame, measure: str) -> Iterator[Analysis]:
    """Yield the score for each number of images per synset, and its standard deviation between disjoint runs.

    Args:
        rows: Values with the columns model, prompt, images and block; blocks are disjoint.
        measure: Name of the measure.

    References:
        Hypernymy paper, Figure 7 and Table 8.
    """
    if rows.empty:
        return
    by = ["model", "images"]
    block_means = rows.groupby([*by, "block"], observed=True)["value"].mean()
    groups = block_means.groupby(level=by, observed=True)
    rho = {key: _correlate_blocks(own) for key, own in rows.groupby(by, observed=True)}
    table = pd.DataFrame(
        {measure: groups.mean(), "sd": groups.std(), "rho": pd.Series(rho), "runs": groups.size()}
    )
    table = table.rename_axis(by).reset_index().astype({"images": int}).sort_values(by, ignore_index=True)
    summary = (
        f"{measure} by number of images per synset; sd and rho (mean Spearman's rho over synsets) compare "
        "disjoint runs of that many images."
    )
    figure = LinePlot(
        x="images", y=measure, colour="model", band="bars", x_title="images per synset",
        data=table.assign(low=table[measure] - table["sd"], high=table[measure] + table["sd"]),
        note="bars: standard deviation between runs, where there are several", hover=["runs"],
    )  # fmt: skip
    yield Analysis("images per synset", summary, table, figure)
    several = table[table["sd"].notna()]
    if several.empty:
        return
    spread = several[[*by, "sd"]].assign(relative=several["sd"] / several[measure], runs=several["runs"])
    yield Analysis(
        "deviation by images per synset",
        f"Standard deviation of {measure} between disjoint runs, by number of images per synset; relative: "
        "divided by the mean.",
        spread.reset_index(drop=True),
        LinePlot(x="images", y="sd", colour="model", x_title="images per synset", hover=["relative", "runs"]),
    )


def _correlate_blocks(rows: pd.DataFrame) -> float:
    """Return the mean Spearman's rho of synsets between all pairs of blocks; NaN if there is one block."""
    rho = rows.pivot(index="prompt", columns="block", values="value").corr(method="spearman").to_numpy()
    return float(pd.Series(rho[np.triu_indices(len(rho), 1)]).mean())


def blocks_of_seeds(table: pd.DataFrame, measure: str, sizes: Sequence[int]) -> pd.DataFrame:
    """Return means by model, synset, images and block, for a measure that is a mean over images.

    Args:
        table: The rows of a metric.
        measure: Name of the measure.
        sizes: Numbers of seeds per block, see `split_runs`.
    """
    rows = table[table["measure"] == measure]
    if "seed" not in rows:
        return pd.DataFrame()
    seeds = sorted(rows["seed"].dropna().unique())
    parts = []
    for size in sizes:
        block = {seed: i for i, run in enumerate(split_runs(len(seeds), size)) for seed in seeds[run]}
        part = rows.assign(images=size, block=rows["seed"].map(block).astype(np.float64)).dropna(subset="block")
        # average within synsets first, so that synsets with failed images count as much as the others
        parts.append(
            part.groupby(["model", "prompt", "images", "block"], observed=True)["value"].mean().reset_index()
        )
    return pd.concat(parts) if parts else pd.DataFrame()


def _format_others(settings: Any, key: str) -> str:
    """Return all settings except `key` as text."""
    return ", ".join(f"{name}={value}" for name, value in sorted(settings.items()) if name != key)
