"""The reference: all image files of a folder, or a file with their mean and covariance.

Imports no heavy library, because fingerprints need it.
"""

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


def is_statistics(place: Path) -> bool:
    """Return whether a reference is a file FILE.npz with mean and covariance."""
    return place.suffix.lower() == ".npz" and not place.is_dir()


def list_reference_files(folder: Path) -> list[Path]:
    """Return the image files of a folder and its subfolders, sorted, or the file of mean and covariance.

    Raises:
        BadOption: The folder has fewer than two images, or the file does not exist.
    """
    if is_statistics(folder):
        if not folder.is_file():
            raise BadOption(f"option reference: file {folder} does not exist")
        return [folder]
    if not folder.is_dir():
        fault = f"{folder} is not a folder" if folder.exists() else f"folder {folder} does not exist"
        raise BadOption(f"option reference: {fault}")
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in FORMATS and p.is_file())
    if len(found) < 2:
        count = f"{len(found) or 'no'} image{'s' * (len(found) != 1)}"
        raise BadOption(
            f"option reference: {folder} holds {count}, but at least two are needed ({', '.join(FORMATS)})"
        )
    return found


def check(folder: Path) -> None:
    """Raise BadOption if a folder has fewer than two image files, or one of them is damaged; decode none.

    For PNG, all checksums are verified, which detects truncated files; for other formats, only the header. A file
    of mean and covariance is read whole.
    """
    if is_statistics(folder):
        from t2i_torchmetrics.statistics_file import read_statistics

        read_statistics(list_reference_files(folder)[0])
        return
    from t2i_core.files.image_file import DamagedImage, verify

    for path in list_reference_files(folder):
        try:
            verify(path, RULES)
        except DamagedImage as error:
            raise BadOption(f"option reference: {error}") from error


def find_format(path: Path) -> str:
    """Return the format of a file's suffix."""
    return FORMATS.get(path.suffix.lower(), path.suffix or "unknown")
