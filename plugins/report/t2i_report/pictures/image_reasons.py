"""The reasons of values by image, in the form that the page's script reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from t2i_core.api.text import escape_control_characters

from .explained_values import ExplainedMetric, ExplainedValue
from .gallery import Gallery

MOST_CHOICES = 60
"""Maximum number of reasons of a metric that are offered as a filter."""


def list_reasons(metrics: Iterable[ExplainedMetric], shown: Gallery) -> Iterator[dict[str, Any]]:
    """Yield the reasons of each metric that gives any.

    Each has the metric's title and measure, the general reasons of wrong values (`groups`, the most frequent
    first), and the reasons in full (`texts`). By the index of an image, `text` has the number of its text, and
    `codes` the numbers of its groups.

    Args:
        metrics: The values of each metric.
        shown: The images.
    """
    for metric in metrics:
        counts = Counter(reason for each in metric.values if _is_sorted(metric, each) for reason in each.reasons)
        groups = {reason: number for number, (reason, _) in enumerate(counts.most_common(MOST_CHOICES))}
        texts: dict[str, int] = {}
        text: dict[int, int] = {}
        codes: dict[int, list[int]] = {}
        for each in metric.values:
            if not each.because:
                continue
            number = texts.setdefault(each.because, len(texts))
            for place in shown.find_all(each.model, each.prompt, each.seed):
                text[place] = number
                if _is_sorted(metric, each):
                    codes[place] = [groups[reason] for reason in each.reasons if reason in groups]
        if text:
            yield {
                "measure": escape_control_characters(metric.measure.name),
                "title": escape_control_characters(metric.title),
                "groups": [escape_control_characters(_write_placeholders(reason)) for reason in groups],
                "texts": [escape_control_characters(because) for because in texts],
                "text": text,
                "codes": codes,
            }


def _is_sorted(metric: ExplainedMetric, each: ExplainedValue) -> bool:
    return metric.sorts_mistakes and metric.is_wrong(each)


def _write_placeholders(reason: str) -> str:
    return reason.replace("[...]", "...").replace("[", "").replace("]", "")
