"""The folder in which t2i keeps what it can regenerate. A plugin may keep its own files in a subfolder."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def find_cache_folder() -> Path:
    """Return the cache folder: `T2I_CACHE_DIR`, or t2i's folder in the user's cache."""
    return Path(os.environ.get("T2I_CACHE_DIR") or platformdirs.user_cache_dir("t2i"))
