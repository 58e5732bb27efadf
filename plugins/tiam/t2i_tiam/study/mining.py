"""The best seeds of some prompts, tried on others (paper: seed mining, good and bad seeds)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Analysis, Study
from t2i_core.statistics import mean_interval, paired_difference

from .pictures import draw_pictures, picture
from .tables import Tables


@dataclass(frozen=True)
class Mined:
    """What one model's seeds scored, by seed from the best to the worst on the prompts that they were chosen by.

    chosen_by, held_out: prompts by seeds, each NaN where an image failed
    """

    chosen_by: pd.DataFrame
    held_out: pd.DataFrame
    best: Sequence[int]


def mine_seeds(tables: Tables, study: Study, count: int | None, share: float) -> Iterator[Analysis]:
    """Choose seeds by some prompts and compare them with all seeds on the prompts held out.

    count: how many are chosen; None: an eighth. share: of prompts that are held out.
    Raises BadOption where so many cannot be chosen.
    """
    mined = {}
    held_out = split(tables.prompts, share)
    clusters = tables.prompts["cluster"]
    for model in tables.models:
        scores = tables.seeds_of(model)
        out = scores.index.isin(held_out)
        seeds = scores.shape[1]
        if count is not None and count >= seeds:
            raise BadOption(f"tiam: mined: {count} of the {seeds} seeds of {model}; want fewer than there are")
        if seeds < 2 or out.sum() < 2 or (~out).sum() < 2:
            continue
        ranked = scores[~out].mean().dropna().sort_values(ascending=False, kind="stable").index
        scores = scores[ranked]
        mined[model] = Mined(scores[~out], scores[out], ranked[: count or max(1, seeds // 8)])
    if not mined:
        if count is not None:
            raise BadOption("tiam: mined: no model has two seeds, and two prompts on either side of held_out")
        return
    table = pd.DataFrame([{"model": model, **_tried(one, clusters)} for model, one in mined.items()])
    summary = (
        "The seeds that are best on some prompts, against all seeds on the prompts held out: paired by prompt, "
        "95 % interval (new prompts of this kind, these seeds; t over prompts, rough with fewer than 10)."
    )
    yield Analysis("mine-seeds", summary, table)
    seeds = pd.DataFrame([line for model, one in mined.items() for line in _ranked(model, one, clusters)])
    summary = (
        "Seeds as some prompts rank them (chosen_by), and what they score on those held out, with 95 % intervals "
        "(new prompts of this kind, this seed; Wilson, Clopper-Pearson where nothing varies)."
    )
    yield Analysis("seeds held out", summary, seeds, partial(_draw_gains, seeds))
    yield _shown(study, mined, seeds)


def split(prompts: pd.DataFrame, share: float) -> set[str]:
    """Return the prompts that are held out: a seeded draw; prompts of the same objects stay together."""
    objects = prompts["asked"].map(lambda asked: tuple(sorted(name for name, _ in asked)))
    groups = sorted(set(objects))
    order = np.random.default_rng(0).permutation(len(groups))
    out = {groups[i] for i in order[: round(share * len(groups))]}
    return set(prompts.index[objects.isin(out)])


def _tried(mined: Mined, clusters: pd.Series) -> dict[str, Any]:
    """Compare the chosen seeds with all of them, prompt by prompt."""
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
        "p": found.p,
        "prompts_chosen_by": len(own),
        "prompts_held_out": len(both),
    }


def _ranked(model: str, mined: Mined, clusters: pd.Series) -> Iterator[dict[str, Any]]:
    """Each seed's score on either part, the best on the first part first."""
    for rank, seed in enumerate(mined.chosen_by.columns, 1):
        values = mined.held_out[seed].dropna()
        if values.empty:
            continue
        found = mean_interval(values, clusters.loc[values.index], None, low=0, high=1)
        yield {
            "model": model,
            "rank": rank,
            "seed": seed,
            "mined": seed in mined.best,
            "chosen_by": float(mined.chosen_by[seed].mean()),
            "held_out": found.value,
            "low": found.lo,
            "high": found.hi,
            "n": len(values),
        }


def _draw_gains(seeds: pd.DataFrame, axes: Any) -> None:
    """Each seed's score on either part, larger where several meet: without an effect, no direction."""
    for place, (model, own) in enumerate(seeds.groupby("model", sort=False)):
        for mined, marker, label in ((False, "o", model), (True, "*", f"{model}, mined")):
            of = own.loc[own["mined"] == mined, ["chosen_by", "held_out"]]
            dots = of.round(6).value_counts().reset_index()  # one on another
            size = (90 if mined else 18) * dots["count"]
            axes.scatter(
                dots["chosen_by"], dots["held_out"], size, color=f"C{place}", marker=marker, alpha=0.7, label=label
            )
        axes.axhline(own["held_out"].mean(), color=f"C{place}", linewidth=1, linestyle=":")
    axes.set_xlabel("tiam of a seed on the prompts that it was chosen by")
    axes.set_ylabel("on the prompts held out")
    axes.legend(fontsize=8)


SHOWN_SEEDS, SHOWN_PROMPTS = 2, 6


def _shown(study: Study, mined: dict[str, Mined], seeds: pd.DataFrame) -> Analysis:
    """The best and the worst seeds on prompts that did not choose them, with images (Figures 10 and 11)."""
    own = seeds.groupby("model", sort=False)
    ends = seeds[(own.cumcount() < SHOWN_SEEDS) | (own.cumcount(ascending=False) < SHOWN_SEEDS)]
    prompts = _spread(next(iter(mined.values())).held_out.index)
    rows = []
    for line in ends.itertuples(index=False):
        name = f"seed {line.seed}, rank {line.rank}"
        files = [picture(study, str(line.model), prompt, int(line.seed)) for prompt in prompts]
        rows.append((f"{line.model}\n{name}" if len(mined) > 1 else name, files))
    summary = "The best and the worst seeds of some prompts (chosen_by), and what they score on those held out."
    return Analysis("good and bad seeds", summary, ends, partial(draw_pictures, rows, prompts))


def _spread(prompts: pd.Index) -> list[str]:
    """A few prompts from all over their list."""
    places = np.linspace(0, len(prompts) - 1, min(SHOWN_PROMPTS, len(prompts))).round().astype(int)
    return [str(prompts[place]) for place in places]
