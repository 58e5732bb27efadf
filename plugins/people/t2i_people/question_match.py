"""What a person's answers mean as an answer to a metric's question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from t2i_core.api.capabilities.answer import VisualQuestion
from t2i_core.io.answers import CANNOT_TELL

from .answer_index import FoundAnswer


class OtherAnswer(Exception):
    """Raised with a person's answer that is not among the choices of the question."""


def read_vote(question: VisualQuestion, found: Iterable[FoundAnswer]) -> str | None:
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
    named: dict[str, str] = {}
    for answer, as_shown in found:
        named[answer.question] = answer.answer
        # choices about two sides may name them by their order, so answers in the other order do not count
        if as_shown and _fold(question.text) in (_fold(answer.text), _fold(answer.question)):
            return _take_choice(question.choices, answer.answer)
    return _combine(question.meant_by, named)


def _take_choice(choices: Sequence[str], answer: str) -> str:
    if not choices or answer == CANNOT_TELL:
        return answer
    chosen = next((choice for choice in choices if _fold(choice) == _fold(answer)), None)
    if chosen is None:
        raise OtherAnswer(answer)
    return chosen


def _combine(meant_by: Mapping[str, Sequence[Mapping[str, str]]], named: Mapping[str, str]) -> str | None:
    """Return the choice that answers to named questions mean."""
    asked: dict[str, str] = {}
    for choice, combinations in meant_by.items():
        for combination in combinations:
            if not combination.keys() <= named.keys():
                continue
            own = {name: named[name] for name in combination}
            if all(_fold(own[name]) == _fold(wanted) for name, wanted in combination.items()):
                return choice or CANNOT_TELL
            asked |= own if choice else {}
    if not asked:
        return None
    if CANNOT_TELL in asked.values():
        return CANNOT_TELL
    otherwise = next((choice for choice, combinations in meant_by.items() if not combinations), None)
    if otherwise is None:
        raise OtherAnswer(" and ".join(asked.values()))
    return otherwise or CANNOT_TELL


def _fold(words: str) -> str:
    return " ".join(words.split()).casefold()
