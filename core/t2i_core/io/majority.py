"""Majority: what most people answer to one question about the same images. One rule for all who use answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from .answers import BOTH_BAD, CANNOT_TELL, LEFT, RIGHT, TIE


@dataclass(frozen=True)
class Majority:
    """The answers of several people to one question about the same images.

    Attributes:
        counts: Number of people by answer, `CANNOT_TELL` among them.
        answer: The answer that counts, see `find_majority`. None without a majority: four people who cannot tell
            and one who says male do not make a majority for male.
    """

    counts: Mapping[str, int]
    answer: str | None

    @property
    def raters(self) -> int:
        """The number of people."""
        return sum(self.counts.values())

    @property
    def is_unanimous(self) -> bool:
        """True if all people give the same answer."""
        return self.answer is not None and len(self.counts) == 1


MajorityRule = Literal["most", "half"]
"""Which answer counts: the most frequent one, or the one of more than half of the people."""


def find_majority(answers: Iterable[str], rule: MajorityRule = "most") -> Majority:
    """Return the majority of answers, one for each person.

    Args:
        answers: The answers.
        rule: `most`: the most frequent answer counts; none if two are equally frequent, or if most cannot tell.
            `half`: only an answer of more than half of all people counts, with those who cannot tell.
    """
    counts = Counter(answers)
    first, *others = [*counts.most_common(2), (CANNOT_TELL, 0)]
    clear = first[0] != CANNOT_TELL and first[1] > others[0][1]
    if rule == "half":
        clear = clear and 2 * first[1] > counts.total()
    return Majority(dict(counts), first[0] if clear else None)


_TURNED = {LEFT: RIGHT, RIGHT: LEFT}


def turn_preference(answer: str) -> str:
    """Return a preference between two sides as an answer about them in the other order."""
    return _TURNED.get(answer, answer)


def find_preferred(answers: Iterable[str]) -> tuple[str, float]:
    """Return what several people prefer, and by how much.

    Args:
        answers: Each person's preference: left, right, tie or both-bad; one or more.

    Returns:
        The side with more votes than the other. Without one, both-bad if more than half say so, otherwise tie. And
        the margin: the share of left votes less the share of right votes, in [-1, 1].
    """
    counts = Counter(answers)
    margin = counts[LEFT] - counts[RIGHT]
    neither = BOTH_BAD if 2 * counts[BOTH_BAD] > counts.total() else TIE
    return (LEFT if margin > 0 else RIGHT if margin < 0 else neither), margin / counts.total()
