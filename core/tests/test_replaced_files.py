"""Files are replaced whole, and only where they are files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from t2i_core.files.atomic_write import write_whole


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ["pipe", "folder", "stream"])
def test_only_regular_files_are_replaced(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:  # as /dev/stdout is
        target.symlink_to("/proc/self/fd/1")
    with pytest.raises(OSError, match="not a regular file"):
        write_whole(target, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["target"]
    assert target.is_symlink() == (kind == "stream")
