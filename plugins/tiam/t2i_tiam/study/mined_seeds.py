"""Seed mining: the best seeds on some prompts, tested on held-out prompts (paper: good and bad seeds)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import Mosaic, ScatterPlot
from t2i_core.api.study import Analysis, Study
from t2i_core.statistics import mean_interval, paired_difference

from .pictures import find_image
from .tables import Tables


@dataclass(frozen=True)
class SeedChoice:
    """Scores of one model's seeds, from the best to the worst seed on the prompts used for the choice.

    Attributes:
        chosen_by: TIAM by prompt used for the choice (rows) and seed (columns); NaN if the image failed.
        held_out: Likewise for the held-out prompts.
        best: The chosen seeds.
    """

    chosen_by: pd.DataFrame
    held_out: pd.DataFrame
    best: Sequence[int]


def mine_seeds(tables: Tables, study: Study, count: int | None, share: float) -> Iterator[Analysis]:
    """Choose the best seeds on some prompts and compare them with all seeds on the held-out prompts.

    Args:
        tables: The measured rows.
        study: The run.
        count: Number of seeds to choose; if None, an eighth of them.
        share: Share of the prompts to hold out.

    Yields:
        The comparison, the scores of all seeds, and images of the best and worst seeds.

    Raises:
        BadOption: If `count` is not smaller than the number of seeds, or if no model has enough seeds and prompts.
    """
    mined = {}
    held_out = split(tables.prompts, share)
    clusters = tables.prompts["cluster"]
    for model in tables.models:
        scores = tables.seeds_of(model)
        out = scores.index.isin(held_out)
        seeds = scores.shape[1]
        if count is not None and count >= seeds:
            raise BadOption(
                f"tiam: mined must be smaller than {seeds}, the number of seeds of {model} (got {count})"
            )
        if seeds < 2 or out.sum() < 2 or (~out).sum() < 2:
            continue
        ranked = scores[~out].mean().dropna().sort_values(ascending=False, kind="stable").index
        scores = scores[ranked]
        mined[model] = SeedChoice(scores[~out], scores[out], ranked[: count or max(1, seeds // 8)].tolist())
    if not mined:
        if count is not None:
            raise BadOption(
                "tiam: mined needs a model with at least two seeds, and at least two prompts in each part; "
                "generate more seeds or prompts, or change held_out"
            )
        return
    table = pd.DataFrame([{"model": model, **_compare_with_all(one, clusters)} for model, one in mined.items()])
    summary = (
        "The best seeds on some prompts compared with all seeds on the held-out prompts, paired by prompt; "
        "95 % intervals (new prompts of this kind, these seeds; t over prompts, rough with fewer than 10)."
    )
    yield Analysis("mine-seeds", summary, table)
    ranks = pd.DataFrame([line for model, one in mined.items() for line in _rank_seeds(model, one, clusters)])
    summary = (
        "Seeds ranked by their score on some prompts (chosen_by), and their score on the held-out prompts with "
        "95 % intervals (new prompts of this kind, this seed; Wilson, or Clopper-Pearson if all values are equal)."
    )
    yield Analysis("seeds held out", summary, ranks, _show_gains(ranks))
    yield _show_seeds(study, mined, ranks)


def split(prompts: pd.DataFrame, share: float) -> set[str]:
    """Return the ids of the held-out prompts: a seeded draw that keeps prompts of the same objects together."""
    objects = prompts["asked"].map(lambda asked: tuple(sorted(name for name, _ in asked)))
    groups = sorted(set(objects))
    order = np.random.default_rng(0).permutation(len(groups))
    out = {groups[i] for i in order[: round(share * len(groups))]}
    return set(prompts.index[objects.isin(out)])


def _compare_with_all(mined: SeedChoice, clusters: pd.Series) -> dict[str, Any]:
    """Compare the chosen seeds with all seeds, paired by prompt."""
    every = mined.held_out.mean(axis=1)
    chosen = mined.held_out[mined.best].mean(axis=1)
    both = pd.DataFrame({"mined": chosen, "all": every}).dropna()
    found = paired_difference(both["mined"], both["all"], clusters.loc[both.index], None, low=0, high=1)
    own = mined.chosen_by
    return {
        "seeds": ", ".join(map(str, mined.best)),
        "of": own.shape[1],
        "gain_where_chosen": float(own[mined.best].mean(axis=1).mean() - own.mean(axis=1).mean()),
        "mined": float(both["mined"].mean()),
        "all": float(both["all"].mean()),
        "difference": found.diff,
        "low": found.lo,
        "high": found.hi,
        "p_unadjusted": found.p,
        "prompts_chosen_by": len(own),
        "prompts_held_out": len(both),
    }


def _rank_seeds(model: str, mined: SeedChoice, clusters: pd.Series) -> Iterator[dict[str, Any]]:
    """Yield each seed's score on both parts of the prompts, in the order of the scores used for the choice."""
    for rank, seed in enumerate(mined.chosen_by.columns, 1):
        values = mined.held_out[seed].dropna()
        if values.empty:
            continue
        found = mean_interval(values, clusters.loc[values.index], None, low=0, high=1)
        yield {
            "model": model,
            "rank": rank,
            "seed": seed,
            "mined": int(seed) in mined.best,
            "chosen_by": float(mined.chosen_by[seed].mean()),
            "held_out": found.value,
            "low": found.lo,
            "high": found.hi,
            "n": len(values),
        }


def _show_gains(seeds: pd.DataFrame) -> ScatterPlot:
    """Return each seed's score on both parts of the prompts."""
    mean = seeds.groupby("model", sort=False)["held_out"].transform("mean")
    kind = seeds["mined"].map({True: "mined", False: "other seeds"})
    data = seeds.assign(mean=mean, kind=kind).sort_values("mined", kind="stable")  # mined seeds on top
    return ScatterPlot(
        x="chosen_by", y="held_out", colour="kind", facet="model", reference="mean", data=data,
        hover=["seed", "rank"],
        x_title="tiam of a seed on the prompts used for the choice", y_title="tiam on the held-out prompts",
        note="dotted: mean on the held-out prompts",
    )  # fmt: skip


SHOWN_SEEDS, SHOWN_PROMPTS = 2, 6


def _show_seeds(study: Study, mined: dict[str, SeedChoice], seeds: pd.DataFrame) -> Analysis:
    """Return the best and worst seeds on held-out prompts, with images (paper: Figures 10 and 11)."""
    own = seeds.groupby("model", sort=False)
    ends = seeds[(own.cumcount() < SHOWN_SEEDS) | (own.cumcount(ascending=False) < SHOWN_SEEDS)]
    prompts = _choose_prompts(next(iter(mined.values())).held_out.index)
    rows = []
    for model, seed, rank in zip(ends["model"], ends["seed"], ends["rank"], strict=True):
        name = f"seed {seed}, rank {rank}"
        images = [find_image(study, str(model), prompt, int(seed)) for prompt in prompts]
        rows.append((f"{model}\n{name}" if len(mined) > 1 else name, images))
    summary = "The best and worst seeds on some prompts (chosen_by), and their scores on the held-out prompts."
    return Analysis("good and bad seeds", summary, ends, Mosaic(rows, prompts))


def _choose_prompts(prompts: pd.Index) -> list[str]:
    """Return up to SHOWN_PROMPTS prompts at even intervals."""
    places = np.linspace(0, len(prompts) - 1, min(SHOWN_PROMPTS, len(prompts))).round().astype(int)
    return [str(prompts[place]) for place in places]
