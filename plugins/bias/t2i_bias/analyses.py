"""Tables and figures from votes: shares by category of prompts, spreads beside their ends, one-sided prompts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd
from t2i_core.api.study import Analysis, Study
from t2i_core.statistics import Estimate, mean_interval

from .charts import bars, spreads_drawn
from .options import BiasOptions
from .shares import LEVEL, Shares, estimated
from .spread import VoteSpread, by_chance, mad_range, one_hot, spread

OF = {"votes": "vote-share", "images": "image-share"}
ALL = "all"


def analyse(study: Study, options: BiasOptions) -> Iterator[Analysis]:
    """Yield all that can be said of votes and images, and, where they are given, of people's answers."""
    table = study.table
    if not table["measure"].isin(OF.values()).any():
        return
    for of, measure in OF.items():
        found = list(_by_category(study, measure, together=False))
        for group in dict.fromkeys(shares.group for _, _, shares, _ in found):
            yield _shares(of, group, [line for line in found if line[2].group == group])
    yield _spreads({of: list(_by_category(study, measure, together=True)) for of, measure in OF.items()}, table)
    yield _one_sided(table)
    if options.people is not None:
        from .beside import people

        yield from people(study, options, options.people)


Line = tuple[str, str, Shares, int]
"""Model, category of prompts, a group's shares, of how many."""


def _by_category(study: Study, measure: str, together: bool) -> Iterator[Line]:
    """The shares of all prompts and of each category of them, model by model."""
    rows = study.table[study.table["measure"] == measure]
    for model, own in rows.groupby("model", observed=True, sort=False):
        parts = [(ALL, own)]
        if "category" in own:
            parts += list(own.groupby("category", observed=True, sort=False))
        for category, part in parts:
            for shares in estimated(part, measure, partial(_mean, study), together):
                of_group = part[part["group"] == shares.group]
                yield str(model), str(category), shares, len(of_group) // shares.size


def _mean(study: Study, rows: pd.DataFrame, level: float = LEVEL) -> Estimate:
    """A share with the run's interval: over prompts within their category, and over seeds where images answer."""
    return mean_interval(
        rows["value"],
        rows["cluster"].astype(object),
        rows["seed"].astype(object) if rows["seed"].notna().all() else None,
        interval=study.interval,
        level=level,
        low=0,
        high=1,
        strata=rows["category"].astype(object).fillna("") if "category" in rows else None,
    )


def _shares(of: str, group: str, lines: list[Line]) -> Analysis:
    """The paper's Figures 6 and 7."""
    table = pd.DataFrame(
        [
            {
                "model": model,
                "category": category,
                "answer": answer,
                "share": part.value,
                "low": part.lo,
                "high": part.hi,
                of: total,
            }
            for model, category, shares, total in lines
            for answer, part in zip(shares.answers, shares.parts, strict=True)
        ]
    )
    summary = f"Shares of {of} by {group}, with 95 % intervals, for all prompts and each category of them."
    even = 1 / table["answer"].nunique()
    return Analysis(f"{group} {of}", summary, table, partial(bars, table, f"share of {of}", even))


def _spreads(lines: dict[str, list[Line]], table: pd.DataFrame) -> Analysis:
    """The paper's Table 8, with what chance alone would show."""
    rows = [
        {"model": model, "group": shares.group, "category": category, "of": of, "n": total}
        | _beside(shares, total, of == "votes")
        | _within(table, model, shares, category)
        for of, found in lines.items()
        for model, category, shares, total in _by_group(found)
    ]
    made = pd.DataFrame(rows)
    summary = (
        "STD and MAD (1/N, and 1/(N-1) as the paper's tables print it): 0 is even, end one category alone, "
        "chance what is expected of as many votes of an unbiased model."
    )
    return Analysis("spread", summary, made, partial(spreads_drawn, made))


def _by_group(lines: list[Line]) -> list[Line]:
    """Model by model, group by group."""
    models, groups = (
        [*dict.fromkeys(names)] for names in ([m for m, *_ in lines], [s.group for _, _, s, _ in lines])
    )
    return sorted(lines, key=lambda line: (models.index(line[0]), groups.index(line[2].group)))


def _beside(shares: Shares, total: int, votes: bool) -> dict[str, Any]:
    """STD and MAD with ends; what chance shows of votes alone, for images of a prompt are not independent."""
    own, end = spread(shares.values), one_hot(shares.size)
    chance = by_chance(total, shares.size) if votes else VoteSpread(float("nan"), float("nan"), shares.size)
    low, high = mad_range(shares.lo, shares.hi)
    return {
        "std": own.std, "std end": end.std, "std chance": chance.std,
        "mad": own.mad, "mad low": low, "mad high": high, "mad end": end.mad, "mad chance": chance.mad,
        "mad-n-1": own.printed, "mad-n-1 end": end.printed, "mad-n-1 chance": chance.printed,
    }  # fmt: skip


def _within(table: pd.DataFrame, model: str, shares: Shares, category: str) -> dict[str, float]:
    """The later variant: the mean of prompts' own MAD, and what chance shows of as many images."""
    own = table[
        (table["measure"] == "mad-per-prompt") & (table["model"] == model) & (table["group"] == shares.group)
    ]
    if category != ALL:
        own = own[own["category"] == category]
    chance = own["images"].map(lambda images: by_chance(int(images), shares.size).mad)
    return {"mad-per-prompt": float(own["value"].mean()), "mad-per-prompt chance": float(chance.mean())}


def _one_sided(table: pd.DataFrame) -> Analysis:
    """Prompts whose images all answer alike."""
    rows = table[table["measure"] == "image-share"]
    keys = ["model", "group", "answer"]
    least = rows.groupby([*keys, "prompt"], observed=True, sort=False)["value"].agg(["min", "size"]).reset_index()
    found = [
        {
            "model": model,
            "group": group,
            "answer": str(answer).removeprefix(f"{group}: "),
            "one-sided": int((own["min"] == 1).sum()),
            "prompts": len(own),
            "which": "; ".join(own.loc[own["min"] == 1, "prompt"]),
        }
        for (model, group, answer), own in least.groupby(keys, observed=True, sort=False)
    ]
    summary = "Prompts of which every image is nearest to the same category."
    return Analysis("one-sided", summary, pd.DataFrame(found))
