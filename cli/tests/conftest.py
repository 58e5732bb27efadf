from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from t2i_core.results.result import Result
from toy_fixtures import install, show_dist, site, t2i, t2i_process, toy

__all__ = ["install", "site", "t2i", "t2i_process", "toy"]


@pytest.fixture
def report(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of t2i-report beside those of the command line."""
    show_dist("t2i-report", monkeypatch)


@pytest.fixture
def make_result() -> Callable[..., Result]:
    """Make a result of one sample with the label and the fields given."""

    def make(label: str, **fields: Any) -> Result:
        usual: dict[str, Any] = {
            "metric": "m", "model": "m", "settings": {}, "judge": None, "judges": [], "prompts": "p", "score": 1.0,
            "ci": [0.5, 1.0], "interval": "t", "n_prompts": 1, "n_prompts_ok": 1, "n_seeds": 1, "n_ok": 1,
            "n_failed": 0, "n_missing": 0, "n_excluded": 0, "scores": {}, "facets": {},
        }  # fmt: skip
        return Result(label=label, **{**usual, **fields})

    return make
