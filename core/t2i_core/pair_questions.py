"""Questions to models that chat: which of two images is better? And what their answers mean.

For judges of `prefer`. Whatever such a judge asks or understands differently changes its answers, so it names this
file in its `weights`: `lambda argument, options: [pair_questions.SOURCE]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.observation import Verdict

SOURCE = Path(__file__)
"""This file, on which answers depend."""

TEMPLATE = """\
Two text-to-image models were given the same prompt. Which of their images is better?

Judge first whether the image shows the main concept of the prompt and follows the prompt, then how faithful its \
details are and how good an image it is. Be impartial: neither the order in which the images are shown nor their \
size says anything about them.

Prompt: {prompt}
{definitions}
Image A:
{first}
Image B:
{second}
Compare the images in a few sentences. Then end with a line that holds your verdict alone: [[A]] if image A is \
better, [[B]] if image B is better, [[C]] if they are equally good, [[D]] if both are bad."""
"""A question to ask by default: first reasons, then one of four verdicts, as the taxonomy benchmark asks."""

_PLACES = ("prompt", "definitions", "first", "second")
_PLACE = re.compile(rf"\{{({'|'.join(_PLACES)})\}}")
_VERDICTS: dict[str, Verdict] = {"A": "first", "B": "second", "C": "tie", "D": "both_bad"}


def checked_template(text: str) -> str:
    """Return a user's template. Raises ValueError where no question can be made of it.

    In braces stand the prompt, the two images in their order, and, where wanted, the definitions.
    """
    found = _PLACE.findall(text)
    if any(found.count(place) != 1 for place in ("prompt", "first", "second")) or found.count("definitions") > 1:
        raise ValueError("want {prompt}, {first} and {second} once each, and {definitions} once at most")
    if found.index("first") > found.index("second"):
        raise ValueError("{first} must come before {second}: images are shown in the order asked for")
    if not all(f"[[{letter}]]" in text for letter in _VERDICTS):
        raise ValueError("it must ask for a verdict: [[A]], [[B]], [[C]] for a tie, [[D]] where both are bad")
    return text


def question(
    template: str, prompt: str, definitions: Any, first: dict[str, Any], second: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the content of the message that a model is sent: the template's text with the images between.

    definitions:   a text, or texts by the word that they define; empty: none
    first, second: the parts of the message that show the images, as the model's side takes them

    Raises TypeError for other definitions.
    """
    words = {"prompt": prompt, "definitions": _in_words(definitions)}
    images = {"first": first, "second": second}
    parts: list[dict[str, Any]] = []
    text = ""
    for number, piece in enumerate(_PLACE.split(template)):
        if number % 2 == 0:  # between places
            text += piece
        elif piece in words:
            text += words[piece]
        else:
            parts += [{"type": "text", "text": text}, images[piece]]
            text = ""
    return [*parts, {"type": "text", "text": text}] if text.strip() else parts


def _in_words(definitions: Any) -> str:
    if isinstance(definitions, str):
        return f"Definition: {definitions}\n" if definitions else ""
    if isinstance(definitions, Mapping) and all(isinstance(t, str) for pair in definitions.items() for t in pair):
        lines = [f"- {word}: {meaning}\n" for word, meaning in definitions.items()]
        return f"Definitions:\n{''.join(lines)}" if lines else ""
    raise TypeError("definitions must be a text, or texts by the word that they define")


def verdict(answer: str, finished: bool) -> Verdict:
    """Return the verdict that an answer gives, `unparsable` where it gives none or several.

    finished: whether the model ended it; one that was cut off gives none, whatever it has named by then

    What the model thinks aloud before (<think>...</think>, which its question may have opened already) does not
    count. Where it names several verdicts, the last line decides if it holds only one.
    """
    if not finished:
        return "unparsable"
    answer = re.sub(r"\A.*</think>|<think>.*\Z", "", answer, flags=re.S)
    found = _named(answer)
    if len(found) > 1:
        found = _named(answer.rstrip().rpartition("\n")[2])
    return _VERDICTS[found.pop()] if len(found) == 1 else "unparsable"


def _named(text: str) -> set[str]:
    return set(re.findall(r"\[\[\s*([ABCD])\s*\]\]", text))
