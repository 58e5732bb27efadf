"""The oracle's answers to questions about a picture, from its ground truth.

It reads, in the grammar of `phrases`:

- questions with the choices yes and no: "Is there at least one red car in this image?", "Are there exactly two
  dogs?", "Is the dog to the left of the car?", "Is the car red?". "A car" is one or more; a number is exact;
- "How many red cars are there?", with numbers as choices or in free text;
- "What colour is the car?", with colours as choices or in free text;
- "Which of these ...?" with a description of the picture as each choice.

A question with a scene is answered from the scene. Any other question is a failure that says what it cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from t2i_core.api import Failure, Instance, QuestionAnswer, Truth, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO

from t2i_miniworld.names import words
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.phrases import NUMBERS, OPPOSITE, Phrase, Reading, find_unread_words, read
from t2i_miniworld.scene_match import find_share
from t2i_miniworld.statements import holds, list_fitting
from t2i_miniworld.streams import stream

_OPEN = re.compile(r"\b(?:at least (?:one|1|an?)|an?|any|another)\b")
_COLOURED = re.compile(rf"(?:is|are) (?:the |an? )?(?P<things>[^?]+?) (?P<paint>{'|'.join(PAINTS)})\s*\??")
_HOW_MANY = re.compile(r"how many\b")
_WHAT_COLOUR = re.compile(r"(?:what|which) colou?r\b")
_WHICH = re.compile(r"(?:which of these|what does this)\b")
_OTHER_THAN_YES_NO = re.compile(r"(?:how|what|which|who)\b")
_NEGATION = re.compile(r"\b(?:no|not|without)\b(?! (?:some )?(?:\w+ )?(?:hats?|hair|coats?)\b)")


class UnreadableQuestion(Exception):
    """Raised with what the oracle cannot read."""


def answer(question: VisualQuestion, shown: Truth) -> QuestionAnswer | Failure:
    """Return the true answer to a question about one picture; none of the choices if none is true."""
    try:
        found = _find(question, shown.instances)
    except UnreadableQuestion as error:
        return Failure(f"the oracle cannot answer {question.text!r}: {error}")
    if not question.choices:
        return QuestionAnswer(text=found)
    chosen = _match(found, question.choices)
    if chosen is None:
        return QuestionAnswer(question.choices, None, np.zeros(len(question.choices)), text=found)
    return QuestionAnswer(question.choices, chosen, np.eye(len(question.choices))[chosen])


def err(found: QuestionAnswer, rate: float, *key: str) -> QuestionAnswer:
    """Return an answer, or with a probability of ``rate`` another choice, all of them equally likely.

    The same ``key``, the image's digest and the question's texts, always gives the same answer.
    """
    if not found.choices:
        return found
    rng = stream("answer", *key)
    if rng.random() >= rate:
        return found
    others = [number for number in range(len(found.choices)) if number != found.chosen]
    chosen = others[int(rng.integers(len(others)))]
    return replace(found, chosen=chosen, probs=np.eye(len(found.choices))[chosen])


def _find(question: VisualQuestion, shown: Sequence[Instance]) -> str:
    """Return the answer in words."""
    text = question.text.lower().strip()
    if question.scene is not None:
        return "yes" if find_share(question.scene, shown) == 1 else "no"
    if {choice.lower() for choice in question.choices} >= set(YES_NO) and not _OTHER_THAN_YES_NO.match(text):
        return "yes" if holds(_read(text), shown) else "no"
    if _HOW_MANY.match(text):
        return str(len(list_fitting(_read_one(text), shown)))
    if _WHAT_COLOUR.match(text):
        # the thing may have any colour
        colours = {one.colour for one in list_fitting(_read_one(text), shown)}
        if len(colours) != 1:
            raise UnreadableQuestion("it is not about things of one colour")
        return colours.pop() or "none"
    if question.choices and _WHICH.match(text):
        true_ones = [choice for choice in question.choices if holds(_read(choice.lower()), shown)]
        if len(true_ones) > 1:
            raise UnreadableQuestion(f"{' and '.join(map(repr, true_ones))} are both true")
        return true_ones[0] if true_ones else "none of them"
    raise UnreadableQuestion(
        "it reads questions with yes and no, how many, what colour, and which of several descriptions"
    )


def _match(found: str, choices: Sequence[str]) -> int | None:
    """Return the index of the choice that an answer names; numbers may be words."""
    wanted = _normalise(found)
    return next((number for number, choice in enumerate(choices) if _normalise(choice) == wanted), None)


def _normalise(choice: str) -> str:
    word = choice.lower().strip()
    return str(NUMBERS[word]) if word in NUMBERS else {"zero": "0"}.get(word, word)


def _read(text: str) -> Reading:
    """Parse a statement or a question with yes and no; each name refers to one or more things."""
    if match := _COLOURED.fullmatch(text):
        text = f"some {match['paint']} {match['things']}"
    text = _OPEN.sub("some", text)
    if unread := find_unread_words(text):
        raise UnreadableQuestion(f"it does not know {', '.join(map(repr, unread))}")
    if _NEGATION.search(text):
        raise UnreadableQuestion("it reads no negation")
    reading, said = read(text), words(text)
    if not reading.phrases:
        raise UnreadableQuestion("it names nothing that the mini world has")
    coats = sum("coat" in phrase.worn for phrase in reading.phrases)
    if sum(word in PAINTS for word in said) != coats + sum(len(phrase.paints) for phrase in reading.phrases):
        raise UnreadableQuestion("it names a colour that belongs to no object")
    if sum(word in OPPOSITE for word in said) != len(reading.sides) // 2:
        raise UnreadableQuestion("it names a place that relates no two objects")
    return _join_repeated(_open_singulars(reading, said))


def _open_singulars(reading: Reading, said: Sequence[str]) -> Reading:
    """Have names in the singular stand for one or more things, unless the text says one."""
    singulars = [phrase for phrase in reading.phrases if phrase.count == 1]
    if "one" in said or "1" in said:
        if len(singulars) > 1:
            raise UnreadableQuestion("it says one of several things")
        return reading
    return replace(reading, phrases=tuple(replace(p, count=None) if p.count == 1 else p for p in reading.phrases))


def _read_one(text: str) -> Phrase:
    """Parse a question about one kind of things."""
    reading = _read(text)
    if len(reading.phrases) != 1 or reading.sides:
        raise UnreadableQuestion("it is not about one kind of object")
    return reading.phrases[0]


def _join_repeated(reading: Reading) -> Reading:
    """Leave out names that only repeat another one: the car, after a red car."""
    kept = [
        phrase
        for number, phrase in enumerate(reading.phrases)
        if phrase.count is not None
        or phrase.paints
        or phrase.worn
        or not any(
            other.leaves == phrase.leaves and (at < number or other != phrase)
            for at, other in enumerate(reading.phrases)
            if at != number
        )
    ]
    return replace(reading, phrases=tuple(kept))
