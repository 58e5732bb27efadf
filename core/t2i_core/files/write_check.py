"""Check that a folder can be written, without writing anything."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def find_write_obstacle(folder: Path) -> OSError | None:
    """Return the error of writing into a folder, made first if it does not exist; None if nothing prevents that.

    Permissions and the kind of the file system are known beforehand, a full disk is not.
    """
    place = folder.absolute()
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        place = next(parent for parent in place.parents if os.access(parent, os.F_OK))
    except OSError as error:  # a name that is too long, a folder that may not be searched
        return error
    if not place.is_dir():
        return NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if os.access(place, os.W_OK | os.X_OK):
        return None
    read_only = hasattr(os, "statvfs") and os.statvfs(place).f_flag & os.ST_RDONLY
    code = errno.EROFS if read_only else errno.EACCES
    return OSError(code, os.strerror(code), str(place))
