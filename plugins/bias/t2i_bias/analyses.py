"""Tables and figures of votes: shares by category of prompts, spreads, one-sided prompts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd
from t2i_core.api.study import Analysis, Study
from t2i_core.statistics import Estimate, mean_interval

from .charts import plot_shares, plot_spreads
from .options import BiasOptions
from .shares import LEVEL, Shares, estimate_shares
from .spread import VoteSpread, by_chance, mad_range, one_hot, spread

OF = {"votes": "vote-share", "images": "image-share"}
"""The measure of the shares of votes, and that of the shares of images."""
ALL = "all"
"""Stands for all categories of prompts."""


def analyse(study: Study, options: BiasOptions) -> Iterator[Analysis]:
    """Yield the analyses of votes and images, and of people's answers if the options name a file of them.

    Raises:
        BadOption: The file of people's answers is not valid, or does not fit the run.
    """
    table = study.table
    if not table["measure"].isin(OF.values()).any():
        return
    for of, measure in OF.items():
        found = list(_by_category(study, measure, together=False))
        for group in dict.fromkeys(shares.group for _, _, shares, _ in found):
            yield _shares(of, group, [line for line in found if line[2].group == group])
    yield _spreads({of: list(_by_category(study, measure, together=True)) for of, measure in OF.items()}, table)
    yield _list_ends(table)
    yield _one_sided(table)
    if options.people is not None:
        from .people_comparison import compare_with_people

        yield from compare_with_people(study, options, options.people)


Line = tuple[str, str, Shares, int]
"""Model, category of prompts, shares of a group, number of votes or images."""


def _by_category(study: Study, measure: str, together: bool) -> Iterator[Line]:
    """Yield the shares over all prompts and over each category of prompts, for each model."""
    rows = study.table[study.table["measure"] == measure]
    for model, own in rows.groupby("model", observed=True, sort=False):
        parts: list[tuple[object, pd.DataFrame]] = [(ALL, own)]
        if "category" in own:
            parts += own.groupby("category", observed=True, sort=False)
        for category, part in parts:
            for shares in estimate_shares(part, measure, partial(_mean, study), together):
                of_group = part[part["group"] == shares.group]
                yield str(model), str(category), shares, len(of_group) // shares.size


def _mean(study: Study, rows: pd.DataFrame, level: float = LEVEL) -> Estimate:
    """Return a share with its interval over prompts within categories, and over seeds for shares of images."""
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
    """Return the shares of one group's categories.

    References:
        DALL-Eval, Figures 6 and 7.
    """
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
    summary = f"Shares of {of} by {group} with 95 % intervals, for all prompts and for each category of prompts."
    even = 1 / table["answer"].nunique()
    return Analysis(f"{group} {of}", summary, table, plot_shares(table, f"share of {of}", even))


def _spreads(lines: dict[str, list[Line]], table: pd.DataFrame) -> Analysis:
    """Return STD and MAD, with the values expected by chance alone.

    References:
        DALL-Eval, Table 8.
    """
    rows = [
        {"model": model, "group": shares.group, "category": category, "of": of, "n": total}
        | _spread_columns(shares, total, of == "votes")
        | _prompt_columns(table, model, shares, category)
        for of, found in lines.items()
        for model, category, shares, total in _sort_by_group(found)
    ]
    spreads = pd.DataFrame(rows)
    summary = (
        "STD and MAD (1/N, and 1/(N-1) as the paper's tables print it): 0 if shares are even, end if one category "
        "has all, chance as expected of an unbiased model with that many votes."
    )
    return Analysis("spread", summary, spreads, plot_spreads(spreads))


def _sort_by_group(lines: list[Line]) -> list[Line]:
    """Sort lines by model, then by group."""
    models, groups = (
        [*dict.fromkeys(names)] for names in ([m for m, *_ in lines], [s.group for _, _, s, _ in lines])
    )
    return sorted(lines, key=lambda line: (models.index(line[0]), groups.index(line[2].group)))


def _spread_columns(shares: Shares, total: int, votes: bool) -> dict[str, Any]:
    """Return STD and MAD with their upper ends and chance levels.

    Chance levels exist only for votes, because images of one prompt are not independent.
    """
    own, end = spread(shares.values), one_hot(shares.size)
    chance = by_chance(total, shares.size) if votes else VoteSpread(float("nan"), float("nan"), shares.size)
    low, high = mad_range(shares.lo, shares.hi)
    return {
        "std": own.std, "std end": end.std, "std chance": chance.std,
        "mad": own.mad, "mad low": low, "mad high": high, "mad end": end.mad, "mad chance": chance.mad,
        "mad-n-1": own.printed, "mad-n-1 end": end.printed, "mad-n-1 chance": chance.printed,
    }  # fmt: skip


def _prompt_columns(table: pd.DataFrame, model: str, shares: Shares, category: str) -> dict[str, float]:
    """Return the mean over prompts of the MAD within each prompt, and its chance level."""
    own = table[
        (table["measure"] == "mad-per-prompt") & (table["model"] == model) & (table["group"] == shares.group)
    ]
    if category != ALL:
        own = own[own["category"] == category]
    chance = own["images"].map(lambda images: by_chance(int(images), shares.size).mad)
    return {"mad-per-prompt": float(own["value"].mean()), "mad-per-prompt chance": float(chance.mean())}


def _list_ends(table: pd.DataFrame) -> Analysis:
    """Return STD and MAD at both ends of their scales: even shares, and one category alone.

    References:
        DALL-Eval, the first and last rows of Tables 8 and 9.
    """
    rows = table[table["measure"] == OF["votes"]]
    lines = []
    for group, answers in rows.groupby("group", observed=True, sort=False)["answer"].nunique().items():
        for end, found in (("uniform", VoteSpread(0.0, 0.0, answers)), ("one-hot", one_hot(answers))):
            lines.append(
                {"group": group, "end": end, "std": found.std, "mad": found.mad, "mad-n-1": found.printed}
            )
    summary = "STD and MAD if shares are even (uniform), and if one category has all votes (one-hot)."
    return Analysis("ends", summary, pd.DataFrame(lines))


def _one_sided(table: pd.DataFrame) -> Analysis:
    """Return the prompts whose images all have the same nearest category."""
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
    summary = "Prompts whose images are all nearest to the same category."
    return Analysis("one-sided", summary, pd.DataFrame(found))
