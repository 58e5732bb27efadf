"""The title of a page, in words made from the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2i_core.results.number_format import format_number
from t2i_core.results.pair_verdict import VerdictKind

from ..metric_results import MetricResults
from .phrases import MOST_NAMED, join, join_some, name_metric
from .sentences import write_sentences
from .weak_spots import find_weak_spot

_OTHERS = "other metrics"


@dataclass(frozen=True)
class Headline:
    """Title and paragraph of a page.

    Attributes:
        title: The title.
        sentences: The sentences of the paragraph.
        is_failed: True if the run failed.
    """

    title: str
    sentences: Sequence[str] = ()
    is_failed: bool = False


def write_headline(
    groups: Sequence[MetricResults], failed: str | None = None, stopped: str | None = None
) -> Headline:
    """Return the headline of results.

    Args:
        groups: The results by metric.
        failed: Why the run failed; None if it did not.
        stopped: The verdict of a run that stops early.
    """
    known = [group for group in groups if group.scored]
    sentences = list(write_sentences(groups, failed, stopped))
    title = _write_title(known) if known else "No scores"
    if failed is None:
        return Headline(title, sentences)
    after = title.replace("No sure difference", "no sure difference")
    title = f"The run failed; on what it measured: {after}" if known else "The run failed"
    return Headline(title, sentences, True)


def _write_title(groups: Sequence[MetricResults]) -> str:
    labels = list(dict.fromkeys(label for group in groups for label in group.labels))
    if len(labels) == 1:
        return _write_single_title(labels[0], groups)
    if len(labels) == 2:
        return _write_pair_title(groups, labels[0], labels[1])
    claims: dict[str, list[str]] = {}
    for group in groups:
        claims.setdefault(claim_best(group), []).append(name_metric(group))
    parts = [f"{claim} on {join_some(names, _OTHERS)}" for claim, names in claims.items()]
    return "; ".join(parts[:2]) + (f"; {len(parts) - 2} more below" if len(parts) > 2 else "")


def _write_single_title(label: str, groups: Sequence[MetricResults]) -> str:
    """Return the title of one model: its scores, and its weak spot if that is clear."""
    scores = [f"{format_number(group.scored[0].score)} on {name_metric(group)}" for group in groups]
    title = f"{label} scores {join_some(scores, _OTHERS)}"
    spot = find_weak_spot(groups[0], groups[0].scored[0]) if len(groups) == 1 else None
    return f"{title}, weakest at {spot.level.name}" if spot is not None and spot.is_clear else title


def _write_pair_title(groups: Sequence[MetricResults], a: str, b: str) -> str:
    """Return the title of two models: which is surely better on what, else that no difference is sure."""
    found: dict[tuple[VerdictKind, str, str], list[str]] = {}
    for group in groups:
        if len(group.scored) == 2:
            verdict = group.find_verdict(a, b)
            found.setdefault((verdict.kind, verdict.first, verdict.second), []).append(name_metric(group))
    parts = [
        f"{_claim_pair(kind, first, second)} on {join_some(names, _OTHERS)}"
        for (kind, first, second), names in found.items()
        if kind in ("better", "higher", "close")
    ]
    left = [name for (kind, *_), names in found.items() if kind == "open" for name in names]
    if left:
        between = "" if parts else f" between {a} and {b}"
        parts.append(f"{'no' if parts else 'No'} sure difference{between} on {join_some(left, _OTHERS)}")
    return "; ".join(parts) or f"{a} and {b} are not compared"


def _claim_pair(kind: VerdictKind, first: str, second: str) -> str:
    if kind == "close":
        return f"{first} and {second} differ by less than the margin"
    return f"{first} scores higher than {second}" if kind == "higher" else f"{first} is better than {second}"


def claim_best(group: MetricResults) -> str:
    """Return which of several models is best, as far as that is sure."""
    standings = group.standings
    leading = [each.label for each in standings if each.first == 1]
    word = "highest" if group.higher_is_better is None else "best"
    if len(standings) == 1:
        return f"{standings[0].label} scores {format_number(standings[0].score)}"
    if not any(each.diff is not None for each in group.comparisons):
        return f"{group.models} are not compared"
    if standings[0].ranks == "1":
        return f"{standings[0].label} is the {word} of {group.models}"
    if len(leading) == 1:
        return f"{leading[0]} may be the {word} of {group.models}"
    if len(leading) == len(standings):
        return f"No sure difference between {group.models}"
    if len(leading) <= MOST_NAMED:
        return f"{join(leading, 'or')} is the {word} of {group.models}"
    return f"{len(leading)} of {group.models} may be the {word}"
