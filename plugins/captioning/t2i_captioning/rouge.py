"""ROUGE-L of tokenised captions, as in pycocoevalcap.

References:
    Lin: ROUGE: A Package for Automatic Evaluation of Summaries. 2004.
"""

from __future__ import annotations

from collections.abc import Sequence

BETA = 1.2


def compute_rouge_l(caption: str, references: Sequence[str]) -> float:
    """Return the F score of the longest common subsequences.

    The best precision and the best recall may come from different references. An empty caption is one empty word.
    """
    words = caption.split(" ")
    others = [reference.split(" ") for reference in references]
    common = [measure_common_subsequence(words, other) for other in others]
    precision = max(length / len(words) for length in common)
    recall = max(length / len(other) for length, other in zip(common, others, strict=True))
    if not (precision and recall):
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def measure_common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two lists of words."""
    before = [0] * (len(b) + 1)
    for word in a:
        row = [0]
        for place, other in enumerate(b):
            row.append(before[place] + 1 if word == other else max(row[-1], before[place + 1]))
        before = row
    return before[-1]
