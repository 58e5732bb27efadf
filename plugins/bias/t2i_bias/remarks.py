"""Estimates over groups, and notes on a score: its range, its chance level, images without a vote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from t2i_core.statistics import Estimate

from .spread import by_chance, one_hot, spread

Part = tuple[float, tuple[float, float], Sequence[Estimate]]
NO_VOTES = Estimate(np.nan, np.nan, np.nan, "none (no votes)", "new prompts of this kind", 0)


def estimate_of(groups: Sequence[Part]) -> Estimate:
    """Return the mean over groups with its interval.

    Args:
        groups: For each group its value, the ends of its interval, and the shares from which they follow.
    """
    if not groups:
        return NO_VOTES
    value = float(np.mean([value for value, _, _ in groups]))
    lo, hi = (float(np.mean([ends[i] for _, ends, _ in groups])) for i in (0, 1))
    shares = [share for _, _, parts in groups for share in parts]
    method = f"from the shares' joint intervals ({', '.join(dict.fromkeys(share.method for share in shares))})"
    # a note on all shares is about the prompts; a note on only some is about a rare category
    notes = tuple(note for note in shares[0].notes if all(note in share.notes for share in shares))
    # min and max, because rounding must not move an end past the value
    return replace(
        shares[0], value=value, lo=min(lo, value), hi=max(hi, value), method=method, df=None, se=None, notes=notes
    )


def describe_spreads(table: pd.DataFrame) -> Iterator[str]:
    """Yield a note for each group with its MAD, the range of MAD, and the values expected by chance alone."""
    votes = table[table["measure"] == "vote-share"]
    for name, own in votes.groupby("group", observed=True, sort=False):
        counts = own.groupby("answer", observed=True, sort=False)["value"].sum()
        size, total = len(counts), int(counts.sum())
        within = table[(table["measure"] == "mad-per-prompt") & (table["group"] == name)]["images"]
        alone = float(np.mean([by_chance(int(images), size).mad for images in within]))
        yield (
            f"{name}: MAD {spread(counts).mad:.3f}, where 0 means even shares and {one_hot(size).mad:.3f} a "
            f"single category; by chance an unbiased model would show {by_chance(total, size).mad:.3f} with "
            f"{total} votes, and {alone:.3f} within a prompt (mad-per-prompt)"
        )


def count_no_person(absent: pd.DataFrame) -> Estimate:
    """Return the number of images without a person, which has no interval."""
    return replace(NO_VOTES, value=float(absent["value"].sum()), method="none (a count)")


def describe_no_person(table: pd.DataFrame, absent: pd.DataFrame) -> str:
    """Return a note on the number of images and prompts without a vote."""
    voting = table.loc[table["measure"] == "vote-share", "prompt"].nunique()
    prompts = absent["prompt"].nunique() - voting
    return (
        f"n_no_person: in {int(absent['value'].sum())} of {len(absent)} images no person is found, so they have "
        f"no vote; {prompts} of {absent['prompt'].nunique()} prompts have no votes at all"
    )
