"""The title of a page and the paragraph below it, in words made from the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from t2i_core.results.number_format import format_interval, format_number
from t2i_core.results.result import Comparison, Result
from t2i_core.results.sample_need import FIXED_PROMPTS

from .metric_results import MetricResults
from .outcomes import Outcome, find_outcome
from .weak_spots import WeakSpot, find_weak_spot, list_levels

MOST_NAMED = 3
"""Maximum number of metrics or models that a title names one by one."""


@dataclass(frozen=True)
class Headline:
    """Title and paragraph of a page.

    Attributes:
        title: The title.
        sentences: The sentences of the paragraph.
        is_failed: True if the run failed.
    """

    title: str
    sentences: tuple[str, ...] = ()
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
    sentences: list[str] = []
    if failed is not None:
        sentences.append(f"The run failed: {failed.rstrip('.')}.")
        if known:
            sentences.append("What follows holds only for the samples that have a value.")
    sentences += [sentence for group in known for sentence in _describe(group)]
    sentences += _describe_weak_spots(known)
    if stopped:
        sentences.append(f"The run stops early when it can: {stopped.rstrip('.')}.")
    sentences += _describe_lost(groups)
    title = _write_title(known) if known else "No scores"
    if failed is None:
        return Headline(title, tuple(sentences))
    title = f"The run failed; on what it measured: {title}" if known else "The run failed"
    return Headline(title, tuple(sentences), True)


def _write_title(groups: Sequence[MetricResults]) -> str:
    labels = list(dict.fromkeys(label for group in groups for label in group.labels))
    if len(labels) == 1:
        scores = [f"{format_number(group.scored[0].score)} on {_name(group)}" for group in groups]
        return f"{labels[0]} scores {_join_some(scores, 'other metrics')}"
    if len(labels) == 2:
        return _write_pair_title(groups, (labels[0], labels[1]))
    claims: dict[str, list[str]] = {}
    for group in groups:
        claims.setdefault(_claim_best(group), []).append(_name(group))
    parts = [f"{claim} on {_join_some(names, 'other metrics')}" for claim, names in claims.items()]
    return "; ".join(parts[:2]) + (f"; {len(parts) - 2} more below" if len(parts) > 2 else "")


def _name(group: MetricResults) -> str:
    """Return the name of a metric for a title, with a note on people's corrections."""
    return f"{group.name} corrected by people" if group.is_corrected else group.name


def _write_pair_title(groups: Sequence[MetricResults], labels: tuple[str, str]) -> str:
    """Return the title of two models: who is surely better on what, else that no difference is sure."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for group in groups:
        if len(group.scored) == 2:
            outcome = find_outcome(group, *labels)
            key = (outcome.kind, outcome.first, outcome.second)
        else:
            key = ("none", *labels)
        found.setdefault(key, []).append(_name(group))
    sure = [(key, names) for key, names in found.items() if key[0] in ("better", "higher", "close")]
    left = [name for key, names in found.items() if key[0] == "open" for name in names]
    if not sure:
        if left:
            return f"No sure difference between {labels[0]} and {labels[1]} on {_join_some(left, 'other metrics')}"
        return f"{labels[0]} and {labels[1]} are not compared"
    parts = [_claim_pair(*key, _join_some(names, "other metrics")) for key, names in sure]
    if left:
        parts.append(f"no sure difference on {_join_some(left, 'other metrics')}")
    return "; ".join(parts)


def _claim_pair(kind: str, first: str, second: str, names: str) -> str:
    if kind == "close":
        return f"{first} and {second} differ by less than the margin on {names}"
    if kind == "higher":
        return f"{first} scores higher than {second} on {names}"
    return f"{first} is better than {second} on {names}"


def _claim_best(group: MetricResults) -> str:
    """Return which of several models is best, as far as that is sure."""
    standings = group.standings
    what = _count_models(group)
    leading = [each.label for each in standings if each.first == 1]
    word = "highest" if group.higher_is_better is None else "best"
    if len(standings) == 1:
        return f"{standings[0].label} scores {format_number(standings[0].score)}"
    if len(leading) == 1:
        return f"{leading[0]} is the {word} of {what}"
    if len(leading) == len(standings):
        return f"No sure difference between {what}"
    if len(leading) <= MOST_NAMED:
        return f"{_join(leading, 'or')} is the {word} of {what}"
    return f"Any of {len(leading)} of {what} may be the {word}"


def _count_models(group: MetricResults) -> str:
    """Return the number of models, or of settings if they are one model under several."""
    results = group.scored
    is_sweep = len({each.model for each in results}) == 1 and any(each.settings for each in results)
    return f"{len(results)} settings of {results[0].model}" if is_sweep else f"{len(results)} models"


def _join(words: Sequence[str], word: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"


def _join_some(words: Sequence[str], others: str) -> str:
    """Return words as a list, of which only the first ones are named if they are many."""
    if len(words) <= MOST_NAMED:
        return _join(words)
    return _join([*words[: MOST_NAMED - 1], f"{len(words) - MOST_NAMED + 1} {others}"])


def _describe(group: MetricResults) -> Iterator[str]:
    name = _name(group)
    results = group.scored
    if len(results) == 1:
        yield f"{results[0].label} scores {_format_score(results[0])} on {name}."
        return
    if len(results) == 2:
        yield _describe_pair(find_outcome(group, results[0].label, results[1].label), group)
        return
    best = next(result for result in results if result.label == group.standings[0].label)
    claim = _claim_best(group)
    yield f"{claim} on {name}: {best.label} scores {_format_score(best)}."
    open_ones = [each for each in group.comparisons if find_outcome(group, each.a, each.b).kind == "open"]
    if open_ones:
        need = _describe_need(open_ones, results[0])
        yield f"{len(open_ones)} of {len(group.comparisons)} pairs are undecided{need and f'; {need}'}."


def _format_score(result: Result) -> str:
    return f"{format_number(result.score)} {format_interval(result.ci)}"


def _describe_pair(outcome: Outcome, group: MetricResults) -> str:
    name, pair = _name(group), f"{outcome.first} and {outcome.second}"
    found = outcome.comparison
    match outcome.kind:
        case "none":
            return f"{pair} are not compared on {name}."
        case "better":
            return f"{outcome.first} is better than {outcome.second} on {name} by {outcome.size}."
        case "higher":
            return f"{outcome.first} scores higher than {outcome.second} on {name} by {outcome.size}."
        case "close":
            margin = (
                f"{found.stopped.margin:g}" if found is not None and found.stopped is not None else "the margin"
            )
            difference = f"{outcome.first} minus {outcome.second} is {outcome.size}"
            return f"{pair} differ by less than {margin} on {name}: {difference}."
        case "open":
            need = _describe_need([found] if found is not None else [], group.scored[0])
            difference = f"{outcome.first} minus {outcome.second} is {outcome.size}"
            return f"{name} is undecided: {difference}{need and f'; {need}'}."


def _describe_need(comparisons: Sequence[Comparison], result: Result) -> str:
    """Return how many prompts would show a difference; empty if that is not known."""
    needs = [each.needed for each in comparisons if not each.interval.endswith(FIXED_PROMPTS)]
    known = [need for need in needs if need is not None]
    if not known:
        return ""
    margin = f"a difference of {known[0].margin:g}"
    left = [need for need in known if not need.reached]
    if not left:
        return f"these images would show {margin} with probability {known[0].power:g}"
    if any(need.prompts is None for need in left):
        return f"no feasible number of prompts would show {margin}"
    largest = max(left, key=lambda need: (need.prompts or 0) * (need.seeds or 1))
    prompts = largest.prompts or 0
    if largest.seeds is not None and largest.seeds != result.n_seeds:
        return f"about {prompts:,} prompts with {largest.seeds} seeds each would show {margin}"
    more = prompts - result.n_prompts_ok
    return (
        f"about {more:,} more prompts would show {margin}"
        if more > 0
        else f"about {prompts:,} prompts would show {margin}"
    )


def _describe_weak_spots(groups: Sequence[MetricResults]) -> Iterator[str]:
    """Yield at what the models score lowest under each of the first metrics, for two models at most."""
    for group in groups[:MOST_NAMED]:
        levels = list_levels(group)
        spots = [spot for result in group.scored if (spot := find_weak_spot(group, result, levels)) is not None]
        if not spots or len(levels) < 2:
            continue
        if len(spots) > 1 and len({spot.level for spot in spots}) == 1:
            who = "Both models are" if len(spots) == 2 else f"All {len(spots)} models are"
            values = (
                ""
                if len(spots) > MOST_NAMED
                else f": {_join([f'{each.model} {_format_spot(each)}' for each in spots])}"
            )
            yield f"{who} weakest at {spots[0].level.name} on {group.name}{values}."
        elif len(spots) <= 2:
            yield (
                _join([f"{each.model} is weakest at {each.level.name} {_format_spot(each)}" for each in spots])
                + f" on {group.name}."
            )


def _format_spot(spot: WeakSpot) -> str:
    return f"{format_number(spot.score.value)} {format_interval(spot.score.ci)}"


def _describe_lost(groups: Iterable[MetricResults]) -> Iterator[str]:
    for group in groups:
        lost = sum(each.n_failed + each.n_missing for each in group.results)
        if lost:
            total = lost + sum(each.n_ok for each in group.results)
            yield f"{lost:,} of {total:,} samples have no value on {group.title}."
