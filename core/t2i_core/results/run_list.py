"""The runs of a folder, readable or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..api.errors import BadFolder
from ..storage.manifest_file import MANIFEST
from .run import Run, load_run


@dataclass(frozen=True)
class UnreadableRun:
    """A run whose run.json is damaged, or comes from another version of t2i.

    Attributes:
        folder: Its folder, absolute.
        reason: The problem, in one line.
    """

    folder: Path
    reason: str


def list_runs(folder: str | Path) -> Iterator[Run | UnreadableRun]:
    """Yield the run in a folder, or the runs in its direct subfolders, by name."""
    folder = Path(folder)
    for path in [folder, *sorted(folder.glob("*"))]:
        try:
            if (path / MANIFEST).exists():
                yield load_run(path)
        except (BadFolder, OSError) as error:
            yield UnreadableRun(path.absolute(), str(error))
