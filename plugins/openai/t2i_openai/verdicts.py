"""Questions about pairs of images, and what their answers mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from t2i_core.observations import Preference, Verdict

from .options import PLACES
from .replies import Choice

VERDICTS: dict[str, Verdict] = {"A": "first", "B": "second", "C": "tie", "D": "both_bad"}


def question(template: str, prompt: str, definitions: str, images: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The message that a model is sent: the template's text with the images between.

    images: the parts of the message that show `first` and `second`
    """
    values = {"prompt": prompt, "definitions": definitions}
    parts: list[dict[str, Any]] = []
    text = ""
    for piece in re.split(rf"(\{{(?:{'|'.join(PLACES)})\}})", template):
        name = piece[1:-1]
        if piece != f"{{{name}}}" or name not in PLACES:
            text += piece
        elif name in values:
            text += values[name]
        else:
            parts += [{"type": "text", "text": text}, images[name]]
            text = ""
    return [*parts, {"type": "text", "text": text}] if text.strip() else parts


def definitions_text(definitions: Any) -> str:
    """The `definitions` of a query in words: a text, or texts by the word that they define.

    Raises TypeError for anything else.
    """
    if isinstance(definitions, str):
        return f"Definition: {definitions}\n" if definitions else ""
    if isinstance(definitions, Mapping) and all(isinstance(t, str) for pair in definitions.items() for t in pair):
        lines = [f"- {word}: {meaning}\n" for word, meaning in definitions.items()]
        return f"Definitions:\n{''.join(lines)}" if lines else ""
    raise TypeError("definitions must be a text, or texts by the word that they define")


def preference(choice: Choice) -> Preference:
    """What an answer says, with its words."""
    message = choice.message
    words = "\n\n".join(text for text in (message.thoughts, message.text) if text)
    if message.refusal or choice.finish_reason == "content_filter":
        return Preference("refused", reasoning="\n\n".join(t for t in (words, message.refusal) if t))
    return Preference(verdict(message.text), reasoning=words)


def verdict(answer: str) -> Verdict:
    """The verdict that an answer gives, `unparsable` where it gives none or several.

    What the model thinks aloud before (<think>...</think>) does not count. Where it names several verdicts, the
    last line decides if it holds only one.
    """
    answer = re.sub(r"<think>.*?(</think>|\Z)", "", answer, flags=re.S)
    found = _named(answer)
    if len(found) > 1:
        found = _named(answer.rstrip().rpartition("\n")[2])
    return VERDICTS[found.pop()] if len(found) == 1 else "unparsable"


def _named(text: str) -> set[str]:
    return set(re.findall(r"\[\[\s*([ABCD])\s*\]\]", text))
