"""Majority: what most people answer to one question about the same images. One rule for all who use answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .answers import CANNOT_TELL


@dataclass(frozen=True)
class Majority:
    """The answers of several people to one question about the same images.

    Attributes:
        counts: Number of people by answer, `CANNOT_TELL` among them.
        answer: The most frequent answer. None if two are equally frequent, or if most cannot tell: four people who
            cannot tell and one who says male are no majority for male.
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


def find_majority(answers: Iterable[str]) -> Majority:
    """Return the majority of answers, one for each person."""
    counts = Counter(answers)
    first, *others = [*counts.most_common(2), (CANNOT_TELL, 0)]
    clear = first[0] != CANNOT_TELL and first[1] > others[0][1]
    return Majority(dict(counts), first[0] if clear else None)
