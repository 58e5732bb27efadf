"""Ray's start on this machine."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from t2i_core.api.errors import MissingDependency
from t2i_ray import cluster


@pytest.mark.parametrize(("failures", "attempts"), [(["timed out during startup"], 2), (["no memory"], 1)])
def test_a_slow_start_is_tried_again(failures: list[str], attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    left, tried = list(failures), []

    def start(**options: object) -> None:
        tried.append(options)
        if left:
            raise RuntimeError(left.pop())

    monkeypatch.setattr(ray, "init", start)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with nullcontext() if attempts == 2 else pytest.raises(MissingDependency, match=r"cannot start.*no memory"):
        cluster._start_alone({})
    assert len(tried) == attempts
