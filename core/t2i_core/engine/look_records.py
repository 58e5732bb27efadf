"""Looks of a growing run, computed from the samples that it has drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..results.looks import LookRecord, ModelAtLook, PairAtLook
from ..results.numbers import make_interval, make_number
from ..statistics import Estimate, limit_difference
from ..statistics.design import Floats
from ..statistics.interval_width import follow_width
from ..statistics.looks import Look
from ..statistics.verdicts import Family, Pair, follow_pairs
from .generation import GeneratedImages
from .job import Job
from .query_index import Failures
from .stopping_rule import StoppingRule


@dataclass
class DrawnSamples:
    """The samples that were drawn so far.

    Attributes:
        looks: The last look of each model, by label.
        cells: The scores of each model's images, shape (prompts, seeds) of its last look; NaN for failed ones.
        images: The images.
        failures: Why queries have no answer, by their keys.
    """

    looks: dict[str, Look] = field(default_factory=dict)
    cells: dict[str, Floats] = field(default_factory=dict)
    images: GeneratedImages = field(default_factory=GeneratedImages)
    failures: Failures = field(default_factory=dict)


def record_looks(
    rule: StoppingRule, jobs: Sequence[Job], drawn: DrawnSamples
) -> tuple[list[LookRecord], Family | None]:
    """Return all looks so far, computed from the samples that are there; the same samples give the same looks."""
    first = jobs[0]
    labels = [job.models[0].label for job in jobs]
    looks = rule.looks[: 1 + max(rule.looks.index(look) for look in drawn.looks.values())]
    low, high = first.measures[0].low, first.measures[0].high
    if rule.width is not None:
        return _follow_widths(rule, first, labels, looks, drawn), None
    if (low, high) == (None, None) and all(_is_binary(cells) for cells in drawn.cells.values()):
        low, high = 0.0, 1.0

    def read(pair: Pair, look: Look) -> Floats:
        a, b = (drawn.cells[label][: look.prompts, : look.seeds] for label in pair)
        return a - b

    family = follow_pairs(
        read,
        labels,
        looks,
        rule.looks[-1],
        goal="best" if rule.until == "best" else "verdict",
        margin=rule.margin,
        crossed=all(job.shares_seeds for job in jobs),
        bounds=limit_difference(low, high),
        higher_is_better=first.measures[0].higher_is_better is not False,
        with_p=True,
    )
    records = [
        LookRecord(
            prompts=look.look.prompts,
            seeds=look.look.seeds,
            images=_count_images([each.models for each in family.looks[: number + 1]], looks),
            models=list(look.models),
            left=list(look.left),
            best=list(look.kept) if rule.until == "best" else [],
            pairs=[
                PairAtLook(
                    a=a,
                    b=b,
                    diff=make_number(found.diff),
                    ci=make_interval(found),
                    information=found.information,
                    statistic=found.statistic,
                    boundary=found.boundary,
                    p_adjusted=look.p[a, b],
                    decision=found.decision,
                )
                for (a, b), found in look.pairs.items()
            ],
        )
        for number, look in enumerate(family.looks)
    ]
    return records, family


def _is_binary(cells: Floats) -> bool:
    return bool(np.isin(cells[~np.isnan(cells)], (0, 1)).all())


def _follow_widths(
    rule: StoppingRule, job: Job, labels: Sequence[str], looks: Sequence[Look], drawn: DrawnSamples
) -> list[LookRecord]:
    measure, width = job.measures[0], rule.width or 0.0
    paths = {
        label: follow_width(
            drawn.cells[label],
            [look for look in looks if look.images <= drawn.looks[label].images],
            width,
            crossed=job.shares_seeds,
            bounds=(measure.low, measure.high),
        )
        for label in labels
    }
    models = [[label for label in labels if len(paths[label]) > number] for number in range(len(looks))]
    return [
        LookRecord(
            prompts=look.prompts,
            seeds=look.seeds,
            images=_count_images(models[: number + 1], looks),
            models=models[number],
            left=[label for label in models[number] if not _is_narrow(paths[label][number], width)],
            scores=[
                ModelAtLook(
                    model=label,
                    score=make_number(paths[label][number].value),
                    ci=make_interval(paths[label][number]),
                    narrow=_is_narrow(paths[label][number], width),
                )
                for label in models[number]
            ],
        )
        for number, look in enumerate(looks)
    ]


def _is_narrow(estimate: Estimate, width: float) -> bool:
    return estimate.hi - estimate.lo <= width


def _count_images(models: Sequence[Sequence[str]], looks: Sequence[Look]) -> int:
    """Return the number of images of all models up to a look.

    Args:
        models: The models that were drawn up to each look.
        looks: The looks.
    """
    last: Mapping[str, Look] = {label: look for own, look in zip(models, looks, strict=False) for label in own}
    return sum(look.images for look in last.values())
