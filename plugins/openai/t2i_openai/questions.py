"""Questions to a vision-language model, and its answers, with probabilities if the server gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from t2i_core.api import Image, Query, QuestionAnswer, VisualQuestion
from t2i_core.api.judge import Capability
from t2i_torch_support.pair_questions import choose_template, write_question

from .options import JudgeOptions
from .replies import Choice
from .transcription import REQUEST

MOST_CHOICES = len(ascii_uppercase)

Part = dict[str, Any]


def write_content(
    options: JudgeOptions, capability: Capability, query: Query, show: Callable[[Image], Part]
) -> str | list[Part]:
    """Return the content of the message that asks a query.

    Args:
        options: The judge's options.
        capability: The capability that is asked for: `prefer`, `reply`, `read`, or `answer`.
        query: The query.
        show: Returns the part of the message that shows an image.

    Raises:
        ValueError: If a question has more choices than letters.
    """
    if capability == "reply":
        return query.texts[0]
    if capability == "read":
        return [show(query.images[0]), _say(REQUEST)]
    if capability != "prefer":
        return write_parts(query, show)
    definitions = query.params.get("definitions", "") if options.with_definitions else ""
    first, second = map(show, query.images)
    template = choose_template(options.template, query.params)
    return write_question(template, query.texts[0], definitions, first, second)


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
    said = strip_thoughts(reply.message.text)
    if not choices:
        return QuestionAnswer(text=said)
    if finished and (place := _find_letter(said, choices)) is not None:
        chosen = ascii_uppercase.index(said[place].upper())
        return QuestionAnswer(choices, chosen, _read_probabilities(reply, said, place, len(choices)))
    named = _find_words(said, choices) if finished else None
    return QuestionAnswer(choices, named, text="" if named is not None else reply.message.text)


def strip_thoughts(text: str) -> str:
    """Return what a model says after its reasoning; empty if the reasoning does not end."""
    return re.sub(r"\A.*</think>|<think>.*\Z", "", text, flags=re.S).strip()


def _find_letter(said: str, choices: Sequence[str]) -> int | None:
    """Return the position in a text of the letter by which it names a choice; None if it does not."""
    letters = ascii_uppercase[: len(choices)]
    if match := re.fullmatch(rf"\W*([{letters}])\b\W*(.*)", said, flags=re.S | re.I):
        rest = match[2].strip(" .\n").lower()
        if rest in ("", choices[letters.index(match[1].upper())].lower()):
            return match.start(1)
    return None


def _find_words(said: str, choices: Sequence[str]) -> int | None:
    """Return the index of the choice that a text names by its words; None if it does not."""
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


def _find_token(tokens: Sequence[_Token], said: str, place: int) -> _Token | None:
    """Return the token at a position of what was said after the thoughts; None if the tokens say something else.

    Tokens may end with marks such as `<|im_end|>`, which the text of a reply lacks.
    """
    whole = "".join(token.token for token in tokens)
    begin = whole.rfind("</think>") + len("</think>") if "</think>" in whole else 0
    match = re.compile(rf"\s*({re.escape(said)})\s*(<[^<>\s]+>\s*)*").fullmatch(whole, begin)
    if match is None:
        return None
    ends = accumulate(len(token.token) for token in tokens)
    return next(token for token, end in zip(tokens, ends, strict=True) if end > match.start(1) + place)


def _read_probabilities(reply: Choice, said: str, place: int, count: int) -> NDArray[np.float64] | None:
    """Return the probability of each choice from the alternatives to the token that is the letter.

    Args:
        reply: The reply.
        said: What it says after its thoughts.
        place: The position of the letter in it.
        count: The number of choices.

    Returns:
        float64 of shape (count,); None if the server gives no log probabilities of a token that is this letter.
    """
    letters = list(ascii_uppercase[:count])
    token = _find_token(_read_tokens(reply), said, place)
    if token is None or token.token.strip().upper() != said[place].upper():
        return None
    probs = np.zeros(count)
    for each in token.top_logprobs or [token]:
        if (letter := each.token.strip().upper()) in letters:
            probs[letters.index(letter)] += math.exp(min(each.logprob, 0.0))
    total = probs.sum()
    return probs / total if total > 1 else probs
