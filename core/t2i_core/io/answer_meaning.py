"""Translation of a person's answers to named questions into an answer to another question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .answers import CANNOT_TELL, HumanAnswer


class OtherAnswer(Exception):
    """Raised with a person's answer that is not among the choices of the question."""


def find_meant_choice(
    meant_by: Mapping[str, Sequence[Mapping[str, str]]], answers: Sequence[HumanAnswer]
) -> str | None:
    """Return the choice that a person's answers to other questions mean.

    A combination with an answer that the person was not offered says nothing: people who could not say giraffe
    have not said that it is missing.

    Args:
        meant_by: For each choice, the combinations of answers that mean it (`VisualQuestion.meant_by`).
        answers: A person's answers about the same images.

    Returns:
        The choice, or `CANNOT_TELL`; None if the person answered none of these questions.

    Raises:
        OtherAnswer: If the answers mean none of the choices.
    """
    named = {answer.question: answer.answer for answer in answers}
    offered = {answer.question: set(map(fold_words, answer.choices)) for answer in answers}
    asked: dict[str, str] = {}
    for choice, combinations in meant_by.items():
        for combination in combinations:
            wanted = combination.items()
            if not all(name in named and _is_offered(value, offered[name]) for name, value in wanted):
                continue
            own = {name: named[name] for name in combination}
            if all(fold_words(own[name]) == fold_words(value) for name, value in wanted):
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


def _is_offered(answer: str, choices: set[str]) -> bool:
    return not choices or fold_words(answer) in choices


def fold_words(words: str) -> str:
    """Return words without differences of case and blanks."""
    return " ".join(words.split()).casefold()
