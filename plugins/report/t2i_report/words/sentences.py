"""The paragraph below the title of a page: sentences made from the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from t2i_core.results.number_format import format_interval, format_number
from t2i_core.results.pair_verdict import PairVerdict
from t2i_core.results.result import Comparison, Result
from t2i_core.results.sample_need import FIXED_PROMPTS

from ..metric_results import MetricResults
from .phrases import MOST_NAMED, join, join_some, name_metric
from .weak_spots import WeakSpot, find_weak_spot, list_levels


def write_sentences(
    groups: Sequence[MetricResults], failed: str | None = None, stopped: str | None = None
) -> Iterator[str]:
    """Yield the sentences of the paragraph.

    Args:
        groups: The results by metric.
        failed: Why the run failed; None if it did not.
        stopped: The verdict of a run that stops early.
    """
    known = [group for group in groups if group.scored]
    if failed is not None:
        what, reasons, _ = failed.partition("; failures.csv says why")  # their paths make no paragraph
        yield f"The run failed: {what.rstrip('.')}{'; see Failures below' if reasons else ''}."
        if known:
            yield "The scores are those of the samples that have a value."
    yield from _describe_single([group for group in known if len(group.scored) == 1])
    yield from _describe_pairs([group for group in known if len(group.scored) == 2])
    yield from _describe_rankings([group for group in known if len(group.scored) > 2])
    yield from _describe_weak_spots(known)
    if stopped:
        yield f"Stopping rule: {stopped.rstrip('.')}."
    for group in groups:
        if not group.is_corrected and any(each.correction is not None for each in group.results):
            yield f"People's labels do not suffice to correct {group.title}; these are the judge's scores."
        if group.is_corrected and list_levels(group):
            yield f"The levels of {group.title} are scored by the judge alone, not corrected by people."
    yield from _describe_lost(groups)


def _describe_single(groups: Sequence[MetricResults]) -> Iterator[str]:
    by_label: dict[str, list[str]] = {}
    for group in groups:
        score = f"{_format_score(group.scored[0])} on {name_metric(group)}"
        by_label.setdefault(group.scored[0].label, []).append(score)
    for label, scores in by_label.items():
        yield f"{label} scores {join_some(scores, 'other scores')}."


def _format_score(result: Result) -> str:
    return f"{format_number(result.score)} {format_interval(result.ci)}"


def _describe_pairs(groups: Sequence[MetricResults]) -> Iterator[str]:
    """Yield the verdicts on two models: what is sure first."""
    verdicts = [(group, group.find_verdict(*group.labels)) for group in groups]
    sure: dict[tuple[str, str, str], list[str]] = {}
    for group, each in verdicts:
        if each.is_sure:
            verb = "is better" if each.kind == "better" else "scores higher"
            sure.setdefault((each.first, verb, each.second), []).append(
                f"on {name_metric(group)} by {each.difference}"
            )
    for (first, verb, second), sizes in sure.items():
        yield f"{first} {verb} than {second} {join_some(sizes, 'other metrics')}."
    for group, each in verdicts:
        if each.kind == "close" and each.comparison is not None and each.comparison.stopped is not None:
            margin = f"{each.comparison.stopped.margin:g}"
            pair = f"{each.first} and {each.second}"
            yield f"{pair} differ by less than {margin} on {name_metric(group)}: {each.difference}."
        elif each.kind == "none":
            yield f"{each.first} and {each.second} are not compared on {name_metric(group)}."
    undecided = [(group, each) for group, each in verdicts if each.kind == "open"]
    if len(undecided) > MOST_NAMED:
        names = [name_metric(group) for group, _ in undecided]
        yield f"{join_some(names, 'other metrics')} are undecided."
        return
    for group, each in undecided:
        yield _describe_undecided(group, each)


def _describe_undecided(group: MetricResults, verdict: PairVerdict) -> str:
    found = verdict.comparison
    need = _describe_need([] if found is None else [found], group, group.scored[0])
    difference = f"{verdict.first} minus {verdict.second} is {verdict.difference}"
    return f"{name_metric(group)} is undecided: {difference}{need and f'; {need}'}."


def _describe_rankings(groups: Sequence[MetricResults]) -> Iterator[str]:
    for group in groups[:MOST_NAMED]:
        best = next(result for result in group.scored if result.label == group.standings[0].label)
        verdicts = [group.find_verdict(each.a, each.b) for each in group.comparisons]
        beaten = sum(each.is_sure and each.first == best.label for each in verdicts)
        word, comparative = ("highest", "higher") if group.higher_is_better is None else ("best", "better")
        others = len(group.scored) - 1
        compared = sum(each.kind != "none" and best.label in (each.first, each.second) for each in verdicts)
        if not compared:
            sure = f"it is not compared with the other {others}"
        elif not beaten:
            sure = f"no difference from the other {others} is sure"
        else:
            count = f"all {others}" if beaten == others else f"{beaten} of the {others}"
            sure = f"it is surely {comparative} than {count} others"
        yield f"On {name_metric(group)}, {best.label} has the {word} score, {_format_score(best)}; {sure}."
        undecided = [each.comparison for each in verdicts if each.kind == "open" and each.comparison is not None]
        if undecided:
            need = _describe_need(undecided, group, best)
            yield f"{len(undecided)} of {len(verdicts)} pairs are undecided{need and f'; {need}'}."


def _describe_need(comparisons: Sequence[Comparison], group: MetricResults, result: Result) -> str:
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
    more = prompts - (result.n_prompts_ok if group.shared_prompts is None else group.shared_prompts)
    if largest.seeds is not None and largest.seeds != result.n_seeds:
        return f"about {prompts:,} prompts with {largest.seeds} seeds each would show {margin}"
    return f"about {more:,} more prompts would show {margin}" if more > 0 else ""


def _describe_weak_spots(groups: Sequence[MetricResults]) -> Iterator[str]:
    """Yield at what the models score lowest under each of the first metrics."""
    for group in groups[:MOST_NAMED]:
        levels = list_levels(group)
        spots = [spot for result in group.scored if (spot := find_weak_spot(group, result, levels)) is not None]
        if not spots:
            continue
        (level, count), *_ = Counter(spot.level for spot in spots).most_common(1)
        n = len(group.scored)
        if count <= 2 and not count == n > 1:
            if n <= 2:
                yield f"{join([_describe_spot(each) for each in spots])} on {group.name}."
            continue
        who = f"{count} of {group.models}" if count < n else "Both" if n == 2 else f"All {group.models}"
        is_clear = all(spot.is_clear for spot in spots if spot.level == level)
        place = f"are weakest at {level.name}" if is_clear else f"score worst at {level.name} (may be chance)"
        values = [f"{each.model} {_format_spot(each)}" for each in spots] if n == 2 else []
        yield f"{who} {place} on {group.name}{f': {join(values)}' if values else ''}."


def _describe_spot(spot: WeakSpot) -> str:
    if spot.is_clear:
        return f"{spot.model} is weakest at {spot.level.name} {_format_spot(spot)}"
    return f"{spot.model} scores worst at {spot.level.name} {_format_spot(spot)} (may be chance)"


def _format_spot(spot: WeakSpot) -> str:
    return f"{format_number(spot.score.value)} {format_interval(spot.score.ci)}"


def _describe_lost(groups: Sequence[MetricResults]) -> Iterator[str]:
    for group in groups:
        lost = sum(each.n_failed + each.n_missing for each in group.results)
        if lost:
            total = lost + sum(each.n_ok for each in group.results)
            yield f"{lost:,} of {total:,} samples have no value on {group.title}."
