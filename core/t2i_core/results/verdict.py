"""Verdicts: what scores and paired comparisons say, in sentences, with the ranks that each model may have.

Each line is about one metric and stands alone, as a terminal and a notebook show it. The paragraph of a report
(t2i-report) joins metrics and models into sentences; both are made from the same `PairVerdict`s and `Standing`s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .number_format import format_interval, format_number, format_p_value
from .pair_verdict import find_verdict, is_sure
from .result import Comparison, Result, list_bound_labels
from .sample_need import describe_sample_needs


@dataclass(frozen=True)
class Standing:
    """A model's place among the models of one metric.

    Attributes:
        label: The model's label.
        score: Its score.
        first: The best rank it may have: 1 plus the number of models that are surely better.
        last: The worst rank it may have: the number of models that are not surely worse.
    """

    label: str
    score: float
    first: int
    last: int

    @property
    def ranks(self) -> str:
        """The ranks in words: `2`, or `2-4`."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_models(results: Sequence[Result], comparisons: Sequence[Comparison]) -> list[Standing]:
    """Return the standings of one metric's models, the best first.

    Args:
        results: The results of one metric, by one panel of judges. Models without a score are left out.
        comparisons: The comparisons of the same models. Two models without one are not surely different.
    """
    sign = -1.0 if results and results[0].higher_is_better is False else 1.0
    scored = {result.label: result.score for result in results if result.score is not None}
    beaten_by: dict[str, set[str]] = {label: set() for label in scored}
    for each in comparisons:
        if each.diff and each.a in scored and each.b in scored and is_sure(each):
            worse, better = (each.b, each.a) if each.diff * sign > 0 else (each.a, each.b)
            beaten_by[worse].add(better)
    return [
        Standing(
            label,
            scored[label],
            1 + len(beaten_by[label]),
            len(scored) - sum(label in better for better in beaten_by.values()),
        )
        for label in sorted(scored, key=lambda label: -sign * scored[label])
    ]


def describe_verdicts(results: Sequence[Result], comparisons: Sequence[Comparison]) -> list[str]:
    """Return the verdict of each metric in sentences: the score, the difference, or the ranking of its models."""
    bounds = list_bound_labels(results)
    by_title: dict[str, list[Result]] = {}
    for result in results:
        if result.label not in bounds and result.score is not None:
            by_title.setdefault(result.title, []).append(result)
    lines: list[str] = []
    for title, own in by_title.items():
        theirs = [each for each in comparisons if each.title == title]
        is_corrected = any(result.correction is not None for result in own)
        lines += [f"{line} (by the judge alone)" if is_corrected else line for line in _describe(own, theirs)]
        if not is_corrected and (need := describe_need(theirs)) is not None:
            lines.append(need)
        if is_corrected:
            lines += _describe_corrected(own, theirs)
    return lines


def _describe_corrected(results: Sequence[Result], comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Yield what people's labels make of the scores and differences, as far as they suffice."""
    title = results[0].headline
    for result in results:
        if (own := result.correction) is not None and own.value is not None:
            score = f"{format_number(own.value)} {format_interval(own.ci)}"
            yield f"corrected by people, {result.label} scores {score} on {title}"
    for each in comparisons:
        if (found := each.correction) is not None and found.value is not None:
            difference = f"{format_number(found.value)} {format_interval(found.ci)}"
            yield (
                f"corrected by people, {each.a} minus {each.b} is {difference} on {title}, "
                f"p {format_p_value(found.p_adjusted)}"
            )


def describe_need(comparisons: Sequence[Comparison]) -> str | None:
    """Return how many prompts would show a difference, if some comparison of one metric has no verdict."""
    open_ones = [
        each for each in comparisons if each.diff is not None and each.stopped is None and not is_sure(each)
    ]
    return describe_sample_needs([each.needed for each in open_ones], open_ones[0].interval) if open_ones else None


def _describe(results: Sequence[Result], comparisons: Sequence[Comparison]) -> Iterator[str]:
    title = results[0].headline
    if len(results) == 1:
        (only,) = results
        yield f"{only.label} scores {_format_score(only)} on {title}"
    elif len(results) == 2:
        yield _describe_pair(results, comparisons)
    else:
        yield from _describe_ranking(results, comparisons)


def _format_score(result: Result) -> str:
    return f"{format_number(result.score)} {format_interval(result.ci)}"


def _describe_pair(results: Sequence[Result], comparisons: Sequence[Comparison]) -> str:
    title, direction = results[0].headline, results[0].higher_is_better
    found = find_verdict(comparisons, results[0].label, results[1].label, direction)
    if found.comparison is None:
        return f"{found.first} and {found.second} are not compared on {title}"
    difference = f"{found.size}, p {format_p_value(found.comparison.p_adjusted)}"
    if found.kind == "close" and found.comparison.stopped is not None:
        margin = f"{found.comparison.stopped.margin:g}"
        return f"{found.first} and {found.second} differ by less than {margin} on {title}: {difference}"
    if not found.is_sure:
        return f"no significant difference between {found.first} and {found.second} on {title}: {difference}"
    verb = "is better" if found.kind == "better" else "scores higher"
    return f"{found.first} {verb} than {found.second} on {title} by {difference}"


def _describe_ranking(results: Sequence[Result], comparisons: Sequence[Comparison]) -> Iterator[str]:
    title = results[0].headline
    standings = rank_models(results, comparisons)
    best = next(result for result in results if result.label == standings[0].label)
    verdicts = [find_verdict(comparisons, best.label, each.label, best.higher_is_better) for each in standings[1:]]
    beaten = sum(each.is_sure and each.first == best.label for each in verdicts)
    one_model = len({result.model for result in results}) == 1 and any(result.settings for result in results)
    what = f"settings of {best.model}" if one_model else "models"
    superlative, comparative = ("highest", "higher") if best.higher_is_better is None else ("best", "better")
    others = len(standings) - 1
    if beaten == 0:
        sure = f"no difference from the other {others} is significant"
    else:
        sure = f"significantly {comparative} than {'' if beaten == others else f'{beaten} of '}the other {others}"
    yield f"{superlative} of {len(standings)} {what} on {title}: {best.label}, {_format_score(best)}; {sure}"
    yield f"ranks on {title}: {', '.join(f'{each.ranks} {each.label}' for each in standings)}"
