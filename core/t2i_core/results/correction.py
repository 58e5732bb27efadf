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
    value: Number | None = Field(description="the corrected score; null if there is none")
    ci: Interval | None = Field(description="its 95 % confidence interval `[lo, hi]`")
    reason: str | None = Field(None, description="null, or why there is no corrected score")
    interval: str | None = Field(None, description="method and question of the corrected interval")
    labels: LabelScore = Field(description="`value` and `ci` by the labels alone")
    lam: Number | None = Field(
        None,
        description="weight of the judge's values in the corrected score, from 0 (they tell nothing about the "
        "labels) to 1; null for a score that is no mean",
    )
    n_labels: Count = Field(description="number of labelled samples; of pairs or prompts, if these are measured")
    gain: Number | None = Field(
        None,
        description="how many times as many labels would be needed for an interval as narrow without the judge; 1 "
        "if the correction gains nothing",
    )
    notes: list[str] = Field([], description="notes for readers about the correction")


class CorrectedDifference(Correction):
    """The corrected difference of two models' scores, paired on what both have."""

    p_adjusted: Number | None = Field(
        None, description="two-sided p-value, adjusted for the number of corrected comparisons (Holm)"
    )
    p_unadjusted: Number | None = Field(None, description="two-sided p-value, not adjusted")
