"""Design of a set of labels: the rows that people labelled, and the number of rows each label stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .design import Codes, Floats, encode_levels

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class LabelDesign:
    """Labels that were drawn at random from all rows, simply or within strata.

    Attributes:
        labelled: True for each row with a label, shape (n,).
        weight: Number of rows that each label stands for, 0 for rows without one, shape (n,). Within each stratum
            the weights add up to its number of rows, so labels that were drawn but not answered need no care.
        stratum: The stratum of each row, in 0..H-1, shape (n,).
        n_rows: Number of rows in each stratum, shape (H,).
        n_labels: Number of labels in each stratum, at least 2 unless there is one stratum or every row of it is
            labelled. Shape (H,).
    """

    labelled: Mask
    weight: Floats
    stratum: Codes
    n_rows: Floats
    n_labels: Floats

    @property
    def labels(self) -> int:
        """Number of labels."""
        return int(self.n_labels.sum())

    @property
    def df(self) -> int:
        """Degrees of freedom of a variance over labels: their number minus that of the strata, at least 1."""
        return max(self.labels - len(self.n_labels), 1)

    def total(self, value: Floats) -> Floats:
        """Return the sum of a value over the labels of each stratum, each counted as often as its weight."""
        return np.bincount(self.stratum, self.weight * value, minlength=len(self.n_rows)).astype(np.float64)

    def centre(self, value: Floats) -> Floats:
        """Return a value minus its weighted mean over the labels of the row's stratum, shape (n,)."""
        return np.asarray(value - (self.total(value) / self.n_rows)[self.stratum])

    def sampling_variance(self, value: Floats) -> float:
        """Return the variance, over drawings of the labels, of a mean over all rows that is estimated from labels.

        Args:
            value: The value of each row, 0 where it has no label, shape (n,).
        """
        excess = np.where(self.labelled, self.weight * (self.weight - 1), 0.0)  # 0 where every row is labelled
        squares = np.bincount(self.stratum, excess * np.square(self.centre(value)), minlength=len(self.n_rows))
        factor = self.n_labels / np.maximum(self.n_labels - 1, 1)
        return max(float((factor * squares).sum()), 0.0) / len(self.weight) ** 2


def make_label_design(
    labelled: ArrayLike, probability: ArrayLike | None = None, strata: ArrayLike | None = None
) -> LabelDesign:
    """Weigh labels by how they were drawn.

    A stratum with fewer than two labels shows no variation: such strata are merged, and if the result still has
    fewer, it joins the stratum with the fewest labels.

    Args:
        labelled: True for each row with a label, shape (n,).
        probability: The probability with which each row was drawn, in (0, 1], shape (n,); only those of labelled
            rows are read. If None, rows of one stratum were drawn with equal probability.
        strata: The stratum from which each row was drawn, labels of any hashable kind, shape (n,). If None, rows
            were drawn from all.

    Raises:
        ValueError: If no row is labelled, a shape differs, or a probability lies outside (0, 1].
    """
    mask = np.asarray(labelled, dtype=np.bool_)
    if mask.ndim != 1 or not mask.any():
        raise ValueError("no row is labelled: nothing to correct with")
    inverse = np.zeros(len(mask))
    if probability is None:
        inverse[mask] = 1.0
    else:
        pi = np.asarray(probability, dtype=np.float64)
        if pi.shape != mask.shape:
            raise ValueError(f"probability must have shape {mask.shape}, got {pi.shape}")
        if not ((pi[mask] > 0) & (pi[mask] <= 1)).all():
            raise ValueError("the probability of each labelled row must lie above 0 and at most at 1")
        inverse[mask] = 1 / pi[mask]
    codes = np.zeros(len(mask), dtype=np.intp) if strata is None else encode_levels(strata, "strata", len(mask))[0]
    codes = _merge_strata(codes, mask)
    n_rows = np.bincount(codes).astype(np.float64)
    weight = inverse * (n_rows / np.bincount(codes, inverse))[codes]
    return LabelDesign(mask, weight, codes, n_rows, np.bincount(codes, mask).astype(np.float64))


def _merge_strata(codes: Codes, labelled: Mask) -> Codes:
    rows, labels = np.bincount(codes), np.bincount(codes, labelled)
    few = (labels < 2) & (labels < rows)
    if not few.any() or few.all():
        return codes if not few.any() else np.zeros_like(codes)
    if labels[few].sum() < 2:
        few |= labels == labels[~few].min()
    merged = np.where(few[codes], len(rows), codes)
    return pd.factorize(merged)[0].astype(np.intp, copy=False)
