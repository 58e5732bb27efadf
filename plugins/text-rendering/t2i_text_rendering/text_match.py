"""Comparison of the text that was asked for with the text that was read."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy.optimize import linear_sum_assignment

_APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")


@dataclass(frozen=True)
class TextRules:
    """Rules by which texts are equal.

    Attributes:
        case: Whether upper and lower case differ.
        punctuation: Whether punctuation counts (characters that Unicode calls punctuation).
        spaces: Whether spaces count.
        any_order: Whether words are matched in any order by `TextMatch.edit_distance`.
    """

    case: bool = False
    punctuation: bool = False
    spaces: bool = True
    any_order: bool = True

    def split(self, texts: Iterable[str]) -> list[str]:
        """Return the words of texts in their order, in the form in which they are compared.

        Compatible characters (full-width letters, ligatures) and apostrophes become one form.
        """
        return [word for text in texts for each in text.split() if (word := self._normalise(each))]

    def _normalise(self, word: str) -> str:
        # apostrophes first, because NFKC makes a space and an accent of U+00B4
        word = unicodedata.normalize("NFKC", word.translate(_APOSTROPHES))
        if not self.case:
            word = word.casefold()
        if not self.punctuation:
            word = "".join(each for each in word if not unicodedata.category(each).startswith("P"))
        return word


@dataclass(frozen=True)
class TextMatch:
    """Agreement of the text that was read with the one that was asked for.

    Attributes:
        asked: Number of asked words.
        found: Number of these that were read, each read word counting once.
        edit_distance: Levenshtein distance of characters, divided by the length of the longer text, in [0, 1]. In
            any order, words are matched one to one at the lowest total distance, which is divided by the total
            length of the longer word of each pair; a word without a partner counts with all its characters.
    """

    asked: int
    found: int
    edit_distance: float


def match_texts(asked: Sequence[str], read: Sequence[str], rules: TextRules) -> TextMatch:
    """Compare texts.

    Args:
        asked: The asked texts.
        read: The texts that were read, in reading order.
        rules: What counts as equal.

    Raises:
        ValueError: If no word is asked for.
    """
    wanted, seen = rules.split(asked), rules.split(read)
    if not wanted:
        raise ValueError("no word is asked for")
    if not rules.spaces:
        whole, other = "".join(wanted), "".join(seen)
        return TextMatch(len(wanted), _count_within(wanted, other), _normalised_distance(whole, other))
    found = sum((Counter(wanted) & Counter(seen)).values())
    if rules.any_order:
        return TextMatch(len(wanted), found, _distance_of_words(wanted, seen))
    return TextMatch(len(wanted), found, _normalised_distance(" ".join(wanted), " ".join(seen)))


def _normalised_distance(asked: str, read: str) -> float:
    return float(Levenshtein.normalized_distance(asked, read))


def _count_within(words: Sequence[str], text: str) -> int:
    """Return how many words a text without spaces contains; no character counts for two words."""
    found = 0
    for word in sorted(words, key=len, reverse=True):
        if word in text:
            found += 1
            text = text.replace(word, "\0", 1)
    return found


def _distance_of_words(asked: Sequence[str], read: Sequence[str]) -> float:
    """Return the distance of words that are matched one to one in any order."""
    size = max(len(asked), len(read))
    left, right = ([*words, *[""] * (size - len(words))] for words in (asked, read))
    costs = cdist(left, right, scorer=Levenshtein.distance, dtype=np.int32)
    rows, columns = linear_sum_assignment(costs)
    longest = sum(max(len(left[row]), len(right[column])) for row, column in zip(rows, columns, strict=True))
    return float(costs[rows, columns].sum() / longest)
