"""Questions about pairs of images, and what their answers mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from t2i_core.observations import Verdict

from .options import PLACES

VERDICTS: dict[str, Verdict] = {"A": "first", "B": "second", "C": "tie", "D": "both_bad"}


def question(template: str, prompt: str, definitions: str, first: Any, second: Any) -> list[dict[str, Any]]:
    """Return the message that a model is sent: the template's text with the images between."""
    shown = {"first": {"type": "image", "image": first}, "second": {"type": "image", "image": second}}
    words = {"prompt": prompt, "definitions": definitions}
    parts: list[dict[str, Any]] = []
    text = ""
    for number, piece in enumerate(re.split(rf"\{{({'|'.join(PLACES)})\}}", template)):
        if number % 2 == 0:  # between places
            text += piece
        elif piece in words:
            text += words[piece]
        else:
            parts += [{"type": "text", "text": text}, shown[piece]]
            text = ""
    return [*parts, {"type": "text", "text": text}] if text.strip() else parts


def definitions_text(definitions: Any) -> str:
    """Return the `definitions` of a query in words: a text, or texts by the word that they define.

    Raises TypeError for anything else.
    """
    if isinstance(definitions, str):
        return f"Definition: {definitions}\n" if definitions else ""
    if isinstance(definitions, Mapping) and all(isinstance(t, str) for pair in definitions.items() for t in pair):
        lines = [f"- {word}: {meaning}\n" for word, meaning in definitions.items()]
        return f"Definitions:\n{''.join(lines)}" if lines else ""
    raise TypeError("definitions must be a text, or texts by the word that they define")


def verdict(answer: str) -> Verdict:
    """Return the verdict that an answer gives, `unparsable` where it gives none or several.

    What the model thinks aloud before (<think>...</think>) does not count. Where it names several verdicts, the
    last line decides if it holds only one.
    """
    answer = re.sub(r"\A.*</think>|<think>.*\Z", "", answer, flags=re.S)  # templates may open it in the question
    found = _named(answer)
    if len(found) > 1:
        found = _named(answer.rstrip().rpartition("\n")[2])
    return VERDICTS[found.pop()] if len(found) == 1 else "unparsable"


def _named(text: str) -> set[str]:
    return set(re.findall(r"\[\[\s*([ABCD])\s*\]\]", text))
