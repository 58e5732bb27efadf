"""The folder in which t2i keeps what it can make again. A plugin may keep files of its own in a subfolder."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def find_cache_folder() -> Path:
    """Return where things are kept: `T2I_CACHE_DIR`, or t2i's folder in the user's cache."""
    return Path(os.environ.get("T2I_CACHE_DIR") or platformdirs.user_cache_dir("t2i"))
