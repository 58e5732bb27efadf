"""Text files in a run's folder, each written completely or not at all."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOBase
from pathlib import Path

from ..api.redaction import RedactingFile
from ..files.atomic_write import replace_file
from ..files.real_folder import is_link

IS_LINK = "is a link, and runs do not write through links: replace it by a folder, or name another with --out"


@contextmanager
def replace_text(folder: Path, name: str) -> Iterator[TextIOBase]:
    """Open a text file of a folder for writing. It appears when the block ends without an error.

    Secrets are replaced.

    Args:
        folder: The folder.
        name: Path of the file within the folder, with `/` between names. Folders are made.

    Raises:
        OSError: If the file cannot be written, or one of the folders in `name` is a link.
    """
    target = folder / name
    make_parents(folder, target)
    with (
        replace_file(target) as part,
        part.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        redacting = RedactingFile(file)
        yield redacting
        redacting.flush()


def make_parents(folder: Path, target: Path) -> None:
    """Make the folders between a folder and a file below it. A folder that was removed is not made again.

    Raises:
        OSError: If one of them is a link.
    """
    for parent in reversed(target.relative_to(folder).parents[:-1]):
        between = folder / parent
        if is_link(between):
            raise OSError(errno.ELOOP, f"{parent} {IS_LINK}")
        if not between.is_dir():
            between.mkdir(exist_ok=True)
