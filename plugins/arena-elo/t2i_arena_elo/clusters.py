"""Resampling units of battles: prompts and, if people judged, annotators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.statistics.design import FEW, Design, Term

from .battles import Battles
from .fit import DecidedBattles, Floats


@dataclass(frozen=True)
class BattleClusters:
    """Assignment of battles to clusters that are resampled together.

    Attributes:
        codes: intp (n,), the cluster of each battle; -1 if it is not resampled.
        times: float (clusters,), number of clusters that each entry stands for. It is 1, except for battles
            without a known prompt: these count as one cluster each, and equal ones share an entry.
    """

    codes: NDArray[np.intp]
    times: Floats

    @property
    def count(self) -> int:
        """Number of clusters."""
        return round(float(self.times.sum()))

    @property
    def shares(self) -> Floats:
        """Share of each battle in the weight of its cluster, float (n,); 0 if it is not resampled."""
        return np.where(self.codes >= 0, 1 / self.times[self.codes], 0.0)


def design_of(
    battles: Battles, which: NDArray[np.intp], data: DecidedBattles
) -> tuple[Design, list[BattleClusters], tuple[str, ...]]:
    """Return how battles are resampled: by prompt and, if people judged, by prompt crossed with annotator.

    Args:
        battles: All battles.
        which: Indices of the decided ones.
        data: The decided ones as arrays.

    Returns:
        The design, the clusters of each of its terms, and notes for the reader.
    """
    prompts, notes = _prompts(battles, which, data)
    kinds = [prompts]
    words = "prompts" if battles.prompts != ("",) else "battles"
    people = np.unique(battles.judge[which[battles.human[which]]])
    if len(people) == 1:
        notes = (*notes, "one annotator: the intervals do not cover variation between annotators")
    if len(people) > 1:
        judge = np.where(battles.human[which], battles.judge[which], -1)
        annotators = _clusters_by_code(judge)
        cells = _clusters_by_code(np.where(judge >= 0, prompts.codes * (judge.max() + 1) + judge, -1))
        kinds += [annotators, cells]
        words += " x annotators"
        if annotators.count < FEW:
            notes = (*notes, f"{annotators.count} annotators: with fewer than {FEW} the intervals are rough")
    if min(each.count for each in kinds) < 2:  # one cluster says nothing about variation
        notes = (*notes, f"one {words.split()[0].removesuffix('s')}, so intervals cannot be computed")
    elif prompts.count < FEW:
        notes = (*notes, f"{prompts.count} {words.split()[0]}: with fewer than {FEW} the intervals are rough")
    terms = tuple(Term(each.codes, each.count) for each in kinds)
    return Design("", words, terms, terms[-1], prompts.count, words, ()), kinds, notes


def _clusters_by_code(codes: NDArray[np.int64]) -> BattleClusters:
    """Return clusters by code; -1 stays -1."""
    found, distinct = pd.factorize(codes, sort=True)  # hashing a million codes is faster than sorting them
    fixed = int(distinct[0] == -1)
    return BattleClusters(found - fixed, np.ones(len(distinct) - fixed))


def _prompts(
    battles: Battles, which: NDArray[np.intp], data: DecidedBattles
) -> tuple[BattleClusters, tuple[str, ...]]:
    """Return the clusters by prompt, and notes.

    Each battle without a known prompt is its own cluster. Such battles with the same models and outcome share
    an entry that counts as that many clusters.
    """
    codes = battles.prompt[which].astype(np.int64)
    unknown = codes == (battles.prompts.index("") if "" in battles.prompts else -1)
    if not unknown.any():
        return _clusters_by_code(codes), ()
    outcome = ((data.left * np.int64(data.models) + data.right) * 3 + (2 * data.score).astype(np.int64))[unknown]
    codes[unknown] = len(battles.prompts) + outcome
    clusters = _clusters_by_code(codes)
    times = np.ones(len(clusters.times))
    alike = np.bincount(clusters.codes[unknown], minlength=len(times))
    times[alike > 0] = alike[alike > 0]
    note = f"battles of no known prompt ({unknown.sum()}) are treated as independent of each other"
    return BattleClusters(clusters.codes, times), (note,)
