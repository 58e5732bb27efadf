"""Which image files are decoded. Imports nothing heavy, so that options can be made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Format = Literal["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000"]
"""Formats that may be decoded at all. Those that can hold a program (EPS, PS, PDF, WMF) must never be here."""

MEGAPIXELS = 100
"""Default limit for an image's size."""


@dataclass(frozen=True)
class DecodingRules:
    """Which image files are decoded.

    Attributes:
        formats: Formats of the content; the file's name does not matter.
        megapixels: The most pixels that an image may have, in millions.
    """

    formats: tuple[Format, ...] = ("PNG", "JPEG", "WEBP")
    megapixels: float = MEGAPIXELS


DEFAULT_RULES = DecodingRules()
