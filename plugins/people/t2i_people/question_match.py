"""What a person's answers mean as an answer to a metric's question."""

from __future__ import annotations

from collections.abc import Sequence

from t2i_core.api.capabilities.answer import VisualQuestion
from t2i_core.io.answer_meaning import OtherAnswer, find_meant_choice, fold_words
from t2i_core.io.answers import CANNOT_TELL

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
        answer.answer
        for answer, as_shown in found
        if as_shown and fold_words(question.text) in (fold_words(answer.text), fold_words(answer.question))
    ]
    if in_words:
        return _take_choice(question.choices, in_words)
    return find_meant_choice(question.meant_by, [answer for answer, _ in found])


def _take_choice(choices: Sequence[str], answers: Sequence[str]) -> str:
    """Return the answer that is a choice: a metric may ask several questions in the same words."""
    if not choices:
        return answers[0]
    said = {fold_words(answer) for answer in answers}
    chosen = next((choice for choice in choices if fold_words(choice) in said), None)
    if chosen is None and CANNOT_TELL not in answers:
        raise OtherAnswer(answers[0])
    return chosen or CANNOT_TELL
