"""The reference images: all image files of a folder. Imports no heavy library, because fingerprints need it."""

from __future__ import annotations

from pathlib import Path

from t2i_core.api.errors import BadOption
from t2i_core.files.decoding_rules import DecodingRules

FORMATS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WebP", ".bmp": "BMP", ".tif": "TIFF",
    ".tiff": "TIFF",
}  # fmt: skip
"""Formats of image files by suffix."""

RULES = DecodingRules(formats=("PNG", "JPEG", "WEBP", "BMP", "TIFF"))
"""Rules for decoding the files."""


def files(folder: Path) -> list[Path]:
    """Return the image files of a folder and its subfolders, sorted. Raises BadOption for fewer than two."""
    folder = folder.expanduser()
    if not folder.is_dir():
        raise BadOption(f"option reference: folder {folder} does not exist")
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in FORMATS and p.is_file())
    if len(found) < 2:
        count = f"{len(found) or 'no'} image{'s' * (len(found) != 1)}"
        raise BadOption(
            f"option reference: {folder} holds {count}, but at least two are needed ({', '.join(FORMATS)})"
        )
    return found


def check(folder: Path) -> None:
    """Raise BadOption if a folder has fewer than two image files, or one of them is damaged; decode none.

    For PNG, all checksums are verified, which detects truncated files; for other formats, only the header.
    """
    from t2i_core.files.image_file import DamagedImage, verify

    for path in files(folder):
        try:
            verify(path, RULES)
        except DamagedImage as error:
            raise BadOption(f"option reference: {error}") from error


def find_format(path: Path) -> str:
    """Return the format of a file's suffix."""
    return FORMATS.get(path.suffix.lower(), path.suffix or "unknown")
