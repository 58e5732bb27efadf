"""An MLflow server on this machine holds a run, and its client reads it back."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mlflow import MlflowClient
from t2i_core.api import Setup
from t2i_core.api.progress import Silent
from t2i_core.results.run import Run
from t2i_trackers import plugin
from t2i_trackers.options import MlflowOptions

from .test_trackers import check_mlflow

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # installs the server in an environment of its own
START = 300  # seconds


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uv = shutil.which("uv")
    assert uv is not None
    store = [
        "--backend-store-uri",
        f"sqlite:///{tmp_path}/store.db",
        "--artifacts-destination",
        str(tmp_path / "files"),
    ]
    words = [uv, "tool", "run", "mlflow", "server", *store, "--port", str(port), "--workers", "1"]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            wait(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def wait(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end:
        assert process.poll() is None, "the server has ended"
        try:
            if httpx2.get(address, timeout=5).text == "OK":
                return
        except httpx2.HTTPError:
            pass  # not yet
        time.sleep(0.5)
    pytest.fail("the server does not answer")


def test_a_server_has_it_once(run: Run, server: str, tmp_path: Path) -> None:
    setup = Setup(server, MlflowOptions(images=2))
    plugin._check_mlflow(setup)
    for _ in range(2):
        plugin._mlflow(setup).write(run, Silent())
    check_mlflow(MlflowClient(tracking_uri=server), run, tmp_path)
