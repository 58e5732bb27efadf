"""One person's part in an observation that several people gave together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class RaterAnswer(NamedTuple):
    """One person's answer to a query.

    Attributes:
        rater: Name of the person.
        answer: The answer: a choice of the question, `cannot-tell`, or a verdict on two images.
        as_shown: False if the person saw the two sides in the other order than the query has them.
    """

    rater: str
    answer: str
    as_shown: bool = True


def read_rater_answers(stored: Iterable[Sequence[Any]]) -> tuple[RaterAnswer, ...]:
    """Return people's answers from their stored form, lists of the fields."""
    return tuple(RaterAnswer(*each) for each in stored)


def check_rater_answers(votes: Any) -> None:
    """Raise TypeError if these are not people's answers."""
    if not isinstance(votes, tuple) or not all(
        isinstance(vote, RaterAnswer) and isinstance(vote.rater, str) and isinstance(vote.answer, str)
        for vote in votes
    ):
        raise TypeError("gave votes that are not a tuple of RaterAnswer")
