"""Reading of an encoder-decoder's answers: log probabilities after beginnings of answers, in padded batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from t2i_core.api import Failure, QuestionAnswer
from torch.nn.functional import pad

from .answer_likelihood import Tokens

ResultT = TypeVar("ResultT")
Decode = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Returns logits (n, length, vocabulary), given encoded questions (n, tokens, width), their mask (n, tokens) and
the tokens of answers (n, length)."""


@dataclass(frozen=True)
class EncodedQuestion:
    """A question with its image, as the encoder gives it.

    Attributes:
        states: Shape (tokens, width).
        mask: 1 for tokens, 0 for padding; shape (tokens,).
    """

    states: torch.Tensor
    mask: torch.Tensor


def stack_questions(questions: Sequence[EncodedQuestion]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return states (n, tokens, width) and masks (n, tokens) of questions, padded on the right."""
    longest = max(len(question.mask) for question in questions)
    states = [pad(question.states, (0, 0, 0, longest - len(question.mask))) for question in questions]
    masks = [pad(question.mask, (0, longest - len(question.mask))) for question in questions]
    return torch.stack(states), torch.stack(masks)


def run_by_length(lengths: Sequence[int], work: Callable[[list[int]], Sequence[ResultT]]) -> list[ResultT]:
    """Run items of equal length together, and return a result for each item in order.

    Args:
        lengths: Length of each item.
        work: Takes the indices of items of equal length; returns one result per index.
    """
    groups: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        groups.setdefault(length, []).append(number)
    results: dict[int, ResultT] = {}
    for numbers in groups.values():
        results |= zip(numbers, work(numbers), strict=True)
    return [results[number] for number in range(len(lengths))]


def read_following(
    decode: Decode, start: int, questions: Sequence[EncodedQuestion], beginnings: Sequence[Tokens]
) -> list[torch.Tensor]:
    """Return the log probabilities of the tokens that follow the beginnings of answers.

    Args:
        decode: Asks the decoder. A token may not see the tokens after it, because answers are padded on the right.
        start: The token with which every answer starts.
        questions: The questions.
        beginnings: For each question the beginning of an answer.

    Returns:
        For each question float32 of shape (tokens of the beginning + 1, vocabulary).
    """
    states, masks = stack_questions(questions)
    longest = max(map(len, beginnings))
    rows = [[start, *beginning, *[start] * (longest - len(beginning))] for beginning in beginnings]
    with torch.inference_mode():
        logits = decode(states, masks, torch.tensor(rows, device=states.device))
        return [
            own[: len(beginning) + 1].float().log_softmax(-1).cpu()
            for own, beginning in zip(logits, beginnings, strict=True)
        ]


def read_text(text: str) -> QuestionAnswer | Failure:
    """Return the answer that a model wrote; a failure if it is empty."""
    said = text.strip()
    return QuestionAnswer(text=said) if said else Failure("the model answered with an empty text")
