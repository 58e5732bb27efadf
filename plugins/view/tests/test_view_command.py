"""`t2i view` and a run that really goes on in another process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient
from t2i_core.api.errors import BadFolder
from t2i_view.serve import serve
from t2i_web_support.guard import Guard

T2I = [sys.executable, "-m", "t2i_cli"]
EVAL = (
    *("eval", "--metric", "tiam", "--model", "simulator", "--prompts", "tiam-5-1", "--judge", "oracle"),
    *("--limit", "4", "-o", "simulator.size=64"),
)


def start(folder: Path, *words: str, **how: object) -> subprocess.Popen[str]:
    env = {**os.environ, "T2I_CACHE_DIR": str(folder / "cache")}
    return subprocess.Popen([*T2I, *words], cwd=folder, env=env, text=True, **how)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[httpx.Client]:
    """The page of `t2i view`, opened by its link."""
    with start(tmp_path, "view", "--port", "0", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/", link)
        with httpx.Client(base_url=link, timeout=60) as client:
            yield client
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def wait_until(is_so: Callable[[], bool], seconds: float = 120) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.2)


@pytest.mark.long
@pytest.mark.timeout(900)  # it starts seven processes, and machines may be busy
def test_a_real_run_is_followed_killed_resumed_and_reported(opened: httpx.Client, tmp_path: Path) -> None:
    assert "No runs yet" in opened.get("/").text
    words = (*EVAL, "--seeds", "60", "--out", "t2i-runs/real")
    run = start(tmp_path, *words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with run:
        wait_until(lambda: re.search(r"[1-9][0-9]* of 240 images, .*left", opened.get("/").text) is not None)
        text = opened.get("/run/real").text
        assert "A process works on this run." in text
        assert "a photo of" in text
        picture = re.search(r'src="(/run/real/picture/[0-9a-f]{64})"', text)
        assert picture is not None
        assert opened.get(picture[1]).headers["content-type"] == "image/webp"
        run.kill()
    wait_until(lambda: "Its process has ended before it had results." in opened.get("/run/real").text)
    assert "interrupted" in opened.get("/").text
    with start(tmp_path, *EVAL, "--seeds", "2", "--out", "t2i-runs/small", stderr=subprocess.DEVNULL) as small:
        assert small.wait(120) == 0
    text = opened.get("/run/small").text
    assert "Open the report" in text
    assert not (tmp_path / "t2i-runs" / "small" / ".progress").exists()
    before = sorted((tmp_path / "t2i-runs" / "small").rglob("*"))
    wait_until(lambda: opened.get("/run/small/report").status_code != 202)
    report = opened.get("/run/small/report")
    assert report.status_code == 200
    assert "simulator scores" in report.text
    assert sorted((tmp_path / "t2i-runs" / "small").rglob("*")) == before
    shutil.copytree(tmp_path / "t2i-runs" / "small", tmp_path / "t2i-runs" / "again")
    address = "/compare?run=small&run=again"
    wait_until(lambda: "is being compared" not in opened.get(address).text)
    compared = opened.get(address).text
    assert "simulator (again)</th><td>tiam</td>" in compared
    assert '<td class="n">8</td><td><a href="/compare/page' in compared  # shared samples


@pytest.mark.long
def test_another_address_demands_the_token_in_the_link(tmp_path: Path) -> None:
    words = ("view", "--host", "0.0.0.0", "--port", "0")
    with start(tmp_path, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        found = re.fullmatch(r"http://[^/]+:([0-9]+)/\?token=([\w-]{32})", link)
        assert found is not None
        with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}", timeout=60) as client:
            assert client.get("/").status_code == 403
            assert client.get(f"/?token={found[2]}").status_code == 303
            assert client.get("/").status_code == 200
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def test_a_run_is_opened_by_the_name_that_t2i_runs_prints(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.rename(runs.with_name("t2i-runs"))
    monkeypatch.chdir(runs.parent)
    titles = []

    class Visited:
        def __init__(self, app: Guard) -> None:
            self.client = TestClient(app, base_url="http://127.0.0.1")

        def run(self, sockets: object) -> None:
            titles.append(re.findall("<h1[^>]*>(.*?)</h1>", self.client.get("/").text))

    monkeypatch.setattr("t2i_view.serve.make_server", Visited)
    for named in ("second", "t2i-runs/first", "t2i-runs"):
        serve(Path(named), "127.0.0.1", 0, False)
    assert titles == [["second"], ["first"], ["Runs"]]
    assert f"runs of {Path('t2i-runs', 'second')}" in capsys.readouterr().err


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFolder):
        serve(tmp_path / "gone", "127.0.0.1", 0, False)
    (tmp_path / "file").touch()
    with pytest.raises(BadFolder):
        serve(tmp_path / "file", "127.0.0.1", 0, False)
