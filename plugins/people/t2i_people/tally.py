"""`t2i people tally`: what people said about each model's images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from t2i_core.api.facet_levels import split_levels
from t2i_core.io.answers import BOTH_BAD, CANNOT_TELL, LEFT, PREFERENCE, RIGHT, TIE, AnswerFile, HumanAnswer
from t2i_core.io.majority import turn_preference
from t2i_core.statistics import Estimate, mean_interval

from .answer_groups import find_scale, group_by_question, read_rating, weigh_answers

YES, NO = "yes", "no"

QUESTION = "new prompts of this kind, these raters"
"""The question that the intervals answer."""


def tally(file: AnswerFile, by_subset: bool = False) -> dict[str, Any]:
    """Return shares of answers, mean ratings and shares of preferences, with intervals over prompts.

    Images that were drawn with different probabilities weigh 1 over these.

    Args:
        file: The answers.
        by_subset: Whether each subset of the prompts gets its own lines; a prompt may be in several subsets.

    Returns:
        Plain data: `answers`, one entry per question, model and answer; `ratings`, one per question and model if
        all answers are numbers; `preferences`, one per two models; `left_out` and `interval`. Entries name their
        `subset`, empty for all prompts together. Shares are of all answers to the question, `cannot-tell` among
        them; shares of preferences are of those for either model.
    """
    parts = {"": file.answers}
    if by_subset:
        found: dict[str, list[HumanAnswer]] = {}
        for answer in file.answers:
            for level in split_levels(answer.subset):
                found.setdefault(str(level), []).append(answer)
        parts = {name: tuple(found[name]) for name in sorted(found)}
    tables = {name: _tally_part(answers) for name, answers in parts.items()}
    return {
        "file": str(file.path),
        "raters": len({answer.rater for answer in file.answers}),
        "interval": QUESTION,
        **{
            kind: [{"subset": name, **line} for name, table in tables.items() for line in table[kind]]
            for kind in ("answers", "ratings", "preferences")
        },
        "left_out": dict(file.left_out),
    }


def _tally_part(answers: Iterable[HumanAnswer]) -> dict[str, list[dict[str, Any]]]:
    groups = group_by_question(answers)
    pairs = groups.pop(PREFERENCE, [])
    parts = [
        (question, model, own) for question, told in groups.items() for model, own in _group_by_model(told).items()
    ]
    rated = {question for question, told in groups.items() if is_rating(told)}
    return {
        "answers": [line for question, model, own in parts for line in _count(question, model, own)],
        "ratings": [_average(question, model, own) for question, model, own in parts if question in rated],
        "preferences": _count_preferences(pairs),
    }


def is_rating(answers: Iterable[HumanAnswer]) -> bool:
    """Return whether the answers to a question are numbers, but for those of people who cannot tell."""
    given = {answer.answer for answer in answers} - {CANNOT_TELL}
    return len(given) > 1 and all(read_rating(answer) is not None for answer in given)


def _group_by_model(answers: Iterable[HumanAnswer]) -> dict[str, list[HumanAnswer]]:
    found: dict[str, list[HumanAnswer]] = {}
    for answer in answers:
        found.setdefault(" and ".join(side.model for side in answer.shown), []).append(answer)
    return dict(sorted(found.items()))


def _sort_choices(counts: Counter[str]) -> list[str]:
    """Return answers in the order of their numbers, or else the most frequent first; `cannot-tell` is last."""
    numbers = {answer: read_rating(answer) for answer in counts}

    def order(answer: str) -> tuple[bool, float, int, str]:
        number = numbers[answer]
        return answer == CANNOT_TELL, float("inf") if number is None else number, -counts[answer], answer

    return sorted(counts, key=order)


def _count(question: str, model: str, answers: Sequence[HumanAnswer]) -> list[dict[str, Any]]:
    counts = Counter(answer.answer for answer in answers)
    if ": " in question and all(set(answer.choices) == {YES, NO} for answer in answers):
        counts = Counter({YES: counts[YES]})  # one of several choices of a question: how often it was chosen
    return [
        {
            "question": question,
            "model": model,
            "answer": choice,
            "count": counts[choice],
            "n": len(answers),
            **_estimate([float(each.answer == choice) for each in answers], answers, "share", 0, 1),
        }
        for choice in _sort_choices(counts)
    ]


def _average(question: str, model: str, answers: Sequence[HumanAnswer]) -> dict[str, Any]:
    rated = [(number, each) for each in answers if (number := read_rating(each.answer)) is not None]
    values = [number for number, _ in rated]
    found = _estimate(values, [each for _, each in rated], "mean", *find_scale(each for _, each in rated))
    return {"question": question, "model": model, "n": len(values), **found}


def _count_preferences(answers: Sequence[HumanAnswer]) -> list[dict[str, Any]]:
    by_pair: dict[tuple[str, str], list[tuple[str, HumanAnswer]]] = {}
    for answer in answers:
        left, right = (side.model for side in answer.shown)
        if left != right:
            said = answer.answer if left < right else turn_preference(answer.answer)
            by_pair.setdefault((min(left, right), max(left, right)), []).append((said, answer))
    lines = []
    for (a, b), own in sorted(by_pair.items()):
        counts = Counter(said for said, _ in own)
        decided = [(said, answer) for said, answer in own if said in (LEFT, RIGHT)]
        values = [float(said == LEFT) for said, _ in decided]
        lines.append(
            {
                "a": a,
                "b": b,
                "a_better": counts[LEFT],
                "b_better": counts[RIGHT],
                "tie": counts[TIE],
                "both_bad": counts[BOTH_BAD],
                **_estimate(values, [answer for _, answer in decided], "share", 0, 1),
            }
        )
    return lines


def _estimate(
    values: Sequence[float], answers: Sequence[HumanAnswer], name: str, low: float | None, high: float | None
) -> dict[str, Any]:
    """Return a mean with its interval over prompts, as plain data: null where it does not exist."""
    if not values:
        return {name: None, "ci": None, "prompts": 0, "notes": []}
    clusters: list[Hashable] = [answer.prompt or answer.shown for answer in answers]
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    codes = np.array([numbers[cluster] for cluster in clusters])
    weights, notes = weigh_answers(answers)
    found = mean_interval(np.array(values), codes, None, weights=weights, low=low, high=high).with_notes(*notes)
    return {name: found.value, **describe_interval(found), "prompts": len(numbers)}


def describe_interval(found: Estimate) -> dict[str, Any]:
    """Return an interval and its notes as plain data."""
    exists = bool(np.isfinite([found.lo, found.hi]).all())
    return {"ci": [found.lo, found.hi] if exists else None, "notes": list(found.notes)}
