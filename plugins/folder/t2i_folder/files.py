"""Image files of a folder: which format they are of, and where those go that a table holds as bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from t2i_core.files import write_whole
from t2i_core.store import cache_folder

READ = {"PNG": ".png", "JPEG": ".jpg", "WebP": ".webp"}
"""The formats that are read, and the ending of a file of each."""

_HEAD = 16


def head(file: Path) -> bytes:
    """Return the bytes that a file begins with. Raises OSError."""
    with file.open("rb") as opened:
        return opened.read(_HEAD)


def format_of(data: bytes) -> str:
    """Return the format that a file's beginning tells, whatever its name says; empty where none is known."""
    if data[:4] == b"RIFF":
        return "WebP" if data[8:12] == b"WEBP" else ""
    if data[4:8] == b"ftyp":
        return "AVIF or HEIF"
    return next((name for start, name in _STARTS.items() if data.startswith(start)), "")


_STARTS = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}


def refusal(data: bytes) -> str | None:
    """Say why a file that begins so is not read, if it is not."""
    found = format_of(data)
    if found in READ:
        return None
    said = f"is {found}, which is not read" if found else "no image of a known format"
    return f"{said if data else 'is empty'}; want {', '.join(READ)}"


def unpacked(data: bytes) -> Path:
    """Return the file of an image that a table holds as bytes: those very bytes, kept under their digest."""
    digest = hashlib.sha256(data).hexdigest()
    path = cache_folder().absolute() / "unpacked" / digest[:2] / f"{digest}{READ[format_of(data)]}"
    if not (path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    return path
