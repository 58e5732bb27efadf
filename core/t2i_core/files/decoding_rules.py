"""Rules for decoding image files. Imports nothing heavy, because options are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Format = Literal["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000"]
"""Formats that may be decoded at all. Those that can hold a program (EPS, PS, PDF, WMF) must never be here."""

MEGAPIXELS = 100
"""Default limit for an image's size."""


@dataclass(frozen=True)
class DecodingRules:
    """Rules for decoding image files.

    Attributes:
        formats: Accepted formats, by content; the file's name does not matter.
        megapixels: Largest number of pixels of an image, in millions.
    """

    formats: tuple[Format, ...] = ("PNG", "JPEG", "WEBP")
    megapixels: float = MEGAPIXELS


DEFAULT_RULES = DecodingRules()
