"""Differences between seeds, their size by chance alone, and convergence with the number of seeds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.figure import DistributionPlot, LinePlot
from t2i_core.api.study import Analysis
from t2i_core.statistics import Spread, level_spread

from .tables import Tables

SUBSETS = 500
"""Number of random orders of the seeds from which `convergence` draws subsets."""

BAND = (0.025, 0.975)


def seeds(tables: Tables) -> Iterator[Analysis]:
    """Yield the analyses of the seeds of a run with several seeds (paper: seed box plots, Figure 16)."""
    if tables.images["seed"].nunique() < 2:
        return
    yield from box_plots(tables)
    yield from best_and_worst(tables)
    yield from convergence(tables)


def box_plots(tables: Tables) -> Iterator[Analysis]:
    """Yield the seeds' scores of each model and kind of prompts, and their quartiles."""
    scores = tables.images.groupby(["model", "kind", "seed"], sort=False)["value"].mean()
    groups = scores.groupby(["model", "kind"], sort=False)
    boxes = {(str(model), str(kind)): own.droplevel([0, 1]) for (model, kind), own in groups}
    order = [(model, kind) for model in tables.models for kind in tables.kinds if (model, kind) in boxes]
    lines = []
    for model, kind in order:
        values = boxes[model, kind]
        quartiles = dict(
            zip(("lowest", "q1", "median", "q3", "highest"), np.quantile(values, QUARTERS), strict=True)
        )
        sd = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
        lines.append({"model": model, "kind": kind, "seeds": len(values), **quartiles, "sd": sd})
    models, kinds = len(tables.models), len(tables.kinds)
    shown = pd.DataFrame({label_series(model, kind, models, kinds): boxes[model, kind] for model, kind in order})
    table = shown.sort_index().rename_axis("seed").reset_index()
    summary = "TIAM of each seed over all prompts of a kind."
    long = shown.melt(var_name="of", value_name="tiam", ignore_index=False).rename_axis("seed").reset_index()
    figure = DistributionPlot(label="of", value="tiam", title="tiam of a seed", data=long, hover=["seed"])
    yield Analysis("seed scores", summary, table, figure)
    yield Analysis("seed quartiles", "Quartiles and standard deviation of the seeds' scores.", pd.DataFrame(lines))


QUARTERS = (0, 0.25, 0.5, 0.75, 1)


def best_and_worst(tables: Tables) -> Iterator[Analysis]:
    """Yield the ranked seeds with the bands expected if seeds have no effect, and the test of that hypothesis."""
    spreads: dict[str, Spread] = {}
    for model in tables.models:
        own = tables.images[tables.images["model"] == model]
        if own["prompt"].nunique() > 1 and own["seed"].nunique() > 1:
            spreads[model] = level_spread(own["value"], own["prompt"], own["seed"])
    if not spreads:
        return
    ranked = pd.concat(
        [spread.table.rename_axis("seed").reset_index().assign(model=model) for model, spread in spreads.items()]
    )
    ranked = ranked[["model", "rank", "seed", "mean", "shrunk", "null_low", "null_high", "n"]]
    ranked = ranked.sort_values(["model", "rank"], key=partial(_first_seen, list(spreads)), ignore_index=True)
    summary = (
        "Seeds from best to worst; null_low to null_high contains the seed of this rank in 95 % of cases if seeds "
        "have no effect."
    )
    figure = LinePlot(
        x="rank", y="mean", facet="model", interval=("null_low", "null_high"), hover=["seed"],
        x_title="rank of the seed", y_title="tiam of the seed", note="band: if seeds have no effect",
    )  # fmt: skip
    yield Analysis("best and worst seeds", summary, ranked, figure)
    tests = pd.DataFrame(
        [
            {
                "model": model,
                "seeds": len(spread.table),
                "best": spread.table["mean"].idxmax(),
                "worst": spread.table["mean"].idxmin(),
                "range": spread.range,
                "null_mean": spread.null_mean,
                "null_high": spread.null_high,
                "p": spread.p,
                "reliability": spread.reliability,
            }
            for model, spread in spreads.items()
        ]
    )
    summary = (
        "Test of an effect of seeds: the range (best minus worst) with its mean and 95th percentile by chance "
        "alone (1,000 permutations within prompts); reliability is the share of the variance between seeds that "
        "is not noise."
    )
    yield Analysis("seed effect", summary, tests)


def _first_seen(order: list[str], column: pd.Series) -> pd.Series:
    return column.map({name: i for i, name in enumerate(order)}) if column.name == "model" else column


def convergence(tables: Tables) -> Iterator[Analysis]:
    """Yield the spread of the score for smaller numbers of images per prompt, and for other seeds."""
    rng = np.random.default_rng(0)
    lines: list[dict[str, Any]] = []
    for model in tables.models:
        for kind in tables.kinds:
            own = tables.images[(tables.images["model"] == model) & (tables.images["kind"] == kind)]
            per_seed = own.groupby("seed")["value"].agg(["sum", "count"]).to_numpy(float)
            if len(per_seed) < 2:
                continue
            orders = rng.permuted(np.tile(np.arange(len(per_seed)), (SUBSETS, 1)), axis=1)
            sums, counts = per_seed[orders].cumsum(axis=1).transpose(2, 0, 1)
            scores = sums / counts
            sd = (per_seed[:, 0] / per_seed[:, 1]).std(ddof=1)
            for images in list_sizes(len(per_seed)):
                low, high = np.quantile(scores[:, images - 1], BAND)
                lines.append(
                    {
                        "model": model,
                        "kind": kind,
                        "images": images,
                        "score": float(scores[:, images - 1].mean()),
                        "low": low,
                        "high": high,
                        "sd_new": sd / np.sqrt(images),
                    }
                )
    if not lines:
        return
    table = pd.DataFrame(lines)
    summary = (
        f"The score by number of images per prompt: low to high contains 95 % of {SUBSETS} draws from the run's "
        "seeds (no spread for all of them); sd_new is the standard deviation of the score over other seeds."
    )
    figure = LinePlot(
        x="images",
        y="score",
        colour="model",
        facet="kind",
        scale="log",
        x_title="images per prompt",
        y_title="tiam",
    )
    yield Analysis("images per prompt", summary, table, figure)


def label_series(model: str, kind: str, models: int, kinds: int) -> str:
    """Return the label of a model's prompts of a kind: each only if there are several."""
    parts = [part for part, many in ((model, models > 1), (kind, kinds > 1)) if many]
    return ", ".join(parts) or model


def list_sizes(seeds: int) -> list[int]:
    """Return the powers of two up to a number, and the number itself."""
    return sorted({*(2**i for i in range(seeds.bit_length())), seeds})
