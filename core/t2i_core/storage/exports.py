"""The list, in a run's folder, of the files that sinks wrote there, so that they are removed with the run."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from ..files.atomic_write import write_whole
from ..files.regular_file import read_regular
from .run_files import EXPORTS, is_own_path

_LIST_BYTES = 16 << 20


def parse_export_path(name: str) -> PurePosixPath | None:
    """Return the path of a sink's file within a run's folder.

    None if it leads out of the folder or has more than one spelling.
    """
    path = PurePosixPath(name)
    # Windows reads `\\` and `:`, and drops dots and blanks at the end of a name
    plain = str(path) == name and not path.is_absolute() and not set(name) & {"\\", ":", "\0", "\n", "\r"}
    if not plain or not path.parts or any(part == ".." or part[-1] in ". " for part in path.parts):
        return None
    return path


def list_exports(folder: Path) -> list[PurePosixPath]:
    """Return the paths of the files that sinks wrote, or began to write, within a run's folder.

    Lines of the list that name anything else are left out, because the folder may come from somebody else.
    """
    try:
        lines = read_regular(folder / EXPORTS, _LIST_BYTES, within=folder).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    paths = dict.fromkeys(map(parse_export_path, lines))
    return [path for path in paths if path is not None and not is_own_path(path)]


def record_export(folder: Path, path: PurePosixPath) -> None:
    """Add a file to the list before it is written.

    Raises:
        OSError: If the list cannot be written.
    """
    known = list_exports(folder)
    if path not in known:
        write_whole(folder / EXPORTS, "".join(f"{each}\n" for each in [*known, path]).encode())
