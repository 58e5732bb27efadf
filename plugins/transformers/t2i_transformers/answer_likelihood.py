"""Probabilities of answers from the probabilities of their tokens; imports no library of models.

References:
    Lin et al.: Evaluating Text-to-Visual Generation with Image-to-Text Generation (VQAScore). ECCV 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Tokens = tuple[int, ...]
LogProbs = Any
"""Log probabilities over a vocabulary, indexed by a token."""

TokenScores = Mapping[Tokens, Sequence[float]]
"""Log probability of each token of an answer, given the tokens before it, by the answer's tokens."""


def geometric_mean(log_probs: Sequence[float]) -> float:
    """Return the geometric mean of the probabilities of an answer's tokens: exp of minus their cross-entropy.

    Args:
        log_probs: Natural logarithm of each token's probability, given the tokens before it.
    """
    return math.exp(math.fsum(log_probs) / len(log_probs))


def encode_words(words: Sequence[str], encode: Callable[[str], Sequence[int]]) -> list[Tokens]:
    """Return the tokens of each choice as it is written.

    Args:
        words: The choices of a question, or the words for yes and no.
        encode: Returns the tokens of a text, without marks of its beginning and end.

    Raises:
        ValueError: If a choice has no tokens, or two choices have the same.
    """
    found = [tuple(encode(word)) for word in words]
    for word, tokens in zip(words, found, strict=True):
        if not tokens:
            raise ValueError(f"the model has no token for the choice {word!r}")
    if len(set(found)) < len(found):
        raise ValueError(f"the model cannot tell the choices {', '.join(map(repr, words))} apart")
    return found


def find_spellings(choices: Sequence[str], encode: Callable[[str], Sequence[int]]) -> list[list[Tokens]]:
    """Return the tokens of each choice in its spellings: as written, and with a capital.

    A spelling with a capital that another choice has as its own counts for that choice alone.

    Args:
        choices: The choices of a question.
        encode: Returns the tokens of a text, without marks of its beginning and end.

    Raises:
        ValueError: If a choice has no tokens, or two choices have the same.
    """
    own = encode_words(choices, encode)
    taken = set(own)
    spellings = []
    for choice, tokens in zip(choices, own, strict=True):
        capital = tuple(encode(choice[:1].upper() + choice[1:]))
        spellings.append([tokens, *([capital] if capital and capital not in taken else [])])
        taken.add(capital)
    return spellings


def list_contexts(spellings: Iterable[Tokens]) -> list[Tokens]:
    """Return the shortest list of answer beginnings after which a model must be asked for its next token.

    A pass of the model over one beginning also gives the probabilities after each shorter one, so that answers of
    a single token need one pass in all, over the empty beginning.

    Args:
        spellings: The tokens of all answers.
    """
    beginnings = sorted({tokens[:-1] for tokens in spellings}, key=len, reverse=True)
    contexts: list[Tokens] = []
    for beginning in beginnings:
        if not any(longer[: len(beginning)] == beginning for longer in contexts):
            contexts.append(beginning)
    return contexts


def score_spellings(
    questions: Sequence[Sequence[Sequence[Tokens]]],
    read: Callable[[Sequence[tuple[int, Tokens]]], Iterable[Any]],
    at_once: int,
) -> list[TokenScores]:
    """Return the log probabilities of the tokens of each spelling, for each question.

    Args:
        questions: For each question the spellings of each choice.
        read: Asks the model: given pairs of a question's index and the beginning of an answer, it returns for each
            the log probabilities over the vocabulary of the token after the question, and after each token of the
            beginning, one row for each.
        at_once: Number of pairs that the model reads at once.
    """
    asked = [
        (number, beginning)
        for number, choices in enumerate(questions)
        for beginning in list_contexts(tokens for own in choices for tokens in own)
    ]
    following: list[dict[Tokens, LogProbs]] = [{} for _ in questions]
    for start in range(0, len(asked), at_once):
        part = asked[start : start + at_once]
        for (number, beginning), log_probs in zip(part, read(part), strict=True):
            following[number] |= {beginning[:end]: log_probs[end] for end in range(len(beginning) + 1)}
    return [
        {
            tokens: [float(after[tokens[:end]][token]) for end, token in enumerate(tokens)]
            for own in choices
            for tokens in own
        }
        for choices, after in zip(questions, following, strict=True)
    ]


def sum_spellings(spellings: Sequence[Sequence[Tokens]], scores: TokenScores) -> list[float]:
    """Return the probability of each choice.

    A choice's probability is that the model's answer begins with one of its spellings, and not with a longer
    spelling of any choice: of `red` and `red and blue`, the first does not count what begins with the second. So
    the probabilities sum to at most 1.

    Args:
        spellings: The tokens of each choice in each of its spellings; all are different.
        scores: For each spelling the natural logarithm of each token's probability, given the tokens before it.
    """
    every = {tokens for own in spellings for tokens in own}
    nearest: dict[Tokens, list[Tokens]] = {}
    for tokens in every:
        shorter = [tokens[:end] for end in range(len(tokens) - 1, 0, -1) if tokens[:end] in every]
        if shorter:
            nearest.setdefault(shorter[0], []).append(tokens)
    probs = {tokens: math.exp(math.fsum(scores[tokens])) for tokens in every}
    return [
        math.fsum(max(0.0, probs[t] - math.fsum(probs[n] for n in nearest.get(t, ()))) for t in own)
        for own in spellings
    ]
