"""What a person's answers mean as an answer to a metric's question."""

from __future__ import annotations

from collections.abc import Sequence

from t2i_core.api.capabilities.answer import VisualQuestion
from t2i_core.io.answer_meaning import OtherAnswer, find_meant_choice, fold_words
from t2i_core.io.answers import CANNOT_TELL, HumanAnswer

from .answer_index import FoundAnswer


def read_vote(question: VisualQuestion, found: Sequence[FoundAnswer]) -> str | None:
    """Return what one person answers to a question: a choice, words if it has no choices, or `CANNOT_TELL`.

    A question is found by its words, also in place of its name. If the person was not asked it in these words, the
    answers to other questions count that mean a choice (`VisualQuestion.meant_by`).

    Args:
        question: The question.
        found: The person's answers about the images of the query.

    Returns:
        The answer; None if the person was not asked.

    Raises:
        OtherAnswer: If the answer is not among the choices.
    """
    # choices about two sides may name them by their order, so answers in the other order do not count
    in_words = [
        answer
        for answer, as_shown in found
        if as_shown
        and fold_words(question.text) in (fold_words(answer.text), fold_words(answer.question))
        and _offers(answer.choices, question.choices)
    ]
    if in_words:
        return _take_choice(question.choices, in_words)
    return find_meant_choice(question.meant_by, [answer for answer, _ in found])


def _offers(offered: Sequence[str], choices: Sequence[str]) -> bool:
    """Return whether an answer may be to a question: a metric may ask several questions in the same words."""
    return not offered or not choices or not {*map(fold_words, offered)}.isdisjoint(map(fold_words, choices))


def _take_choice(choices: Sequence[str], answers: Sequence[HumanAnswer]) -> str:
    """Return the last answer that is a choice, or `CANNOT_TELL`.

    If it is not known what was offered, `CANNOT_TELL` may be about another question in the same words, and an
    earlier choice counts.
    """
    if not choices:
        return answers[-1].answer
    for answer in reversed(answers):
        if answer.answer == CANNOT_TELL and answer.choices:
            return CANNOT_TELL
        own = fold_words(answer.answer)
        if (chosen := next((each for each in choices if fold_words(each) == own), None)) is not None:
            return chosen
    if all(answer.answer != CANNOT_TELL for answer in answers):
        raise OtherAnswer(answers[-1].answer)
    return CANNOT_TELL
