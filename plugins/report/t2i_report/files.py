"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from t2i_core.errors import BadFolder


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Give the path to write to, and put what was written there in the target's place.

    Where anything is raised meanwhile, the target stays as it was. Raises BadFolder where it cannot be written.
    """
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    except OSError as error:
        raise BadFolder(f"{target}: cannot be written ({error.strerror or error})") from error
    finally:
        with suppress(OSError):  # its folder may be gone, or no folder at all
            part.unlink(missing_ok=True)
