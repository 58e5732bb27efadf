"""Scores of models and their differences: the output of `--json` and a part of run.json."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from pydantic import AliasChoices, Field

from .correction import CorrectedDifference, Correction
from .looks import StoppedComparison
from .sample_need import SampleNeed
from .typed import Count, Interval, Number, Typed

PLAIN = "score"
"""A headline measure of this name says nothing beyond the metric's name."""


def make_title(metric: str, by: str | None) -> str:
    """Return a metric's name for readers, with the judges if the run measures it with several."""
    return metric if by is None else f"{metric} by {by}"


def write_headline(metric: str, by: str | None, measures: Iterable[str]) -> str:
    """Return a metric's title, with the name of the headline measure if that says more: `prdc (precision)`.

    Args:
        metric: The metric's name, as the user wrote it.
        by: The judges, if the run measures the metric with several.
        measures: The names of its scores, the headline first.
    """
    measure = next(iter(measures), PLAIN)
    own = metric.partition(":")[0].rpartition("/")[2]
    title = make_title(metric, by)
    return title if measure in (own, PLAIN) else f"{title} ({measure})"


class Score(Typed):
    """A score with its confidence interval."""

    value: Number | None = Field(description="the score; null if it does not exist")
    ci: Interval = Field(description="the 95 % confidence interval `[lo, hi]`")
    notes: list[str] = Field(
        [],
        description="present if the score rests on one prompt or one seed, whose variation is not in the interval",
        exclude_if=lambda notes: not notes,
    )
    correction: Correction | None = Field(
        None,
        description="present if people's labels correct it: the corrected score, or why it cannot be computed. "
        "Levels of facets have it only if their labels suffice",
        exclude_if=lambda correction: correction is None,
    )


class JudgeName(Typed):
    """A judge, with the reason why it was chosen."""

    name: str = Field(description="the judge")
    why: str = Field(description="why it was chosen")


class JudgeOfNeed(JudgeName):
    """The judge that answers one need of a metric."""

    need: str = Field(description="the metric's name for the need")
    capability: str | None = Field(
        None,
        description="present if the judge is asked for this in place of the need's own capability",
        exclude_if=lambda capability: capability is None,
    )


class UpperBound(Typed):
    """The highest score that a metric can give with these judges."""

    model: str = Field(description="label of the model whose images give the bound")
    value: Number | None = Field(description="its score")
    ci: Interval | None = Field(description="its confidence interval")
    named: bool = Field(
        False,
        description="present and true if the run evaluates this model for its own sake, too",
        exclude_if=lambda named: not named,
    )


class ScoreWithBound(Protocol):
    """A score that may come with an upper bound."""

    @property
    def upper_bound(self) -> UpperBound | None:
        """The highest score that the metric can give with the same judges, if it names one."""
        ...


def list_bound_labels(results: Iterable[ScoreWithBound]) -> set[str]:
    """Return the labels of the models that only give upper bounds; they are compared with no other."""
    bounds = (result.upper_bound for result in results)
    return {bound.model for bound in bounds if bound is not None and not bound.named}


class Result(Typed):
    """One model's scores under one metric."""

    metric: str = Field(description="the metric's name, as the user wrote it")
    model: str = Field(description="the model's name, as the user wrote it")
    label: str = Field(alias="as", description="the model's label")
    settings: dict[str, Any] = Field(description="the options given for the model")
    judge: JudgeName | None = Field(
        description="`name` and `why` of the judge of the first need; null if the metric needs no judge"
    )
    judges: list[JudgeOfNeed] = Field(description="the same for every need, with `need`")
    by: str | None = Field(
        None,
        description="present if the run measures the metric with several judges: those of this result, which tell "
        "it from the others",
        exclude_if=lambda by: by is None,
    )
    prompts: str = Field(description="the prompt sources or files")
    signature: str | None = Field(
        None,
        description="the protocol in one line: metric, version, options that differ from the defaults, prompts, "
        "judges, seeds, question of the interval and noise, with digests of what prompts and judges are. Results "
        "with equal lines are comparable; absent in runs of earlier versions",
        exclude_if=lambda signature: signature is None,
    )
    score: Number | None = Field(description="the headline score; null if no sample has a value")
    ci: Interval | None = Field(description="its 95 % confidence interval `[lo, hi]`")
    higher_is_better: bool | None = Field(
        None, description="whether a higher headline score is better; null if neither is"
    )
    interval: str | None = Field(
        description="method and question of the interval: "
        "`Wilson on effective n, prompts x seeds; new prompts of this kind and new seeds`"
    )
    correction: Correction | None = Field(
        None,
        description="present with `--correct`: the headline score corrected by people's labels",
        exclude_if=lambda correction: correction is None,
    )
    upper_bound: UpperBound | None = Field(
        None,
        description='`{"model", "value", "ci"}`: the score of the images that the metric names as '
        "[its bound](plugins.md#upper-bounds), by the same judges; null if it names none",
    )
    notes: list[str] = Field([], description="notes for readers about the score and its interval")
    n_prompts: Count = Field(description="number of prompts requested")
    n_prompts_ok: Count = Field(
        description="number of prompts with a value; all samples of the others failed, are missing or excluded"
    )
    n_seeds: Count = Field(description="number of seeds requested")
    n_ok: Count = Field(description="number of samples with a value (of pairs, for a metric of pairs)")
    n_failed: Count = Field(description="number of samples that failed")
    n_missing: Count = Field(
        description="number of samples whose images never existed, or that no person was asked about"
    )
    n_excluded: Count = Field(description="number of samples that the metric excludes")
    n_truncated: Count = Field(
        0, description="number of samples whose prompt is longer than the model reads; they are scored"
    )
    scores: dict[str, Score] = Field(description="every score by name, the headline first")
    facets: dict[str, dict[str, dict[str, Score]]] = Field(description="scores by measure, facet and level")

    @property
    def title(self) -> str:
        """The metric, with the judges if the run measures it with several."""
        return make_title(self.metric, self.by)

    @property
    def headline(self) -> str:
        """The title, with the name of the headline measure if that says more: `prdc (precision)`."""
        return write_headline(self.metric, self.by, self.scores)


class Comparison(Typed):
    """The difference of two models' headline scores, on the prompts and seeds that both have."""

    metric: str = Field(description="the metric's name, as the user wrote it")
    by: str | None = Field(
        None,
        description="present if the run measures the metric with several judges: those of this comparison",
        exclude_if=lambda by: by is None,
    )
    a: str = Field(description="label of the first model")
    b: str = Field(description="label of the second model")
    diff: Number | None = Field(description="score of a minus score of b")
    ci: Interval = Field(description="its 95 % confidence interval `[lo, hi]`")
    p_adjusted: Number | None = Field(
        validation_alias=AliasChoices("p_adjusted", "p"),  # run.json of earlier versions says `p`
        description="two-sided p-value, adjusted for the number of comparisons (Holm)",
    )
    p_unadjusted: Number | None = Field(description="two-sided p-value, not adjusted")
    n: Count = Field(
        description="number of shared samples; of prompts, if a prompt's images are measured together"
    )
    interval: str = Field(description="method and question of the interval")
    needed: SampleNeed | None = Field(
        None,
        description="present if the difference is not significant and the measure has a range: `{margin, power, "
        "prompts, seeds}`, the design that would show a difference of the margin",
        exclude_if=lambda needed: needed is None,
    )
    stopped: StoppedComparison | None = Field(
        None,
        description="present if the run stopped early: how the comparison ended. Difference, interval and p are "
        "then those of stage-wise ordering",
        exclude_if=lambda stopped: stopped is None,
    )
    correction: CorrectedDifference | None = Field(
        None,
        description="present with `--correct`: the difference corrected by people's labels",
        exclude_if=lambda correction: correction is None,
    )

    @property
    def title(self) -> str:
        """The metric, with the judges if the run measures it with several."""
        return make_title(self.metric, self.by)


class JudgeAgreement(Typed):
    """The agreement of two judges of one metric on what both saw, over all models."""

    metric: str = Field(description="the metric's name, as the user wrote it")
    a: str = Field(description="the first judges")
    b: str = Field(description="the second judges")
    measure: str = Field(description="the measure whose values are compared: the first that has some")
    n: Count = Field(
        description="number of values that both have (of samples, pairs or prompts, and of each facet); for rho, "
        "of prompts"
    )
    equal: Number | None = Field(description="share of equal values; null for rho")
    coefficient: Literal["kappa", "rho"] = Field(
        description="`kappa` (Cohen's) if all values are 0 or 1, else `rho` (Spearman's, of the means of each "
        "prompt)"
    )
    value: Number | None = Field(description="the coefficient; null if it does not exist, as for constant values")
    ci: Interval = Field(description="its 95 % confidence interval `[lo, hi]`; kappa's over prompts")
