"""Resampling designs: prompts, seeds, or both crossed; and the variance of an estimate under each.

Crossed, V = V_prompt + V_seed - V_image, each term the usual one-way estimate, but at least V_prompt and V_seed.
Degrees of freedom follow Satterthwaite, but are at least those of the smaller number of clusters.

References:
    A. B. Owen, The pigeonhole bootstrap (2007).
    A. C. Cameron, J. B. Gelbach and D. L. Miller, Robust inference with multiway clustering (2011).
    F. E. Satterthwaite, An approximate distribution of estimates of variance components (1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Question = Literal["new", "prompts", "seeds"]
Crossing = bool | Literal["annotators"]
"""True if prompts share their seeds; `annotators`: the labels of seeds are those of the people who answered."""

QUESTIONS = {
    "new": "new prompts of this kind and new seeds",
    "prompts": "new prompts of this kind, these seeds",
    "seeds": "these prompts, new seeds",
}
ONE_PROMPT = "one prompt: prompt variation is not in the interval"
ONE_SEED = "one seed: seed variation is not in the interval"
ONE_ANNOTATOR = ONE_SEED.replace("seed", "annotator")
FEW = 10  # with fewer clusters an interval is called rough

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """One way of clustering the rows.

    Attributes:
        codes: The cluster of each row, in 0..max; some codes may be unused. Shape (n,).
        groups: Number of clusters that occur.
        stratum: The stratum of each cluster, in 0..max. Clusters are compared only within their stratum.
    """

    codes: Codes
    groups: int
    stratum: Codes | None = None

    @property
    def df(self) -> int:
        """Degrees of freedom: number of clusters minus number of strata."""
        return self.groups - (1 if self.stratum is None else int(self.stratum.max()) + 1)

    def variance(self, influence: Floats) -> float:
        """Return the variance of an estimate over these clusters.

        Args:
            influence: The influence of each row on the estimate, shape (n,); they sum to zero.
        """
        # sums of squares, not dot products: BLAS starts threads for those, which wait on a busy machine
        total = np.bincount(self.codes, influence)
        if self.stratum is None:
            return float(np.square(total).sum()) * self.groups / (self.groups - 1)
        size = np.bincount(self.stratum)
        centred = total - (np.bincount(self.stratum, total) / size)[self.stratum]
        return float((np.square(centred) * (size / (size - 1))[self.stratum]).sum())


@dataclass(frozen=True)
class TermVariance:
    """Variance of an estimate over one kind of cluster.

    Attributes:
        variance: The one-way variance of the estimate, in its squared unit.
        groups: Number of clusters.
    """

    variance: float
    groups: int


@dataclass(frozen=True)
class Design:
    """Clusters of rows for one question.

    Attributes:
        question: The question that the interval answers, in words.
        clusters: Name of the clusters, for the method of the interval.
        terms: One term; three (prompts, seeds, cells) if prompts and seeds are crossed; none for a single cluster.
        cells: The rows clustered by (prompt, seed).
        trials: Number of trials, if the data do not vary.
        trial_name: The unit of those trials: prompts or seeds.
        notes: Notes for the reader.
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
        """True if prompts and seeds both vary, crossed."""
        return len(self.terms) == 3

    @property
    def n_clusters(self) -> int:
        """Number of clusters that the interval rests on: the smaller one if two kinds are crossed."""
        return min(term.groups for term in self.terms[:2]) if self.terms else 1

    def split(self, influence: Floats) -> tuple[TermVariance, ...]:
        """Return the variance of an estimate over each kind of cluster, from the influence of each row."""
        return self.name_variances([term.variance(influence) for term in self.terms])

    def name_variances(self, variances: Sequence[float]) -> tuple[TermVariance, ...]:
        """Return the terms' variances with their numbers of clusters."""
        return tuple(
            TermVariance(variance, term.groups) for variance, term in zip(variances, self.terms, strict=True)
        )

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
        """Return the variance and degrees of freedom of an estimate.

        If all clusters agree by accident but their images differ, the variance is that over images. It is 0 only
        if no two cells differ.

        Args:
            influence: The influence of each row on the estimate, shape (n,); they sum to zero.
        """
        variance, df = self.combine([term.variance(influence) for term in self.terms])
        rounding = 1e-24 * float(np.square(influence).sum())
        if variance <= rounding:
            variance = self.cells.variance(influence)
        return (variance if variance > rounding else 0.0), df


def encode_levels(labels: ArrayLike, name: str, n: int) -> tuple[Codes, int]:
    """Number the distinct labels from 0.

    Args:
        labels: One label of any hashable kind for each row, shape (n,).
        name: Name of the labels, for messages.
        n: Number of rows.

    Returns:
        The code of each row, and the number of distinct labels.

    Raises:
        ValueError: If labels are missing, or their number is not `n`.
    """
    array = np.asarray(labels)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one label for each of {n} rows, got shape {array.shape}")
    codes, distinct = pd.factorize(array)
    if (codes < 0).any():
        raise ValueError(f"{name} has missing labels")
    return codes.astype(np.intp, copy=False), len(distinct)


def _make_cells(prompt: Codes, n_prompts: int, seed: Codes, n_seeds: int) -> Term:
    codes = prompt * n_seeds + seed
    if n_prompts * n_seeds <= 8 * len(prompt):
        return Term(codes, int(np.count_nonzero(np.bincount(codes))))
    codes, distinct = pd.factorize(codes)
    return Term(codes.astype(np.intp, copy=False), len(distinct))


def _group_strata(term: Term, row_stratum: Codes, name: str) -> Term:
    """Assign each cluster the stratum of its rows.

    A stratum with one cluster shows no variation. Several such strata are merged; a single one joins the smallest
    of the others (all that are equally small, so that their order does not matter).
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


def _note_few(count: int, name: str) -> tuple[str, ...]:
    return (f"{count} {name}: with fewer than {FEW} the interval is rough",) if count < FEW else ()


def make_design(
    prompt: ArrayLike,
    seed: ArrayLike | None,
    n: int,
    *,
    interval: Question,
    crossed: Crossing,
    strata: ArrayLike | None = None,
) -> Design:
    """Choose the clusters that are resampled to answer a question. See `mean_interval` for the arguments.

    Raises:
        ValueError: If labels are missing or have the wrong shape, the question is unknown, there are no rows, or a
            prompt lies in two strata.
    """
    design = _choose_design(prompt, seed, n, interval=interval, crossed=bool(crossed), strata=strata)
    return _name_annotators(design) if crossed == "annotators" else design


def _name_annotators(design: Design) -> Design:
    """Return a design whose words name annotators in the place of seeds."""
    texts = {name: getattr(design, name) for name in ("question", "clusters", "trial_name")}
    return replace(
        design,
        **{name: text.replace("seed", "annotator") for name, text in texts.items()},
        notes=tuple(note.replace("seed", "annotator") for note in design.notes),
    )


def _choose_design(
    prompt: ArrayLike,
    seed: ArrayLike | None,
    n: int,
    *,
    interval: Question,
    crossed: bool,
    strata: ArrayLike | None,
) -> Design:
    """Return the design of `make_design` in words for seeds."""
    if interval not in get_args(Question):
        raise ValueError(f"interval must be one of {', '.join(get_args(Question))}, got {interval!r}")
    if n == 0:
        raise ValueError("no rows: nothing to estimate")
    p_codes, n_prompts = encode_levels(prompt, "prompt", n)
    prompts = Term(p_codes, n_prompts)
    s_codes, n_seeds = encode_levels(np.arange(n) if seed is None else seed, "seed", n)
    cells = _make_cells(p_codes, n_prompts, s_codes, n_seeds)
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
        _note_few(n_prompts, "prompts"),
    )
    if seed is None or not crossed:
        return _choose_nested(over_prompts, p_codes, interval, seed_known=seed is not None)

    seeds = Term(s_codes, n_seeds)
    over_seeds = Design(
        QUESTIONS["seeds"], "seeds", (seeds,), cells, n_seeds, "seeds", _note_few(n_seeds, "seeds")
    )
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


def _choose_nested(over_prompts: Design, prompt: Codes, interval: Question, *, seed_known: bool) -> Design:
    """Choose the design for seeds that prompts do not share, or that are not known."""
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
