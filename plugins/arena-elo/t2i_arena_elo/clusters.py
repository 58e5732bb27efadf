"""What is resampled: prompts, and where people judged, they too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.statistics.design import FEW, Design, Term

from .battles import Battles
from .fit import Floats, Fought


@dataclass(frozen=True)
class BattleClusters:
    """How battles are resampled together.

    codes:  intp (n,), each battle's cluster; -1: not resampled
    times:  float (clusters,), how many clusters of one battle each stands for, where that is all that is known
    """

    codes: NDArray[np.intp]
    times: Floats

    @property
    def count(self) -> int:
        """How many clusters there are."""
        return round(float(self.times.sum()))

    @property
    def shares(self) -> Floats:
        """What part of its cluster's weight each battle has; 0 where it is not resampled."""
        return np.where(self.codes >= 0, 1 / self.times[self.codes], 0.0)


def design_of(
    battles: Battles, which: NDArray[np.intp], data: Fought
) -> tuple[Design, list[BattleClusters], tuple[str, ...]]:
    """What is resampled: prompts, and where people judged, annotators crossed with them."""
    prompts, notes = _prompts(battles, which, data)
    kinds = [prompts]
    words = "prompts" if battles.prompts != ("",) else "battles"
    people = np.unique(battles.judge[which[battles.human[which]]])
    if len(people) == 1:
        notes = (*notes, "one annotator: what another would have said is not in the intervals")
    if len(people) > 1:
        judge = np.where(battles.human[which], battles.judge[which], -1)
        annotators = _numbered(judge)
        cells = _numbered(np.where(judge >= 0, prompts.codes * (judge.max() + 1) + judge, -1))
        kinds += [annotators, cells]
        words += " x annotators"
        if annotators.count < FEW:
            notes = (*notes, f"{annotators.count} annotators: with fewer than {FEW} the intervals are rough")
    if min(each.count for each in kinds) < 2:  # one says nothing of others
        notes = (*notes, f"one {words.split()[0].removesuffix('s')}: there are no intervals")
    elif prompts.count < FEW:
        notes = (*notes, f"{prompts.count} {words.split()[0]}: with fewer than {FEW} the intervals are rough")
    terms = tuple(Term(each.codes, each.count) for each in kinds)
    return Design("", words, terms, terms[-1], prompts.count, words, ()), kinds, notes


def _numbered(codes: NDArray[np.int64]) -> BattleClusters:
    """Clusters by code; -1 stays."""
    found, distinct = pd.factorize(codes, sort=True)  # a table of hashes: sorting a million codes takes longer
    fixed = int(distinct[0] == -1)
    return BattleClusters(found - fixed, np.ones(len(distinct) - fixed))


def _prompts(battles: Battles, which: NDArray[np.intp], data: Fought) -> tuple[BattleClusters, tuple[str, ...]]:
    """Battles of one prompt together; those of no known prompt by outcome, each counted as its own."""
    codes = battles.prompt[which].astype(np.int64)
    unknown = codes == (battles.prompts.index("") if "" in battles.prompts else -1)
    if not unknown.any():
        return _numbered(codes), ()
    outcome = ((data.left * np.int64(data.models) + data.right) * 3 + (2 * data.score).astype(np.int64))[unknown]
    codes[unknown] = len(battles.prompts) + outcome
    clusters = _numbered(codes)
    times = np.ones(len(clusters.times))
    alike = np.bincount(clusters.codes[unknown], minlength=len(times))
    times[alike > 0] = alike[alike > 0]
    note = f"battles of no known prompt ({unknown.sum()}) are taken for independent of each other"
    return BattleClusters(clusters.codes, times), (note,)
