"""What is resampled: prompts, seeds, or both crossed; and the variance of an estimate that follows.

Crossed, V = V_prompt + V_seed - V_image, each term the usual one-way estimate, not below V_prompt and V_seed
(A. B. Owen, The pigeonhole bootstrap, 2007; A. C. Cameron, J. B. Gelbach and D. L. Miller, Robust inference
with multiway clustering, 2011). Degrees of freedom after F. E. Satterthwaite, An approximate distribution of
estimates of variance components (1946), at least those of the smaller number of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Question = Literal["new", "prompts", "seeds"]

QUESTIONS = {
    "new": "new prompts of this kind and new seeds",
    "prompts": "new prompts of this kind, these seeds",
    "seeds": "these prompts, new seeds",
}
ONE_PROMPT = "one prompt: prompt variation is not in the interval"
ONE_SEED = "one seed: seed variation is not in the interval"
FEW = 10  # under so many clusters an interval is called rough

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """One way of clustering the rows: ``codes`` per row, in 0..groups-1 (some may be unused).

    ``stratum`` gives each group's stratum, in 0..max; clusters are compared within their stratum only.
    ``groups`` counts the clusters that occur.
    """

    codes: Codes
    groups: int
    stratum: Codes | None = None

    @property
    def df(self) -> int:
        """Clusters less strata."""
        return self.groups - (1 if self.stratum is None else int(self.stratum.max()) + 1)

    def variance(self, influence: Floats) -> float:
        """Estimate the variance of an estimate whose rows have these influences (they sum to zero)."""
        # sums of squares, not dot products: BLAS starts threads for those, which wait on a busy machine
        total = np.bincount(self.codes, influence)
        if self.stratum is None:
            return float(np.square(total).sum()) * self.groups / (self.groups - 1)
        size = np.bincount(self.stratum)
        centred = total - (np.bincount(self.stratum, total) / size)[self.stratum]
        return float((np.square(centred) * (size / (size - 1))[self.stratum]).sum())


@dataclass(frozen=True)
class Design:
    """How the rows are clustered for one question.

    ``terms`` holds one term, or three (prompts, seeds, cells) where prompts and seeds are crossed, or none
    where there is a single cluster. ``cells`` clusters by (prompt, seed). ``trials`` and ``trial_name`` say
    what counts as one trial where the data do not vary.
    """

    question: str
    clusters: str
    terms: tuple[Term, ...]
    cells: Term
    trials: int
    trial_name: str
    notes: tuple[str, ...] = ()

    @property
    def crossed(self) -> bool:
        """Whether prompts and seeds both vary, crossed."""
        return len(self.terms) == 3

    @property
    def n_clusters(self) -> int:
        """Clusters that the interval rests on; the smaller number where two kinds are crossed."""
        return min(term.groups for term in self.terms[:2]) if self.terms else 1

    def combine(self, variances: Sequence[float]) -> tuple[float, float]:
        """Combine the terms' variances into the estimate's variance and its degrees of freedom."""
        if not self.crossed:
            return variances[0], float(self.terms[0].df)
        prompt, seed, cell = variances
        variance = max(prompt + seed - cell, prompt, seed)
        floor = float(min(term.df for term in self.terms[:2]))
        spread = sum(v**2 / term.df for v, term in zip(variances, self.terms, strict=True))
        return variance, max(variance**2 / spread, floor) if spread > 0 else floor

    def variance(self, influence: Floats) -> tuple[float, float]:
        """Estimate variance and degrees of freedom of an estimate from its rows' influences.

        Where all clusters agree by accident and their images do not, the variance is that over images; it is
        0 only where no two cells differ.
        """
        variance, df = self.combine([term.variance(influence) for term in self.terms])
        rounding = 1e-24 * float(np.square(influence).sum())
        if variance <= rounding:
            variance = self.cells.variance(influence)
        return (variance if variance > rounding else 0.0), df


def encode_levels(labels: ArrayLike, name: str, n: int) -> tuple[Codes, int]:
    """Number the distinct labels from 0; returns the code of each row and how many there are.

    Raises ValueError where labels are missing or their number is not ``n``.
    """
    array = np.asarray(labels)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one label for each of {n} rows, got shape {array.shape}")
    codes, distinct = pd.factorize(array)
    if (codes < 0).any():
        raise ValueError(f"{name} has missing labels")
    return codes.astype(np.intp, copy=False), len(distinct)


def _cells(prompt: Codes, n_prompts: int, seed: Codes, n_seeds: int) -> Term:
    codes = prompt * n_seeds + seed
    if n_prompts * n_seeds <= 8 * len(prompt):
        return Term(codes, int(np.count_nonzero(np.bincount(codes))))
    codes, distinct = pd.factorize(codes)
    return Term(codes.astype(np.intp, copy=False), len(distinct))


def _group_strata(term: Term, row_stratum: Codes, name: str) -> Term:
    """Give a term's groups the strata of their rows.

    A stratum with one group shows no variation: such strata are put together; if there is only one, it joins
    the smallest of the others (all of them, where several are as small: order must not matter).
    """
    codes, distinct = pd.factorize(term.codes)
    codes = codes.astype(np.intp, copy=False)
    stratum = np.zeros(len(distinct), dtype=np.intp)
    stratum[codes] = row_stratum
    if (stratum[codes] != row_stratum).any():
        raise ValueError(f"a {name} lies in more than one stratum")
    size = np.bincount(stratum)
    alone = size == 1
    if alone.sum() == 1 and len(size) > 1:
        alone |= size == size[~alone].min()
    stratum[alone[stratum]] = len(size)
    stratum = pd.factorize(stratum)[0].astype(np.intp, copy=False)
    return Term(codes, len(distinct), stratum if stratum.max() > 0 else None)


def _few(count: int, name: str) -> tuple[str, ...]:
    return (f"{count} {name}: with fewer than {FEW} the interval is rough",) if count < FEW else ()


def make_design(
    prompt: ArrayLike,
    seed: ArrayLike | None,
    n: int,
    *,
    interval: Question,
    crossed: bool,
    strata: ArrayLike | None = None,
) -> Design:
    """Work out what is resampled for a question; arguments as for :func:`t2i_core.statistics.mean_interval`.

    Raises ValueError for labels of the wrong shape, missing labels, an unknown question, no rows, or a prompt
    in two strata.
    """
    if interval not in get_args(Question):
        raise ValueError(f"interval must be one of {', '.join(get_args(Question))}, got {interval!r}")
    if n == 0:
        raise ValueError("no rows: nothing to estimate")
    p_codes, n_prompts = encode_levels(prompt, "prompt", n)
    prompts = Term(p_codes, n_prompts)
    s_codes, n_seeds = encode_levels(np.arange(n) if seed is None else seed, "seed", n)
    cells = _cells(p_codes, n_prompts, s_codes, n_seeds)
    stratified = ""
    if strata is not None:
        row_stratum, n_strata = encode_levels(strata, "strata", n)
        if n_strata > 1:
            prompts, stratified = _group_strata(prompts, row_stratum, "prompt"), ", stratified"
    over_prompts = Design(
        QUESTIONS["new"],
        "prompts" + stratified,
        (prompts,),
        cells,
        n_prompts,
        "prompts",
        _few(n_prompts, "prompts"),
    )
    if seed is None or not crossed:
        return _nested(over_prompts, p_codes, interval, seed_known=seed is not None)

    seeds = Term(s_codes, n_seeds)
    over_seeds = Design(QUESTIONS["seeds"], "seeds", (seeds,), cells, n_seeds, "seeds", _few(n_seeds, "seeds"))
    over_prompts = replace(over_prompts, question=QUESTIONS["prompts"])
    if n_prompts == n_seeds == 1:
        note = "one prompt and one seed: no interval can be formed"
        return replace(over_prompts, terms=(), question=QUESTIONS[interval], notes=(note,))
    if interval == "prompts" and n_prompts == 1:
        return replace(over_prompts, terms=(), notes=("one prompt: no interval can be formed",))
    if interval == "seeds" and n_seeds == 1:
        return replace(over_seeds, terms=(), notes=("one seed: no interval can be formed",))
    if interval == "prompts":
        return over_prompts
    if interval == "seeds":
        return over_seeds
    if n_seeds == 1:
        return replace(over_prompts, notes=(*over_prompts.notes, ONE_SEED))
    if n_prompts == 1:
        return replace(over_seeds, notes=(*over_seeds.notes, ONE_PROMPT))
    if stratified:
        cells = _group_strata(cells, row_stratum, "cell")
    return replace(
        over_prompts,
        question=QUESTIONS["new"],
        clusters=f"prompts x seeds{stratified}",
        terms=(prompts, seeds, cells),
        notes=(*over_prompts.notes, *over_seeds.notes),
    )


def _nested(over_prompts: Design, prompt: Codes, interval: Question, *, seed_known: bool) -> Design:
    """Choose the design where each prompt has seeds of its own, or where there are none."""
    if interval == "seeds" and seed_known:
        cells = _group_strata(over_prompts.cells, prompt, "cell")
        design = replace(
            over_prompts,
            question=QUESTIONS["seeds"],
            clusters="images within prompts",
            terms=(cells,),
            notes=(),
        )
        if cells.df < 1:
            return replace(design, terms=(), notes=("one image: no interval can be formed",))
        if cells.groups < 2 * over_prompts.trials:
            note = "prompts with one image: their prompt and seed variation cannot be told apart"
            return replace(design, notes=(note,))
        return design
    notes = over_prompts.notes
    if not seed_known and interval == "seeds":
        notes = (*notes, "seeds are not known: prompts cannot be held fixed")
    if seed_known and interval == "prompts":
        notes = (*notes, "seeds are not shared between prompts: they cannot be held fixed")
    question = QUESTIONS["new"] if seed_known else "new prompts of this kind"
    if over_prompts.trials == 1:
        return replace(over_prompts, question=question, terms=(), notes=("one prompt: no interval can be formed",))
    return replace(over_prompts, question=question, notes=notes)
