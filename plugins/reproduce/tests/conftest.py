from __future__ import annotations

from pathlib import Path

import pytest
from toy_fixtures import install, show_dist, site, t2i, toy

__all__ = ["install", "site", "t2i", "toy"]


@pytest.fixture(autouse=True)
def reproduce(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command `t2i reproduce` beside those of the command line."""
    show_dist("t2i-reproduce", monkeypatch)
