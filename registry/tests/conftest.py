from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from t2i_core.testing.fake_dists import fake_dist, forget_modules
from t2i_registry import discovery

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install fake distributions into a folder on `sys.path`; nothing else of t2i is seen."""
    monkeypatch.delenv("T2I_DISABLE_PLUGINS", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))

    def only_fakes() -> Iterator[Distribution]:
        yield from distributions(path=[p for p in sys.path if Path(p).is_relative_to(tmp_path)])

    monkeypatch.setattr(discovery, "distributions", only_fakes)

    def put(name: str, entry_points: object, modules: object = None, **more: object) -> None:
        fake_dist(tmp_path, name, entry_points, modules, **more)  # type: ignore[arg-type]

    yield put
    forget_modules(tmp_path)
