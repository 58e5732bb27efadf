"""Scores corrected by people's labels, beside the labels' own."""

from __future__ import annotations

from pydantic import Field

from .typed import Count, Interval, Number, Typed


class LabelScore(Typed):
    """A score by people's labels alone."""

    value: Number | None = Field(description="the score by the labels alone; null if it does not exist")
    ci: Interval | None = Field(description="its 95 % confidence interval `[lo, hi]`; null if none can be formed")


class Correction(Typed):
    """A score by a judge, corrected by people's labels of a drawn part of the samples."""

    people: str = Field(description="the judge that gives people's answers: `people:FILE`")
    value: Number | None = Field(description="the corrected score; null if it cannot be computed")
    ci: Interval | None = Field(description="its 95 % confidence interval `[lo, hi]`")
    reason: str | None = Field(None, description="null, or why there is no corrected score")
    interval: str | None = Field(None, description="method and question of the corrected interval")
    labels: LabelScore = Field(description="`value` and `ci` by the labels alone")
    lam: Number | None = Field(
        None,
        description="weight of the judge's values in the corrected score, from 0 to 1; null if there are no "
        "labels. It is 0 if they tell nothing about the labels, and if images were drawn by the judge's outcome, "
        "which then tells all that they tell",
    )
    n_labels: Count = Field(
        description="number of labels: values by people of samples, pairs or prompts; for a comparison, of cells "
        "with labels of both models"
    )
    gain: Number | None = Field(
        None,
        description="number of labels that one label with the judge is worth: this many times as many labels "
        "would give an interval as narrow without the judge. About 1: the judge tells nothing",
    )
    notes: list[str] = Field([], description="notes for readers about the correction")
    signature: str | None = Field(
        None,
        description="of a result: its signature line, with the name of the labels and a digest of their content",
        exclude_if=lambda line: line is None,
    )


class CorrectedDifference(Correction):
    """The corrected difference of two models' scores, paired on what both have."""

    p_adjusted: Number | None = Field(
        None, description="two-sided p-value, adjusted for the number of corrected comparisons (Holm)"
    )
    p_unadjusted: Number | None = Field(None, description="two-sided p-value, not adjusted")
