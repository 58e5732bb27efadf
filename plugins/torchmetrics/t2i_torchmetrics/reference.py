"""The reference images: every image file of a folder. Imports nothing heavy, for fingerprints are made of it."""

from __future__ import annotations

from pathlib import Path

from t2i_core.errors import BadOption
from t2i_core.texts import said

FORMATS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WebP", ".bmp": "BMP", ".tif": "TIFF",
    ".tiff": "TIFF",
}  # fmt: skip
"""Formats of image files by ending."""


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
    from PIL import Image, UnidentifiedImageError

    for path in files(folder):
        try:
            with Image.open(path) as image:
                image.verify()
        except UnidentifiedImageError as error:  # its message says the path again
            raise BadOption(f"option reference: {path}: no image (of no known format)") from error
        except Exception as error:  # Pillow raises SyntaxError, struct.error and more for files that are cut
            raise BadOption(f"option reference: {path}: not an image that can be read ({said(error)})") from error


def format_of(path: Path) -> str:
    """Return the format that a file's ending names."""
    return FORMATS.get(path.suffix.lower(), path.suffix or "unknown")
