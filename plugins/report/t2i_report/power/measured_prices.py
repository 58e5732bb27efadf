"""Prices of designs in seconds, as runs have measured them."""

from __future__ import annotations

from collections.abc import Sequence

from t2i_core.results.compared_model import ComparedModel
from t2i_core.statistics.sample_size import Prices


def measure_prices(sides: Sequence[ComparedModel], metric: str) -> Prices | None:
    """Return seconds for an image and for a judge's answers about it, averaged over models.

    Args:
        sides: The models.
        metric: The metric whose judges answer, once for each of its needs.

    Returns:
        The prices. None if it is not known how long an image takes: existing images, or runs of earlier versions.
    """
    images, answers = [], []
    for side in sides:
        seconds = side.run.manifest.models[side.label].seconds
        if seconds is None:
            return None
        images.append(seconds)
        answers.append(_sum_answers(side, metric))
    return Prices(image=sum(images) / len(images), answer=sum(answers) / len(answers))


def _sum_answers(side: ComparedModel, metric: str) -> float:
    """Return seconds for one answer of each judge of a metric; those of unknown speed count as 0."""
    manifest = side.run.manifest
    known = {part.name: part.seconds or 0.0 for part in manifest.components if part.kind == "judge"}
    own = {
        (judge.need, judge.name)
        for result in manifest.results
        if (result.metric, result.label, result.by) == (metric, side.label, side.by)
        for judge in result.judges
    }
    return sum(known.get(name, 0.0) for _, name in own)
