"""Atomic writing of the files that users name for output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..api.errors import BadFolder
from ..files.atomic_write import replace_file


@contextmanager
def write_atomically(target: Path) -> Iterator[Path]:
    """Yield a temporary path, and move it to the target when the block ends.

    If the block raises an exception, the target stays unchanged.

    Raises:
        BadFolder: If the target cannot be written.
    """
    try:
        with replace_file(target) as part:
            yield part
    except OSError as error:
        raise BadFolder(f"{target}: cannot be written ({error.strerror or error})") from error
