"""Looks of a run that stops early: what each of them showed, and the verdict at the end."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .typed import Count, Interval, Number, Typed

Decision = Literal["higher", "lower", "close"]


class PlannedLook(Typed):
    """Samples of each model at one look, if it is still drawn."""

    prompts: Count = Field(description="number of prompts, the first ones in the order in which they are drawn")
    seeds: Count = Field(description="number of seeds of each prompt")


class PairAtLook(Typed):
    """The difference of two models at one look."""

    a: str = Field(description="label of the first model")
    b: str = Field(description="label of the second model")
    diff: Number | None = Field(
        description="score of a minus score of b, on the samples so far; null if they have none in common"
    )
    ci: Interval = Field(
        description="the repeated confidence interval `[lo, hi]`, which holds at all looks together; null where "
        "nothing limits it; of several pairs, that of Bonferroni's method"
    )
    information: Number = Field(description="share of the planned end's information")
    statistic: Number = Field(description="the normal score that has the p-value of the difference")
    boundary: Number = Field(
        description="the pair is decided if the statistic reaches this on either side (12: cannot be reached); "
        "with several pairs by Holm's method, so that an earlier look may reach the boundary that it has by now"
    )
    p_adjusted: Number = Field(description="repeated p-value, adjusted for the number of pairs (Holm)")
    decision: Decision | None = Field(
        description="`higher` or `lower` (a than b), `close` (surely by less than the margin), or null"
    )


class ModelAtLook(Typed):
    """The score of one model at one look, with `width=W`."""

    model: str = Field(description="label of the model")
    score: Number | None = Field(description="the score of the samples so far; null if none has a value")
    ci: Interval = Field(description="its plain 95 % confidence interval `[lo, hi]`")
    narrow: bool = Field(description="whether the interval is narrow enough")


class LookRecord(PlannedLook):
    """One look that was taken."""

    images: Count = Field(description="number of images that were drawn up to it, of all models")
    models: list[str] = Field(description="labels of the models that were drawn up to it")
    pairs: list[PairAtLook] = Field([], description="the pairs that were open before it; empty with `width=W`")
    scores: list[ModelAtLook] = Field([], description="the scores, with `width=W`")
    best: list[str] = Field([], description="with `best`: labels of the models that may be best")
    left: list[str] = Field(description="labels of the models that need further images; empty if the run stops")


class StoppingRecord(Typed):
    """The rule by which a run stops early, and its looks. The plan of looks is written before the first image."""

    until: str = Field(description="`--until`")
    margin: Number | None = Field(None, description="`--margin`; null with `width=W`")
    max_images: Count | None = Field(None, description="`--max-images`, or null")
    plan: list[PlannedLook] = Field(description="the planned looks; the last one is the most that is drawn")
    spending: str | None = Field(
        None,
        description="how the tests of the looks spend their error: `square`, by the square of the information; "
        "null with `width=W`, and in runs of earlier versions, which spent it as O'Brien and Fleming",
    )
    looks: list[LookRecord] = Field([], description="the looks that were taken")
    verdict: str | None = Field(None, description="what was decided, in words, and why the run ended; null before")


class StoppedComparison(Typed):
    """End of a comparison in a run that stops early."""

    look: Count = Field(description="number of the pair's last look, from 1")
    prompts: Count = Field(description="number of prompts at this look")
    seeds: Count = Field(description="number of seeds at this look")
    decision: Decision | None = Field(description="as at the look; null if the pair is not decided")
    margin: Number = Field(description="the margin")
    plain_diff: Number | None = Field(
        description="the mean difference of the samples, which stopping early exaggerates; null without samples"
    )
