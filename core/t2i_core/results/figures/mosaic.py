"""Mosaics of images, as SVG that holds the images."""

from __future__ import annotations

import base64
import io
import re
from html import escape
from itertools import chain

from PIL import Image as PillowImage

from ...api.figure import Mosaic
from ...api.image import Image
from ...files.image_file import DamagedImage
from .data import shorten
from .look import CONFIG, PAGE, TEXT

LETTER, LINE, GAP = 6.2, 14, 3
"""Mean width of a letter, height of a line, and distance between images, in pixels."""

LETTERS = 34
"""Maximum number of letters of a line of a row's label."""


def draw_mosaic(mosaic: Mosaic) -> str:
    """Return a mosaic as SVG."""
    side = mosaic.side
    labels = [_wrap(label, LETTERS) for label, _ in mosaic.rows]
    left = int(max((len(line) for line in chain.from_iterable(labels)), default=0) * LETTER) + 10
    across = max((len(images) for _, images in mosaic.rows), default=0)
    heads = [_wrap(text, int(mosaic.span * side / LETTER) - 1) for text in mosaic.columns]
    top = max(map(len, heads), default=0) * LINE + 6
    step = side + GAP
    parts = [
        _write_lines(head, left + (place + 0.5) * mosaic.span * step, top / 2, "middle")
        for place, head in enumerate(heads)
    ]
    for line, (label, (_, images)) in enumerate(zip(labels, mosaic.rows, strict=True)):
        parts.append(_write_lines(label, left - 6, top + line * step + side / 2, "end"))
        for column, image in enumerate(images):
            if image is not None and (data := _encode(image, side)):
                place = f'x="{left + column * step}" y="{top + line * step}" width="{side}" height="{side}"'
                parts.append(f'<image {place} href="data:image/png;base64,{data}"></image>')
    width, height = left + max(across, 1) * step, top + max(len(mosaic.rows), 1) * step
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = f'font-family="{escape(str(CONFIG["font"]))}" font-size="11"'
    ground = f'<rect width="{width}" height="{height}" fill="{PAGE}"></rect>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" {size} {font}>{ground}{"".join(parts)}</svg>'


def _encode(image: Image, side: int) -> str | None:
    """Return an image in base64; None if it is missing or may not be shown."""
    try:
        small = image.pil().convert("RGB").resize((side, side), PillowImage.Resampling.LANCZOS)
    except DamagedImage:
        return None
    buffer = io.BytesIO()
    small.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def _wrap(text: str, letters: int) -> list[str]:
    """Return a label as lines of at most this many letters, cut if there are more than three."""
    lines: list[str] = []
    for part in text.split("\n"):
        line = ""
        for word in re.split(r"(?<=\w\+)(?=\w)|(?=\s)", shorten(part)):  # also after a plus between words
            if line and len(line + word) > letters:
                lines.append(line)
                line = ""
            line = (line + word).lstrip()
        lines.append(line)
    return [shorten(line, max(letters, 4)) for line in lines[:3]]


def _write_lines(lines: list[str], x: float, middle: float, anchor: str) -> str:
    first = middle - (len(lines) - 1) * LINE / 2 + 4
    return "".join(
        f'<text x="{x:.0f}" y="{first + i * LINE:.0f}" text-anchor="{anchor}" fill="{TEXT}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
