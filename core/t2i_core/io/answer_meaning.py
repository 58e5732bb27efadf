"""What a person's answers to named questions mean as an answer to another question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .answers import CANNOT_TELL


class OtherAnswer(Exception):
    """Raised with a person's answer that is not among the choices of the question."""


def find_meant_choice(meant_by: Mapping[str, Sequence[Mapping[str, str]]], named: Mapping[str, str]) -> str | None:
    """Return the choice that answers to named questions mean.

    Args:
        meant_by: For each choice, the combinations of answers that mean it (`VisualQuestion.meant_by`).
        named: A person's answers by question.

    Returns:
        The choice, or `CANNOT_TELL`; None if the person answered none of these questions.

    Raises:
        OtherAnswer: If the answers mean none of the choices.
    """
    asked: dict[str, str] = {}
    for choice, combinations in meant_by.items():
        for combination in combinations:
            if not combination.keys() <= named.keys():
                continue
            own = {name: named[name] for name in combination}
            if all(fold_words(own[name]) == fold_words(wanted) for name, wanted in combination.items()):
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


def fold_words(words: str) -> str:
    """Return words without differences of case and blanks."""
    return " ".join(words.split()).casefold()
