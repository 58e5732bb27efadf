"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from t2i_core.api.errors import BadFolder
from t2i_core.files.atomic_write import replace_file


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Give the path to write to, and put what was written there in the target's place.

    Where anything is raised meanwhile, the target stays as it was. Raises BadFolder where it cannot be written.
    """
    try:
        with replace_file(target) as part:
            yield part
    except OSError as error:
        raise BadFolder(f"{target}: cannot be written ({error.strerror or error})") from error
