"""The connection to Ray, which waits for a component that needs workers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from t2i_core import evaluate
from t2i_core.api import Generated, GeneratorInfo
from t2i_core.api.errors import BadOption
from t2i_core.api.progress import Silent
from t2i_core.api.resolver import installed_resolver
from t2i_core.engine.dry_run import forecast_request
from t2i_core.engine.request import ModelRequest, Request
from t2i_ray import cluster
from t2i_ray.address import ClusterAddress

Connected = Callable[..., None]


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Connected:
    """Sets what Ray says about the connection of this process."""
    return lambda **facts: monkeypatch.setattr("ray.get_runtime_context", lambda: SimpleNamespace(**facts))


class Here:
    """A generator that no plugin holds, so that it runs on the driver."""

    def __init__(self, setup: Any) -> None:
        pass

    def generate(self, requests: Any) -> Any:
        for request in requests:
            yield request, Generated(np.full((8, 8, 3), 9, np.uint8))


def test_a_run_without_workers_needs_no_cluster(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    nobody = "127.0.0.1:1"
    asked: dict[str, Any] = {"prompts": ["a cat"], "seeds": 1, "progress": False, "judge": "toy-judge"}
    here = GeneratorInfo(name="here", summary="H.", create=Here)
    with pytest.raises(BadOption, match="no Ray cluster answers there"):
        evaluate("toy-metric", here, **asked, out=tmp_path / "run", executor="ray", address=nobody)
    evaluate("toy-metric", here, **asked, out=tmp_path / "run")
    again = evaluate("toy-metric", here, **asked, out=tmp_path / "again", executor="ray", address=nobody)
    assert set(again.samples()["status"]) == {"ok"}


def test_a_dry_run_refuses_workers_that_the_run_would_refuse(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    def forecast(seeds: int = 1, **more: Any) -> dict[str, Any]:
        models, prompts, options = (ModelRequest("toy"),), ("toy-prompts",), {"toy": {"size": 8}}
        asked = {"judges": ("toy-judge",), "options": options, "seeds": tuple(range(seeds)), **more}
        return forecast_request(Request(("toy-metric",), models, prompts, **asked), installed_resolver(), Silent())

    nobody = "127.0.0.1:1"
    assert forecast()["executor"] == {"name": "local", "workers": None}
    assert forecast(executor="ray", workers=3)["executor"] == {"name": "ray", "workers": 3}
    with pytest.raises(BadOption, match=f"{nobody}: no Ray cluster answers there"):
        forecast(executor="ray", address=nobody)
    with pytest.raises(BadOption, match="no machine of the cluster has 64 GPUs for a worker"):
        forecast(executor="ray", gpus_per_worker=64)
    evaluate(
        "toy-metric",
        "toy",
        judge="toy-judge",
        prompts="toy-prompts",
        seeds=1,
        options={"toy": {"size": 8}},
        out=tmp_path / "run",
        progress=False,
    )
    kept = forecast(executor="ray", address=nobody)  # nothing is left for workers
    assert kept["executor"] == {"name": "ray", "workers": None}
    here, there = forecast(seeds=2), forecast(seeds=2, executor="ray", workers=4)
    for work in ("images", "observations"):
        assert there[work]["to_make"] == 20
        assert there[work]["seconds"] == pytest.approx(here[work]["seconds"] / 4)
    many = forecast(seeds=2, executor="ray", workers=50)
    assert many["images"]["seconds"] == pytest.approx(here["images"]["seconds"] / 20)


@pytest.mark.parametrize(("address", "mode"), [("192.0.2.7:6379", None), ("ray://192.0.2.7:10001", "token")])
def test_only_addresses_of_clients_turn_on_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, mode: str | None
) -> None:
    import ray

    def refuse(**options: Any) -> None:
        raise ConnectionError("nobody is there")

    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("x" * 32)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_AUTH_MODE", "")
    monkeypatch.delenv("RAY_AUTH_MODE")
    monkeypatch.setattr(cluster, "resolve_address", lambda given: given.text)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(BadOption, match="nobody is there"), cluster.connect(address):
        pass
    assert os.environ.get("RAY_AUTH_MODE") == mode


@pytest.mark.parametrize("address", ["127.0.0.1:6379", "192.0.2.7:6379", "ray://192.0.2.9:1", "auto"])
def test_the_present_connection_serves_its_own_address(address: str, connected: Connected) -> None:
    connected(gcs_address="192.0.2.7:6379")
    cluster._check_connection(ClusterAddress(address))


def test_a_client_does_not_know_its_cluster(connected: Connected) -> None:
    connected()
    cluster._check_connection(ClusterAddress("192.0.2.8:6379"))


@pytest.mark.parametrize("address", ["127.0.0.1:6380", "192.0.2.8:6379"])
def test_another_cluster_than_the_connected_one_is_refused(address: str, connected: Connected) -> None:
    connected(gcs_address="192.0.2.7:6379")
    with pytest.raises(BadOption, match=r"connected to the Ray cluster 192.0.2.7:6379 already"):
        cluster._check_connection(ClusterAddress(address))
