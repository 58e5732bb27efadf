"""Analyses of one model under several settings: scores along a setting, their front, and images per synset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.figure import LinePlot, ScatterPlot
from t2i_core.api.study import Analysis, Study


def sweeps(study: Study, measure: str) -> Iterator[Analysis]:
    """Yield the scores along each numeric setting that varies between otherwise equal models."""
    means = scores(study.table, measure)
    for key in dict.fromkeys(key for settings in study.settings.values() for key in settings):
        lines = [
            {"model": label, key: settings[key], "rest": _format_others(settings, key), measure: means[label]}
            for label, settings in study.settings.items()
            if label in means and isinstance(settings.get(key), int | float)
        ]
        numbers: dict[str, set[float]] = {}
        for line in lines:
            numbers.setdefault(line["rest"], set()).add(line[key])
        lines = [line for line in lines if len(numbers[line["rest"]]) > 1]
        if not lines:
            continue
        table = pd.DataFrame(lines).sort_values(["rest", key], ignore_index=True)
        figure = LinePlot(x=key, y=measure, colour="rest", hover=["model"])
        yield Analysis(f"by {key}", f"{measure} along {key}.", table, figure)


def scores(table: pd.DataFrame, measure: str) -> dict[str, float]:
    """Return the score of each model: the mean over synsets of each synset's mean."""
    rows = table[table["measure"] == measure]
    by_synset = rows.groupby(["model", "prompt"], observed=True)["value"].mean()
    return {
        str(model): float(value) for model, value in by_synset.groupby(level="model", observed=True).mean().items()
    }


def front(study: Study, a: str, b: str) -> Iterator[Analysis]:
    """Yield two scores of each model, and mark the models on the Pareto front.

    Args:
        study: The measurements of a run.
        a: The metric's own measure.
        b: A measure of another metric of the same run.
    """
    if study.others is None:
        return
    first, second = scores(study.table, a), scores(study.others, b)
    labels = [label for label in first if label in second]
    if len(labels) < 2:
        return
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


def by_images(rows: pd.DataFrame, measure: str) -> Iterator[Analysis]:
    """Yield the score for each number of images per synset: mean, spread and rank correlation between blocks.

    Args:
        rows: Values with the columns model, prompt, images and block; blocks are disjoint.
        measure: Name of the measure.
    """
    if rows.empty:
        return
    by = ["model", "images"]
    block_means = rows.groupby([*by, "block"], observed=True)["value"].mean()
    groups = block_means.groupby(level=by, observed=True)
    rho = {key: _correlate_blocks(own) for key, own in rows.groupby(by, observed=True)}
    table = pd.DataFrame(
        {measure: groups.mean(), "spread": groups.std(), "rho": pd.Series(rho), "blocks": groups.size()}
    )
    table = table.rename_axis(by).reset_index().astype({"images": int}).sort_values(by, ignore_index=True)
    summary = (
        f"{measure} by number of images per synset; spread and rho (mean Spearman's rho over synsets) compare "
        "disjoint blocks of images."
    )
    figure = LinePlot(
        x="images", y=measure, colour="model", band="bars", x_title="images per synset",
        data=table.assign(low=table[measure] - table["spread"], high=table[measure] + table["spread"]),
        note="bars: spread between blocks of images",
    )  # fmt: skip
    yield Analysis("images per synset", summary, table, figure)


def _correlate_blocks(rows: pd.DataFrame) -> float:
    """Return the mean Spearman's rho of synsets between all pairs of blocks; NaN if there is one block."""
    rho = rows.pivot(index="prompt", columns="block", values="value").corr(method="spearman").to_numpy()
    return float(pd.Series(rho[np.triu_indices(len(rho), 1)]).mean())


def blocks_of_seeds(table: pd.DataFrame, measure: str, sizes: Sequence[int]) -> pd.DataFrame:
    """Return means by model, synset, images and block, for a measure that is a mean over images.

    Args:
        table: The rows of a metric.
        measure: Name of the measure.
        sizes: Numbers of seeds per block; seeds that fill no whole block are dropped.
    """
    rows = table[table["measure"] == measure]
    if "seed" not in rows:
        return pd.DataFrame()
    seeds = {seed: i for i, seed in enumerate(sorted(rows["seed"].dropna().unique()))}
    place = rows["seed"].map(seeds).to_numpy(np.float64)
    parts = []
    for size in sizes:
        block = place // size
        whole = block < len(seeds) // size
        part = rows[whole].assign(images=size, block=block[whole])
        # average within synsets first, so that synsets with failed images count as much as the others
        parts.append(
            part.groupby(["model", "prompt", "images", "block"], observed=True)["value"].mean().reset_index()
        )
    return pd.concat(parts) if parts else pd.DataFrame()


def _format_others(settings: Any, key: str) -> str:
    """Return all settings except `key` as text."""
    return ", ".join(f"{name}={value}" for name, value in sorted(settings.items()) if name != key)
