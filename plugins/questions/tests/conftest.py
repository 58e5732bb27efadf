"""An empty cache for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
