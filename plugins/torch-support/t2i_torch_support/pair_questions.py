"""Questions to chat models about which of two images is better, and the verdicts that their answers give.

For judges of `prefer`. Their answers depend on this file, which their own code does not cover, so they name it in
their `weights`: `lambda argument, options: [pair_questions.SOURCE]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from t2i_core.api.capabilities.prefer import Verdict

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
"""The default question: first reasons, then one of four verdicts."""

TAXONOMY = """\
You are an impartial judge of images. Two assistants, A and B, each made an image for the user's prompt below. \
Decide whose image follows the prompt and shows its main concept better.

Take into account how well image and prompt agree, how relevant, accurate and detailed the image is, and its \
overall quality. Be as objective as you can: neither the order of the images nor their size nor the assistants' \
names may influence you.

Prompt of the user: {prompt}
{definitions}
Image of assistant A:
{first}
Image of assistant B:
{second}
Begin with a short explanation that compares the two images. Then give your final verdict in exactly this form: \
[[A]] if assistant A is better, [[B]] if assistant B is better, [[C]] for a tie, [[D]] if both images are bad."""
"""The question of the taxonomy image generation benchmark (its Figures 3 and 7), in other words.

It has the benchmark's criteria, what must not influence the judge, an explanation before the verdict, and its four
verdicts."""

QUESTIONS = {"": TEMPLATE, "taxonomy": TAXONOMY}
"""Questions by name. A query names one in its param `question`; without that it is the default."""

_PLACES = ("prompt", "definitions", "first", "second")
_PLACE = re.compile(rf"\{{({'|'.join(_PLACES)})\}}")
_VERDICTS: dict[str, Verdict] = {"A": "first", "B": "second", "C": "tie", "D": "both_bad"}


def check_template(text: str) -> str:
    """Return a user's template.

    It has, in braces, the prompt, the two images in their order and, optionally, the definitions.

    Raises:
        ValueError: If no question can be made of it.
    """
    found = _PLACE.findall(text)
    if any(found.count(place) != 1 for place in ("prompt", "first", "second")) or found.count("definitions") > 1:
        raise ValueError(
            "it must contain {prompt}, {first} and {second} once each, and {definitions} at most once"
        )
    if found.index("first") > found.index("second"):
        raise ValueError("{first} must come before {second}: images are shown in the order asked for")
    if not all(f"[[{letter}]]" in text for letter in _VERDICTS):
        raise ValueError("it must ask for a verdict: [[A]], [[B]], [[C]] for a tie, [[D]] where both are bad")
    return text


def choose_template(template: str, params: Mapping[str, Any]) -> str:
    """Return the question that a query asks for, unless the user has replaced the default.

    Args:
        template: The judge's option.
        params: The query's params; `question` is one of `QUESTIONS`.
    """
    return QUESTIONS.get(params.get("question", ""), template) if template == TEMPLATE else template


def write_question(
    template: str, prompt: str, definitions: Any, first: dict[str, Any], second: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the content of the message for the model: the template's text with the images in between.

    Args:
        template: As `check_template` accepts it.
        prompt: What both images were made for.
        definitions: A text, or texts by the word that they define; empty: none.
        first: The part of the message that shows the first image, as the model's side takes it.
        second: Likewise.

    Raises:
        TypeError: If definitions are anything else.
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


def read_verdict(answer: str, finished: bool) -> Verdict:
    """Return the verdict that an answer gives; `unparsable` if it gives none or several.

    What the model thinks aloud before it answers (<think>...</think>, which the question may have opened already)
    does not count. If an answer names several verdicts, its last line decides if that names only one.

    Args:
        answer: What the model wrote.
        finished: Whether the model ended the answer. One that was cut off gives no verdict, whatever it named.
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
