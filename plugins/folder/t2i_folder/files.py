"""Image files for images that a table holds as bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from t2i_core.api.cache_folder import find_cache_folder
from t2i_core.files.atomic_write import write_whole
from t2i_core.files.image_file import ImageHeader
from t2i_core.files.regular_file import IMAGE_BYTES, read_regular

from .options import SUFFIXES


def unpack(data: bytes, header: ImageHeader) -> Path:
    """Write the bytes of an image to a file named by their digest, and return the file."""
    digest = hashlib.sha256(data).hexdigest()
    ending = SUFFIXES[header.format][0]
    path = find_cache_folder().absolute() / "unpacked" / digest[:2] / f"{digest}{ending}"
    if not (path.is_file() and path.stat().st_size == len(data) and read_regular(path, IMAGE_BYTES) == data):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    return path
