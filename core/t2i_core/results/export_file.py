"""Files that a sink adds to a run's folder, each written completely or not at all."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ..api.errors import BadFolder
from ..files.real_folder import open_folder
from ..storage.exports import parse_export_path, record_export
from ..storage.run_files import is_own_path
from ..storage.text_file import replace_text
from .run import Run


@contextmanager
def write_export(run: Run, name: str) -> Iterator[io.TextIOBase]:
    """Open a text file in a run's folder for writing. It appears when the block ends without an error.

    Secrets are replaced. `t2i runs remove` removes the file with the run. Errors that the block itself raises pass
    through.

    Args:
        run: The run.
        name: Path of the file within the folder, with `/` between names. Folders are made.

    Raises:
        BadFolder: If the name is not valid, the file is one of the run's own, or it cannot be written.
    """
    path = _find_place(run, name)
    raised: OSError | None = None
    try:
        record_export(run.folder, PurePosixPath(name))
        with replace_text(run.folder, name) as file:
            try:
                yield _ExportFile(file, path)
            except OSError as error:
                raised = error
                raise
    except OSError as error:
        if error is raised:
            raise
        raise _explain(path, error) from error


def remove_other_exports(run: Run, folder: str, kept: set[str], suffix: str) -> None:
    """Remove what an earlier call left in a folder that one sink alone writes to, and the folder if it is empty.

    Args:
        run: The run.
        folder: Path of the folder within the run's folder.
        kept: Names of the files that stay.
        suffix: Only files whose names end like this are removed.

    Raises:
        BadFolder: If the name is not valid, the folder is one of the run's own, or a file cannot be removed.
    """
    path = _find_place(run, folder)
    try:
        with open_folder(run.folder) as own:
            with own.folder(folder) as place:
                for name in place.names():
                    if name.endswith(suffix) and name not in kept:
                        place.remove(name)
            own.remove_empty(folder)
    except OSError as error:
        raise _explain(path, error) from error


class _ExportFile(io.TextIOBase):
    """A text file to write to, whose errors name the file."""

    def __init__(self, file: io.TextIOBase, path: Path) -> None:
        self._file = file
        self._path = path

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        try:
            return self._file.write(text)
        except OSError as error:
            raise _explain(self._path, error) from error

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise _explain(self._path, error) from error


def _find_place(run: Run, name: str) -> Path:
    """Return the path of a sink's file or folder for messages.

    Raises:
        BadFolder: If it leads out of the run's folder, has more than one spelling, or is one of the run's own.
    """
    path = parse_export_path(name)
    if path is None:
        raise BadFolder(
            f"{name!r}: not a path within the run's folder; write a relative path such as 'mine/a.txt'"
        )
    if is_own_path(path):
        raise BadFolder(f"{run.path / name}: is one of the run's own files; write to another name")
    return run.path / name


def _explain(path: Path, error: OSError) -> BadFolder:
    return BadFolder(f"{path}: cannot be written ({error.strerror or error})")
