"""Questions to a vision-language model, and its answers, with probabilities if the server gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from t2i_core.api import Image, Query, QuestionAnswer, VisualQuestion

from .replies import Choice

MOST_CHOICES = len(ascii_uppercase)

Part = dict[str, Any]


def write_parts(query: Query, show: Callable[[Image], Part]) -> list[Part]:
    """Return the content of the message that asks a question: the images, then the question with its choices.

    Args:
        query: The question and its images.
        show: Returns the part of the message that shows an image.

    Raises:
        ValueError: If there are more choices than letters.
    """
    question = VisualQuestion.of(query)
    if len(question.choices) > MOST_CHOICES:
        raise ValueError(f"a question may have at most {MOST_CHOICES} choices (got {len(question.choices)})")
    parts: list[Part] = []
    for title, images in _list_images(query, question):
        parts += [_say(title)] if title else []
        parts += [show(image) for image in images]
    return [*parts, _say(_write_words(question))]


def _list_images(query: Query, question: VisualQuestion) -> list[tuple[str, Sequence[Image]]]:
    """Return groups of images, each with its title."""
    images = query.images
    if question.grids is not None:
        first = question.grids[0]
        return [("First group of images:\n", images[:first]), ("Second group of images:\n", images[first:])]
    if len(images) == 2:
        return [("First image:\n", images[:1]), ("Second image:\n", images[1:])]
    return [("", images)]


def _write_words(question: VisualQuestion) -> str:
    if not question.choices:
        return f"{question.text}\nAnswer in one short sentence."
    order = " They are ordered from the lowest to the highest." if question.ordered else ""
    lines = [f"{letter}. {choice}" for letter, choice in zip(ascii_uppercase, question.choices, strict=False)]
    return "\n".join(
        [question.text, f"The choices:{order}", *lines, "Answer with the letter of your choice and nothing else."]
    )


def _say(text: str) -> Part:
    return {"type": "text", "text": text}


def read_answer(query: Query, reply: Choice, finished: bool) -> QuestionAnswer:
    """Return the answer that a model's reply gives; no choice if it names none, or several.

    Args:
        query: The question.
        reply: The reply, with log probabilities of its tokens if the server gives them.
        finished: False if the server cut the reply off; such a reply names no choice.
    """
    choices = VisualQuestion.of(query).choices
    said = re.sub(r"\A.*</think>|<think>.*\Z", "", reply.message.text, flags=re.S).strip()
    if not choices:
        return QuestionAnswer(text=said)
    chosen = _find_choice(said, choices) if finished else None
    probs = _read_probabilities(reply, len(choices)) if chosen is not None else None
    return QuestionAnswer(choices, chosen, probs, "" if chosen is not None else reply.message.text)


def _find_choice(said: str, choices: Sequence[str]) -> int | None:
    """Return the index of the choice that a text names by its letter or its words."""
    letters = ascii_uppercase[: len(choices)]
    if match := re.fullmatch(rf"\W*([{letters}])\b\W*(.*)", said, flags=re.S | re.I):
        number, rest = letters.index(match[1].upper()), match[2].strip(" .\n")
        if not rest or rest.lower() == choices[number].lower():
            return number
    named = said.strip(" .\n\"'").lower()
    return next((number for number, choice in enumerate(choices) if choice.lower() == named), None)


class _Alternative(BaseModel):
    token: str
    logprob: float


class _Token(_Alternative):
    top_logprobs: list[_Alternative] = []


class _Tokens(BaseModel):
    content: list[_Token]


def _read_tokens(reply: Choice) -> Sequence[_Token]:
    """Return the tokens of a reply; none if the server gives no log probabilities, or in another form."""
    try:
        return _Tokens.model_validate(reply.logprobs).content
    except ValidationError:
        return ()


def _read_probabilities(reply: Choice, count: int) -> NDArray[np.float64] | None:
    """Return the probability of each choice from the alternatives to the token that names the letter.

    Returns:
        float64 of shape (count,); None if the server gives no log probabilities of a token that is a letter.
    """
    letters = list(ascii_uppercase[:count])
    for token in _read_tokens(reply):
        if token.token.strip().upper() in letters:
            probs = np.zeros(count)
            for each in token.top_logprobs or [token]:
                if (letter := each.token.strip().upper()) in letters:
                    probs[letters.index(letter)] += math.exp(min(each.logprob, 0.0))
            total = probs.sum()
            return probs / total if total > 1 else probs
    return None
