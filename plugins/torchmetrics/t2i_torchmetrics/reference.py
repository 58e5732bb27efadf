"""The reference images: every image file of a folder. Imports nothing heavy, for fingerprints are made of it."""

from __future__ import annotations

from pathlib import Path

from t2i_core.api.errors import BadOption
from t2i_core.files.decoding_rules import DecodingRules

FORMATS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WebP", ".bmp": "BMP", ".tif": "TIFF",
    ".tiff": "TIFF",
}  # fmt: skip
"""Formats of image files by ending."""

RULES = DecodingRules(formats=("PNG", "JPEG", "WEBP", "BMP", "TIFF"))
"""Which of them are decoded."""


def files(folder: Path) -> list[Path]:
    """Return a folder's image files, folders within it included, sorted. Raises BadOption below two."""
    folder = folder.expanduser()
    if not folder.is_dir():
        raise BadOption(f"option reference: there is no folder {folder}")
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in FORMATS and p.is_file())
    if len(found) < 2:
        count = f"{len(found) or 'no'} image{'s' * (len(found) != 1)}"
        raise BadOption(f"option reference: {folder} holds {count}, want at least two ({', '.join(FORMATS)})")
    return found


def check(folder: Path) -> None:
    """Raise BadOption where one of a folder's image files is none, told without decoding any, and as above.

    Of a PNG every part's checksum is looked at, so that one that was cut off is told; of other formats the head.
    """
    from t2i_core.files.image_file import DamagedImage, verify

    for path in files(folder):
        try:
            verify(path, RULES)
        except DamagedImage as error:
            raise BadOption(f"option reference: {error}") from error


def format_of(path: Path) -> str:
    """Return the format that a file's ending names."""
    return FORMATS.get(path.suffix.lower(), path.suffix or "unknown")
