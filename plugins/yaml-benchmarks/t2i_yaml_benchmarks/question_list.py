"""Rules that hold for the questions of a prompt, or of a benchmark, together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2i_core.api.errors import did_you_mean
from t2i_core.io.yaml_lines import Place

from t2i_yaml_benchmarks.benchmark import Benchmark, ScoreRule
from t2i_yaml_benchmarks.question_fields import CAPABILITY, Question, RewardQuestion

SCORE = "score"
"""The name of the headline measure, which no category may have."""


class BadParent(ValueError):
    """A parent that does not exist, or cannot be one.

    Attributes:
        number: Place of the question in its list, from 0; questions about every prompt follow a prompt's own.
    """

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number


def join_questions(own: Sequence[Question], every: Sequence[Question]) -> tuple[Question, ...]:
    """Return the questions about one prompt, each with an id, and parents by their ids.

    A question without an id has its number in its list, from 1; in the list of questions about every prompt,
    `every-1` and so on.

    Args:
        own: The questions about this prompt alone.
        every: The questions about every prompt.

    Raises:
        ValueError: If no question is given, or two have the same id.
        BadParent: If a parent is missing or never right or wrong.
    """
    found = [*_name_questions(own, ""), *_name_questions(every, "every-")]
    if not found:
        raise ValueError("there are no questions; add some here, or to the file's own field questions")
    by_id = {str(question.id): question for question in found}
    if len(by_id) < len(found):
        ids = [question.id for question in found]
        twice = next(each for each in ids if ids.count(each) > 1)
        raise ValueError(f"two questions have the id {twice!r}; change one")
    for number, question in enumerate(found):
        for parent in question.parents:
            if parent not in by_id:
                text = f"question {question.id!r}: no question has the id {parent!r} of its parent"
                raise BadParent(number, text)
            if parent == question.id or not by_id[parent].is_decided:
                why = "itself" if parent == question.id else f"{parent!r}, whose answer is never right or wrong"
                raise BadParent(number, f"question {question.id!r}: its parent is {why}; delete it")
    return tuple(found)


def _name_questions(questions: Sequence[Question], prefix: str) -> Iterator[Question]:
    """Yield the questions of one list with ids in place of numbers."""
    ids = [question.id or f"{prefix}{number}" for number, question in enumerate(questions, 1)]
    names = {str(number): id for number, id in enumerate(ids, 1)} | {id: id for id in ids}
    for id, question in zip(ids, questions, strict=True):
        parents = tuple(names.get(parent, parent) for parent in question.parents)
        yield question.model_copy(update={"id": id, "parents": parents})


def list_mistakes(benchmark: Benchmark, bound: Sequence[Question]) -> Iterator[tuple[Place, str]]:
    """Yield the place and the text of what is wrong with the questions and the score together.

    Args:
        benchmark: The benchmark.
        bound: All its questions, also those of a file of prompts.
    """
    score = benchmark.score
    for place, question in _place_questions(benchmark):
        if question.category == SCORE:
            yield (*place, "category"), f"{SCORE!r} is the name of the score of all questions; choose another"
        if score.rule in ("all", "any") and not question.is_decided:
            yield place, f"the rule {score.rule} needs right and wrong answers; this question has none"
        if score.weights and not question.category:
            yield place, "it has no category, but the score is a mean of categories; add one"
    categories = list(dict.fromkeys(question.category for question in bound if question.category))
    for name in score.weights:
        if name not in categories:
            hint = did_you_mean(name, categories) or f"; they have {', '.join(categories) or 'none'}"
            yield ("score", "weights", name), f"no question has the category {name!r}{hint}"
    if score.weights and (without := next((name for name in categories if name not in score.weights), None)):
        yield ("score", "weights"), f"the category {without!r} has no weight; add it"
    if len({isinstance(question, RewardQuestion) for question in bound}) > 1 and not score.weights:
        yield ("score",), "rewards and answers have different scales; give their categories weights"
    if why := _find_bad_threshold(score, bound):
        yield ("score", "at_least"), why
    for name in benchmark.judges:
        if name not in CAPABILITY.values():
            hint = did_you_mean(name, CAPABILITY.values()) or f"; write one of {', '.join(CAPABILITY.values())}"
            yield ("judges", name), f"{name!r} is not a capability that questions ask for{hint}"


def _find_bad_threshold(score: ScoreRule, bound: Sequence[Question]) -> str | None:
    """Return why all images, or none, would reach the score `at_least`; None if it can tell them apart."""
    if score.at_least is None or not bound:
        return None
    low, high = bound_values(bound, score.rule)
    if high is not None and score.at_least > high:
        return f"must be at most {high:g}, the highest score (got {score.at_least:g})"
    if low is not None and score.at_least <= low:
        return f"must be above {low:g}, the lowest score (got {score.at_least:g})"
    return None


def _place_questions(benchmark: Benchmark) -> Iterator[tuple[Place, Question]]:
    """Yield all questions of a benchmark's file, each with its place."""
    for number, question in enumerate(benchmark.questions):
        yield ("questions", number), question
    if not isinstance(benchmark.prompts, str):
        for number, entry in enumerate(benchmark.prompts):
            for own, question in enumerate(entry.questions):
                yield ("prompts", number, "questions", own), question


def bound_values(questions: Sequence[Question], rule: str = "mean") -> tuple[float | None, float | None]:
    """Return the range of a mean of values, or of their product; None where there is no bound."""
    lows = [question.low for question in questions]
    highs = [question.high for question in questions]
    low = None if None in lows else min(each for each in lows if each is not None)
    high = None if None in highs else max(each for each in highs if each is not None)
    if rule == "product" and (low is None or high is None or low < 0 or high > 1):
        return None, None
    return (0.0 if rule == "product" else low), high
