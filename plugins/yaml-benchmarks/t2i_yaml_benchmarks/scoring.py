"""The score of one image from the answers to its questions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from t2i_yaml_benchmarks.answer_values import QuestionValue
from t2i_yaml_benchmarks.benchmark import ScoreRule
from t2i_yaml_benchmarks.question_fields import Question


def apply_parents(questions: Sequence[Question], values: Sequence[QuestionValue]) -> list[QuestionValue]:
    """Return the values, of which those of questions whose parents have a wrong answer are their lowest.

    That is 0, or the lowest of a rating's values. Rewards have no lowest value, and no parents.

    Only the parents' own answers count: a question that is 0 because of its parent does not make its children 0.

    References:
        Cho et al.: Davidsonian Scene Graph. ICLR 2024. arXiv:2310.18235
    """
    wrong = {question.id for question, own in zip(questions, values, strict=True) if own.is_right is False}
    found = []
    for question, own in zip(questions, values, strict=True):
        parent = next((each for each in question.parents if each in wrong), None)
        if parent is None or own.is_right is False:
            found.append(own)
            continue
        right = None if own.is_right is None else False
        because = f"question {question.id}: its parent {parent} is answered wrong"
        assert question.low is not None  # rewards, which have none, have no parents
        found.append(QuestionValue(question.low, right, because))
    return found


def score_categories(questions: Sequence[Question], values: Sequence[QuestionValue]) -> dict[str, float]:
    """Return the weighted mean of the values of each category."""
    names = dict.fromkeys(question.category for question in questions if question.category)
    pairs = list(zip(questions, values, strict=True))
    return {name: _mean([pair for pair in pairs if pair[0].category == name]) for name in names}


def score_image(score: ScoreRule, questions: Sequence[Question], values: Sequence[QuestionValue]) -> float:
    """Return the score of one image.

    Args:
        score: The rule.
        questions: The questions about the image, at least one.
        values: What the answers are worth, in the same order.
    """
    if score.weights:
        parts = score_categories(questions, values)
        value = sum(score.weights[name] * part for name, part in parts.items())
        value /= sum(score.weights[name] for name in parts)
    elif score.rule == "mean":
        value = _mean(list(zip(questions, values, strict=True)))
    elif score.rule == "product":
        value = prod(own.value for own in values)
    else:
        decide = all if score.rule == "all" else any
        value = float(decide(own.is_right for own in values))
    return value if score.at_least is None else float(value >= score.at_least)


def _mean(pairs: Sequence[tuple[Question, QuestionValue]]) -> float:
    total = sum(question.weight for question, _ in pairs)
    return sum(question.weight * own.value for question, own in pairs) / total
