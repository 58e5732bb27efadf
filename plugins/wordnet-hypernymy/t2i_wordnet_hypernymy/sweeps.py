"""One model under several settings: scores along each setting, their front, and how many images a synset needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.study import Analysis, Study


def sweeps(study: Study, measure: str) -> Iterator[Analysis]:
    """Yield, for each setting of which models that are else alike have several numbers, the scores along it."""
    means = scores(study.table, measure)
    for key in dict.fromkeys(key for settings in study.settings.values() for key in settings):
        lines = [
            {"model": label, key: settings[key], "rest": _rest(settings, key), measure: means[label]}
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
        yield Analysis(f"by {key}", f"{measure} along {key}.", table, partial(_along, table, key, measure))


def scores(table: pd.DataFrame, measure: str) -> dict[str, float]:
    """Each model's score: the mean over synsets of each one's mean."""
    rows = table[table["measure"] == measure]
    by_synset = rows.groupby(["model", "prompt"], observed=True)["value"].mean()
    return {
        str(model): float(value) for model, value in by_synset.groupby(level="model", observed=True).mean().items()
    }


def front(study: Study, a: str, b: str) -> Iterator[Analysis]:
    """Yield both scores of each model, and which no other model beats in both (the paper's front of guidance).

    a is the metric's own measure; b another metric's, of the same run.
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
        f"{a} against {b}: models on the front are beaten in both by none.",
        table,
        partial(_plane, table, a, b),
    )


def on_front(points: np.ndarray) -> list[bool]:
    """Whether no other point is as good in both and better in one; float64 (n, 2), higher is better."""
    as_good = (points[:, None] >= points[None]).all(axis=2)
    better = (points[:, None] > points[None]).any(axis=2)
    return [not beaten for beaten in (as_good & better).any(axis=0)]


def by_images(rows: pd.DataFrame, measure: str) -> Iterator[Analysis]:
    """Yield scores of so many images per synset: mean, spread and rank correlation between disjoint blocks."""
    if rows.empty:
        return
    by = ["model", "images"]
    scored = rows.groupby([*by, "block"], observed=True)["value"].mean()
    groups = scored.groupby(level=by, observed=True)
    rho = {key: _alike(own) for key, own in rows.groupby(by, observed=True)}
    table = pd.DataFrame(
        {measure: groups.mean(), "spread": groups.std(), "rho": pd.Series(rho), "blocks": groups.size()}
    )
    table = table.rename_axis(by).reset_index().astype({"images": int}).sort_values(by, ignore_index=True)
    summary = (
        f"{measure} of so many images per synset; spread and rho (mean of Spearman's of synsets) are between "
        "disjoint blocks of them."
    )
    yield Analysis("images per synset", summary, table, partial(_by_images, table, measure))


def _alike(rows: pd.DataFrame) -> float:
    """How alike each two blocks rank synsets: the mean of Spearman's rho; NaN of a single block."""
    rho = rows.pivot(index="prompt", columns="block", values="value").corr(method="spearman").to_numpy()
    return float(pd.Series(rho[np.triu_indices(len(rho), 1)]).mean())


def blocks_of_seeds(table: pd.DataFrame, measure: str, sizes: Sequence[int]) -> pd.DataFrame:
    """A mean's rows by model, synset, images and block: blocks of so many seeds; what is left over is dropped."""
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
        # synsets first: one with images that failed counts as much as any other
        parts.append(
            part.groupby(["model", "prompt", "images", "block"], observed=True)["value"].mean().reset_index()
        )
    return pd.concat(parts) if parts else pd.DataFrame()


def _rest(settings: Any, key: str) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(settings.items()) if name != key)


def _along(table: pd.DataFrame, key: str, measure: str, axes: Any) -> None:
    for rest, own in table.groupby("rest"):
        axes.plot(own[key], own[measure], marker="o", label=rest or None)
    axes.set_xlabel(key)
    axes.set_ylabel(measure)
    if table["rest"].any():
        axes.legend()


def _plane(table: pd.DataFrame, a: str, b: str, axes: Any) -> None:
    best = table[table["front"]]
    axes.plot(best[a], best[b], color="grey", linewidth=1)
    axes.scatter(table[a], table[b], c=["C0" if on else "C7" for on in table["front"]])
    for line in table.itertuples(index=False):
        place = getattr(line, a), getattr(line, b)
        axes.annotate(line.model, place, textcoords="offset points", xytext=(4, 4), fontsize=7)
    axes.margins(x=0.15)
    axes.set_xlabel(a)
    axes.set_ylabel(b)


def _by_images(table: pd.DataFrame, measure: str, axes: Any) -> None:
    for model, own in table.groupby("model"):
        axes.errorbar(own["images"], own[measure], own["spread"].fillna(0), marker="o", capsize=3, label=model)
    axes.set_xticks(sizes := sorted(table["images"].unique()), sizes)
    axes.set_xlabel("images per synset")
    axes.set_ylabel(measure)
    axes.legend()
