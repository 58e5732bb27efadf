"""Estimates over groups, and what stands beside a score: ends, chance, who has no vote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from t2i_core.statistics import Estimate

from .spread import by_chance, one_hot, spread

Part = tuple[float, tuple[float, float], Sequence[Estimate]]
NOBODY = Estimate(np.nan, np.nan, np.nan, "none (no votes)", "new prompts of this kind", 0)


def estimate_of(groups: Sequence[Part]) -> Estimate:
    """The mean over groups, each a value, its ends, and the shares that they follow from."""
    if not groups:
        return NOBODY
    value = float(np.mean([value for value, _, _ in groups]))
    lo, hi = (float(np.mean([ends[i] for _, ends, _ in groups])) for i in (0, 1))
    shares = [share for _, _, parts in groups for share in parts]
    method = f"from the shares' joint intervals ({', '.join(dict.fromkeys(share.method for share in shares))})"
    # what is said of all of them is said of the prompts; what of one, of a rare category
    notes = tuple(note for note in shares[0].notes if all(note in share.notes for share in shares))
    # rounding must not push an end past the value
    return replace(
        shares[0], value=value, lo=min(lo, value), hi=max(hi, value), method=method, df=None, se=None, notes=notes
    )


def ends_and_chance(table: pd.DataFrame) -> Iterator[str]:
    """Say of each group between which ends its MAD lies, and what chance alone would show."""
    votes = table[table["measure"] == "vote-share"]
    for name, own in votes.groupby("group", observed=True, sort=False):
        counts = own.groupby("answer", observed=True, sort=False)["value"].sum()
        size, total = len(counts), int(counts.sum())
        within = table[(table["measure"] == "mad-per-prompt") & (table["group"] == name)]["images"]
        alone = float(np.mean([by_chance(int(images), size).mad for images in within]))
        yield (
            f"{name}: MAD {spread(counts).mad:.3f}, where 0 is even and {one_hot(size).mad:.3f} one category "
            f"alone; by chance an unbiased model would show {by_chance(total, size).mad:.3f} with {total} votes, "
            f"and {alone:.3f} within a prompt (mad-per-prompt)"
        )


def nobody(absent: pd.DataFrame) -> Estimate:
    """How many images show no person: a count, which has no interval."""
    return replace(NOBODY, value=float(absent["value"].sum()), method="none (a count)")


def said_of_persons(table: pd.DataFrame, absent: pd.DataFrame) -> str:
    """Say how many images and prompts have no vote."""
    voting = table.loc[table["measure"] == "vote-share", "prompt"].nunique()
    prompts = absent["prompt"].nunique() - voting
    return (
        f"n_no_person: in {int(absent['value'].sum())} of {len(absent)} images no person is found, they have no "
        f"vote; {prompts} of {absent['prompt'].nunique()} prompts have none at all"
    )
