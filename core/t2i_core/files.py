"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a name of this process first, so that a reader sees all of it or nothing."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
        if part.stat().st_size != len(data):
            raise OSError(f"{path}: only a part was written")
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):  # its folder may be gone, or no folder any more
            part.unlink(missing_ok=True)
