"""Fixtures of core's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a test its own cache and its own working folder."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
