"""The request to transcribe the text in an image, and its answer."""

from __future__ import annotations

from t2i_core.api import Image, ReadText
from t2i_core.api.image import get_size

NO_TEXT = "NO TEXT"
"""The answer to an image without text."""

REQUEST = (
    "Write down all text that is visible in this image, exactly as it is written, letter by letter. Do not "
    "correct spelling mistakes, and do not complete or guess words. Write one line for each line of text, from "
    "top to bottom and from left to right, and nothing else. If the image shows no text, answer " + NO_TEXT
)


def read_transcription(answer: str, image: Image) -> ReadText:
    """Return the lines of a model's answer; an answer in a fence of Markdown is read without it.

    Args:
        answer: The answer.
        image: The image that it is about.
    """
    lines = [line.strip() for line in answer.strip().splitlines()]
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1] == "```":
        lines = lines[1:-1]
    kept = tuple(line for line in lines if line)
    if len(kept) == 1 and kept[0].strip(" .\"'`").upper() == NO_TEXT:
        kept = ()
    return ReadText(get_size(image.pixels), kept)
