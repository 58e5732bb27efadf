"""The best seeds of some prompts, tried on others (paper: seed mining, good and bad seeds)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.errors import BadOption
from t2i_core.metrics import Analysis, Study
from t2i_core.statistics import paired_difference

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
        return
    table = pd.DataFrame([{"model": model, **_tried(one)} for model, one in mined.items()])
    summary = (
        "The seeds that are best on some prompts, against all seeds on the prompts held out: paired by prompt, "
        "95 % interval over new prompts of the kind, these seeds."
    )
    yield Analysis("mine-seeds", summary, table, partial(_draw_gains, mined))
    yield _shown(tables, study, mined)


def split(prompts: pd.DataFrame, share: float) -> set[str]:
    """Return the prompts that are held out: a seeded draw; prompts of the same objects stay together."""
    objects = prompts["asked"].map(lambda asked: tuple(sorted(name for name, _ in asked)))
    groups = sorted(set(objects))
    order = np.random.default_rng(0).permutation(len(groups))
    out = {groups[i] for i in order[: round(share * len(groups))]}
    return set(prompts.index[objects.isin(out)])


def _tried(mined: Mined) -> dict[str, Any]:
    """Compare the chosen seeds with all of them, prompt by prompt."""
    every = mined.held_out.mean(axis=1)
    chosen = mined.held_out[mined.best].mean(axis=1)
    both = pd.DataFrame({"mined": chosen, "all": every}).dropna()
    found = paired_difference(both["mined"], both["all"], both.index, None, low=0, high=1)
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


def _draw_gains(mined: dict[str, Mined], axes: Any) -> None:
    """Each seed's score on either part, larger where several meet: without an effect, no direction."""
    for place, (model, one) in enumerate(mined.items()):
        x, y = one.chosen_by.mean(), one.held_out.mean()
        for mined_ones, marker, label in ((False, "o", model), (True, "*", f"{model}, mined")):
            own = x.index.isin(one.best) == mined_ones
            dots = pd.DataFrame({"x": x[own], "y": y[own]}).round(6).value_counts().reset_index()  # one on another
            size = (90 if mined_ones else 18) * dots["count"]
            axes.scatter(dots["x"], dots["y"], size, color=f"C{place}", marker=marker, alpha=0.7, label=label)
        axes.axhline(y.mean(), color=f"C{place}", linewidth=1, linestyle=":")
    axes.set_xlabel("tiam of a seed on the prompts that it was chosen by")
    axes.set_ylabel("on the prompts held out")
    axes.legend(fontsize=8)


SHOWN_SEEDS, SHOWN_PROMPTS = 2, 6


def _shown(tables: Tables, study: Study, mined: dict[str, Mined]) -> Analysis:
    """The best and the worst seeds on prompts that did not choose them, with images (Figures 10 and 11)."""
    lines, rows = [], []
    prompts: list[str] = []
    for model, one in mined.items():
        ranked = list(one.chosen_by.columns)
        ends = list(dict.fromkeys([*ranked[:SHOWN_SEEDS], *ranked[-SHOWN_SEEDS:]]))
        prompts = prompts or _spread(one.held_out.index)
        for seed in ends:
            lines.append(
                {
                    "model": model,
                    "seed": seed,
                    "rank": ranked.index(seed) + 1,
                    "chosen_by": float(one.chosen_by[seed].mean()),
                    "held_out": float(one.held_out[seed].mean()),
                }
            )
            name = f"seed {seed}, rank {ranked.index(seed) + 1}"
            files = [picture(study, model, prompt, seed) for prompt in prompts]
            rows.append((f"{model}\n{name}" if len(mined) > 1 else name, files))
    summary = "The best and the worst seeds of some prompts (chosen_by), and what they score on those held out."
    return Analysis("good and bad seeds", summary, pd.DataFrame(lines), partial(draw_pictures, rows, prompts))


def _spread(prompts: pd.Index) -> list[str]:
    """A few prompts from all over their list."""
    places = np.linspace(0, len(prompts) - 1, min(SHOWN_PROMPTS, len(prompts))).round().astype(int)
    return [str(prompts[place]) for place in places]
