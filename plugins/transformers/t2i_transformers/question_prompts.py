"""The words in which a vision-language model is asked a question about images."""

from __future__ import annotations

import re
from typing import Any

from t2i_core.api import VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO

from .image_features import EncodedImages
from .options import VisualQuestionOptions

Part = dict[str, Any]

_REQUEST = re.compile(r"\banswer (with )?yes or no\W*$", re.I)
"""End of a question that asks for yes or no itself."""


def is_yes_no(question: VisualQuestion) -> bool:
    """Return whether a question has the choices yes and no, in any case."""
    return tuple(choice.lower() for choice in question.choices) == YES_NO


def write_words(question: VisualQuestion, options: VisualQuestionOptions) -> str:
    """Return the text of a question with the request for the form of its answer.

    A yes/no question that ends with such a request already, as VQAScore's may, gets no other.
    """
    if is_yes_no(question):
        template = options.yes_no_template
    elif question.choices:
        template = options.choices_template
    else:
        template = options.text_template
    before, _, after = template.partition("{question}")
    if is_yes_no(question) and _REQUEST.search(question.text):
        after = ""
    before, after = (part.replace("{choices}", ", ".join(question.choices)) for part in (before, after))
    return f"{before}{question.text}{after}"


def write_content(question: VisualQuestion, images: EncodedImages, options: VisualQuestionOptions) -> list[Part]:
    """Return the content of the message that asks a question: the images, then the words."""
    shown = [{"type": "image", "image": pixels} for pixels in images.pixels]
    if question.grids is not None:
        first = question.grids[0]
        shown = [
            _say("First group of images:\n"),
            *shown[:first],
            _say("Second group of images:\n"),
            *shown[first:],
        ]
    elif len(shown) == 2:
        shown = [_say("First image:\n"), shown[0], _say("Second image:\n"), shown[1]]
    return [*shown, _say(write_words(question, options))]


def _say(text: str) -> Part:
    return {"type": "text", "text": text}
