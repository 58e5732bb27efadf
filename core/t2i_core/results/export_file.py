"""Files that a sink adds to a run's folder, each written completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOBase
from pathlib import Path

from ..api.errors import BadFolder
from ..files.real_folder import open_folder
from ..storage.manifest_file import MANIFEST
from ..storage.text_file import replace_text
from .run import Run


@contextmanager
def write_export(run: Run, name: str) -> Iterator[TextIOBase]:
    """Open a text file in a run's folder for writing. It appears when the block ends without an error.

    Secrets are replaced.

    Args:
        run: The run.
        name: Path of the file within the folder, with `/` between names. Folders are made.

    Raises:
        BadFolder: If the file is one of the run's own, or cannot be written.
    """
    if name == MANIFEST or name in run.manifest.files:
        raise BadFolder(f"{run.path / name}: is one of the run's own files; write to another name")
    try:
        with replace_text(run.folder, name) as file:
            yield file
    except OSError as error:
        raise _explain(run.path / name, error) from error


def remove_other_exports(run: Run, folder: str, kept: set[str], suffix: str) -> None:
    """Remove what an earlier call left in a folder that one sink alone writes to.

    Args:
        run: The run.
        folder: Path of the folder within the run's folder.
        kept: Names of the files that stay.
        suffix: Only files whose names end like this are removed.

    Raises:
        BadFolder: If a file cannot be removed.
    """
    try:
        with open_folder(run.folder) as own, own.folder(folder) as place:
            for name in place.names():
                if name.endswith(suffix) and name not in kept:
                    place.remove(name)
    except OSError as error:
        raise _explain(run.path / folder, error) from error


def _explain(path: Path, error: OSError) -> BadFolder:
    return BadFolder(f"{path}: cannot be written ({error.strerror or error})")
