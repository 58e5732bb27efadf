"""The questions of a prompt with the answers about one picture, and why a score is what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from t2i_core.api import Evidence, Failure, PromptQuestion, QuestionAnswer

MOST_REASONS = 10
"""Maximum number of questions that an explanation names."""


@dataclass(frozen=True)
class JudgedQuestion:
    """A question with its answer.

    Attributes:
        question: The question.
        said: The answer in words.
        right: Whether it is right.
        probability: Probability of the right answers by the judge, in [0, 1]; 1 or 0 if it gives none. Not divided
            by the probability of all choices.
        has_probability: True if the judge gives probabilities.
    """

    question: PromptQuestion
    said: str
    right: bool
    probability: float
    has_probability: bool


def judge_questions(
    questions: Sequence[PromptQuestion], answers: Sequence[QuestionAnswer]
) -> list[JudgedQuestion] | Failure:
    """Return the questions with their answers; a failure if a question was left open."""
    found = []
    for question, answer in zip(questions, answers, strict=True):
        judged = judge_question(question, answer)
        if isinstance(judged, Failure):
            return judged
        found.append(judged)
    return found


def judge_question(question: PromptQuestion, answer: QuestionAnswer) -> JudgedQuestion | Failure:
    """Return a question with its answer, without choices in any case of letters; a failure if it was left open."""
    if not question.choices:
        said = normalise_words(answer.text)
        right = said in {normalise_words(each) for each in question.answers}
        return JudgedQuestion(question, answer.text.strip(), right, float(right), False)
    if answer.choice is None:
        return answer.explain_no_choice()
    right = answer.choice in question.answers
    if answer.probs is None:
        return JudgedQuestion(question, answer.choice, right, float(right), False)
    probability = sum(
        float(share)
        for choice, share in zip(answer.choices, answer.probs, strict=True)
        if choice in question.answers
    )
    return JudgedQuestion(question, answer.choice, right, min(probability, 1.0), True)


def normalise_words(text: str) -> str:
    """Return a free answer in lower case, without blanks and a full stop at its ends."""
    return " ".join(text.lower().split()).rstrip(".")


def map_right(judged: Iterable[JudgedQuestion]) -> dict[str, bool]:
    """Return whether each answer is right, by the question's id."""
    return {each.question.id: each.right for each in judged}


def map_parents(judged: Iterable[JudgedQuestion]) -> dict[str, tuple[str, ...]]:
    """Return the parents of each question, by its id."""
    return {each.question.id: each.question.parents for each in judged}


def average(judged: Sequence[JudgedQuestion], values: Mapping[str, float | bool]) -> float:
    """Return the mean of the questions' values by their weights; 0 if no value is left."""
    total = sum(each.question.weight for each in judged)
    return sum(each.question.weight * float(values[each.question.id]) for each in judged) / total


def explain(judged: Iterable[JudgedQuestion], valid: Mapping[str, bool] | None = None) -> str:
    """Return why a score is not 1: wrong answers, and right ones that do not count; empty if it is 1.

    Args:
        judged: The questions.
        valid: Whether each question counts, by its id; None if all do.
    """
    parts = [
        describe_answer(each) if cause is None else f"not counted: {each.question.text} (depends on: {cause})"
        for each, cause in _list_reasons(list(judged), valid)
    ]
    more = len(parts) - MOST_REASONS
    return "; ".join(parts[:MOST_REASONS]) + (f"; and {more} more" if more > 0 else "")


def show_answers(
    judged: Iterable[JudgedQuestion], valid: Mapping[str, bool] | None = None, place: str = ""
) -> tuple[Evidence, ...]:
    """Return the answers that lower a score as evidence about the whole image, at most `MOST_REASONS`.

    A label has the question, the answer, and the right answer, or the question on which it depends.

    Args:
        judged: The questions.
        valid: Whether each question counts, by its id; None if all do.
        place: The picture that the questions are about, if an image has several.
    """
    return tuple(
        Evidence(
            f"{place}{each.question.text} {each.said or 'nothing'} "
            + (f"(right: {' or '.join(each.question.answers)})" if cause is None else f"(depends on: {cause})")
        )
        for each, cause in _list_reasons(list(judged), valid)[:MOST_REASONS]
    )


def _list_reasons(
    judged: Sequence[JudgedQuestion], valid: Mapping[str, bool] | None
) -> list[tuple[JudgedQuestion, str | None]]:
    """Return the wrong answers, and the right ones that do not count, each with the question that is the cause."""
    known = {each.question.id: each for each in judged}
    wrong: list[tuple[JudgedQuestion, str | None]] = [(each, None) for each in judged if not each.right]
    lost = [each for each in judged if each.right and valid is not None and not valid[each.question.id]]
    return [*wrong, *((each, _find_cause(each.question, known, valid or {})) for each in lost)]


def _find_cause(question: PromptQuestion, known: Mapping[str, JudgedQuestion], valid: Mapping[str, bool]) -> str:
    """Return the text of the parent for which a question does not count: wrongly answered, else not counted."""
    unknown = (each for each in question.parents if each not in known)
    wrong = (each for each in question.parents if each in known and not known[each].right)
    lost = (each for each in question.parents if each in known and not valid[each])
    parent = next(chain(wrong, unknown, lost))
    return known[parent].question.text if parent in known else f"question {parent}, which does not exist"


def describe_answer(judged: JudgedQuestion) -> str:
    """Return an answer in words: `no to: Is there a giraffe?`."""
    right = (
        "" if judged.right or judged.question.answers == ("yes",) else f" (right: {judged.question.answers[0]})"
    )
    return f"{judged.said or 'nothing'} to: {judged.question.text}{right}"
