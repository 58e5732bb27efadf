"""Phrases that titles and sentences share."""

from __future__ import annotations

from collections.abc import Sequence

from ..metric_results import MetricResults

MOST_NAMED = 3
"""Maximum number of metrics or models that are named one by one."""


def name_metric(group: MetricResults) -> str:
    """Return the name of a metric, with a note on people's corrections."""
    return f"{group.name} (corrected by people)" if group.is_corrected else group.name


def join(words: Sequence[str], word: str = "and") -> str:
    """Return words as a list in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"


def join_some(words: Sequence[str], others: str) -> str:
    """Return words as a list in a sentence, of which only the first ones are named if they are many."""
    if len(words) <= MOST_NAMED:
        return join(words)
    return join([*words[: MOST_NAMED - 1], f"{len(words) - MOST_NAMED + 1} {others}"])
