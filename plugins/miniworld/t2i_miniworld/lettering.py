"""Text as it is written on signs: broken into lines and drawn with the font that comes with Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from t2i_miniworld.palette import RGB

BEST_ASPECT = 1.6
"""Width by height of the text block for which lines are broken."""

MOST_WORDS = 8
MOST_LETTERS = 48

_EM = 64
"""Size of the font in pixels at which text is measured."""

_LEADING = 1.15
"""Distance of lines, as a multiple of their height."""

_MARGIN = 0.45
"""Margin around the text block, as a multiple of a line's height."""


@cache
def _load_font(size: int) -> ImageFont.FreeTypeFont:
    # Aileron Regular (CC0), which is part of Pillow, in its basic layout: the same with and without libraqm
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("this Pillow was built without FreeType, so it cannot draw the text of signs")
    return font


def _measure(lines: Sequence[str], size: int) -> tuple[float, float]:
    """Return width and height of lines of text in pixels, without margins."""
    font = _load_font(size)
    return max(font.getlength(line) for line in lines), size * (1 + _LEADING * (len(lines) - 1))


def break_lines(text: str) -> tuple[str, ...]:
    """Return the words of a text in one to four lines whose block is nearest to `BEST_ASPECT`."""
    words = text.split()
    options = [
        tuple(" ".join(words[start:end]) for start, end in zip((0, *cuts), (*cuts, len(words)), strict=True))
        for count in range(min(4, len(words)))
        for cuts in combinations(range(1, len(words)), count)
    ]
    return min(options, key=lambda lines: abs(np.log(_aspect(lines) / BEST_ASPECT)))


def _aspect(lines: Sequence[str]) -> float:
    width, height = _measure(lines, _EM)
    return width / height


def panel_aspect(lines: Sequence[str]) -> float:
    """Return width by height of the panel that lines of text fill, with its margins; at least 0.8."""
    width, height = _measure(lines, _EM)
    margin = 2 * _MARGIN * _EM
    return max(0.8, (width + margin) / (height + margin))


def draw_panel(lines: Sequence[str], width: int, height: int, ground: RGB, ink: RGB) -> NDArray[np.uint8]:
    """Return the face of a panel with lines of text in its middle, as large as they fit.

    Args:
        lines: The lines.
        width: Width in pixels.
        height: Height in pixels.
        ground: Colour of the panel.
        ink: Colour of the text.

    Returns:
        uint8 of shape (height, width, 3).
    """
    block, margin = _measure(lines, _EM), 2 * _MARGIN * _EM
    size = max(4, int(_EM * min(width / (block[0] + margin), height / (block[1] + margin))))
    panel = Image.new("RGB", (width, height), ground)
    pen, font = ImageDraw.Draw(panel), _load_font(size)
    for number, line in enumerate(lines):
        middle = height / 2 + (number - (len(lines) - 1) / 2) * size * _LEADING
        pen.text((width / 2, middle), line, fill=ink, font=font, anchor="mm")
    return np.array(panel)
