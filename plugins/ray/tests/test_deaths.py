"""Workers, machines and drivers that die, and workers that are not what the driver takes them for."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import t2i_ray.death_limits
import t2i_ray.workers
from ray_nodes import NODE
from t2i_core import Run, evaluate
from t2i_core.api.errors import BadModel, BadOption, BrokenPlugin, MissingDependency
from t2i_core.api.resolver import Identity
from t2i_core.engine.component import Component
from t2i_core.storage.store import DATABASE

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("T2I_CACHE_DIR", str(folder))
    return folder


def run_toy(cluster: Any, out: Path, workers: int = 2, **request: Any) -> Run:
    """Run on a cluster; in this process if it is None."""
    placed = {"executor": "ray", "address": cluster.address, "workers": workers} if cluster else {}
    chosen = {"prompts": "toy-prompts", "seeds": 1, "max_failed": 1, **placed, **request}
    return evaluate("toy-metric", "toy", judge="toy-judge", out=out, progress=False, **chosen)


def test_an_item_that_ends_its_worker_once_is_asked_again(cluster: Any, tmp_path: Path) -> None:
    prompts = [*(f"picture {i}" for i in range(10)), f"exit once {tmp_path / 'was-here'}"]
    run = run_toy(cluster, tmp_path / "run", prompts=prompts)
    assert (tmp_path / "was-here").exists()
    assert set(run.samples()["status"]) == {"ok"}


def test_a_plugin_that_always_ends_its_worker_is_given_up(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(t2i_ray.death_limits, "DEATHS_AT_FIRST", 3)
    with pytest.raises(
        BrokenPlugin, match=r"generator 'toy' \(toy-world 1.0, toy_world\): its worker died 3 times"
    ):
        run_toy(cluster, tmp_path / "run", options={"toy": {"exit": True}})


def test_a_judge_that_always_ends_its_worker_is_given_up_and_images_are_kept(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(t2i_ray.death_limits, "DEATHS_AT_FIRST", 2)
    with pytest.raises(BrokenPlugin, match=r"judge 'toy-judge' .*its worker died 2 times in a row"):
        run_toy(cluster, tmp_path / "run", options={"toy-judge": {"exit": True}})
    assert count_rows(cache, "images") == 20


def test_a_plugin_that_dies_while_it_loads_is_given_up(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(BrokenPlugin, match="its worker died 3 times while it loaded"):
        run_toy(cluster, tmp_path / "run", workers=1, options={"toy": {"create": "exit"}})


def test_a_plugin_that_dies_when_asked_for_its_settings_is_given_up(
    cluster: Any, tmp_path: Path, cache: Path
) -> None:
    with pytest.raises(BrokenPlugin, match=r"generator 'toy' .*died 3 times when asked for its settings: "):
        run_toy(cluster, tmp_path / "run", workers=1, options={"toy": {"report": "exit"}})
    assert count_rows(cache, "images") == 20


def test_a_worker_that_dies_when_asked_for_its_settings_is_replaced(cluster: Any, tmp_path: Path) -> None:
    report = f"exit once {tmp_path / 'was-here'}"
    run_toy(cluster, tmp_path / "run", workers=1, options={"toy": {"report": report}})
    assert (tmp_path / "was-here").exists()


def test_a_worker_without_gpus_sees_none(cluster: Any, tmp_path: Path) -> None:
    run = run_toy(cluster, tmp_path / "run", workers=1, options={"toy": {"report": "gpus"}})
    assert '"gpus": ""' in (run.folder / "run.json").read_text()


def test_settings_that_are_not_plain_data_are_refused_as_in_one_process(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(BrokenPlugin, match=r"generator 'toy' .*failed to say its settings as plain data: Type"):
        run_toy(cluster, tmp_path / "run", workers=1, options={"toy": {"report": "number"}})


LOW_ON_MEMORY = """
import sys, ray
from t2i_core import evaluate
from t2i_core.api.errors import BrokenPlugin
monitor = {"memory_usage_threshold": 0.01, "memory_monitor_refresh_ms": 200}
ray.init(address="local", include_dashboard=False, num_cpus=2, _system_config=monitor)
try:
    evaluate("toy-metric", "toy", judge="toy-judge", prompts="toy-prompts", out=sys.argv[1], executor="ray")
except BrokenPlugin as error:
    print(error)
"""


def test_a_worker_that_ray_kills_for_memory_counts_as_dead(toy: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOW_ON_MEMORY, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "died 3 times while it loaded: Ray killed it because its machine was low on memory" in done.stdout


def test_errors_of_components_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(BrokenPlugin, match="failed to load: ValueError: the weights are torn"):
        run_toy(cluster, tmp_path / "one", options={"toy": {"create": "raise"}})
    with pytest.raises(BrokenPlugin, match=r"^the toy is broken; buy another one$"):
        run_toy(cluster, tmp_path / "two", prompts=["picture 1", "break it"])


def test_patience_is_counted_here(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(BrokenPlugin, match="failed 20 times in a row, last with ValueError: this prompt"):
        run_toy(cluster, tmp_path / "run", prompts=[f"raise {i}" for i in range(40)])


def test_another_version_on_a_worker_is_refused(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = t2i_ray.workers.list_versions
    monkeypatch.setattr(t2i_ray.workers, "list_versions", lambda names: {**versions(names), "t2i-core": "9.9"})
    with pytest.raises(
        MissingDependency, match=r"the worker on .* has t2i-core .*, this machine 9.9; install the same"
    ):
        run_toy(cluster, tmp_path / "run")


def test_another_fingerprint_on_a_worker_is_refused(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Component, "identity", Identity({}, "0" * 64, "0" * 64))
    with pytest.raises(
        BadModel, match=r"generator 'toy' on .* is not the one of this machine: its code or its weights differ"
    ):
        run_toy(cluster, tmp_path / "run")


def test_a_cluster_without_gpus(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="no machine of the cluster has 1 GPUs for a worker"):
        run_toy(cluster, tmp_path / "run", gpus_per_worker=1)


def list_worker_processes(toy: Path) -> list[int]:
    """Return the processes of workers of this test's own clusters."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_worker = process.joinpath("cmdline").read_bytes().startswith(b"ray::Worker")
            if is_worker and str(toy).encode() in process.joinpath("environ").read_bytes():
                found.append(int(process.name))
    return found


class Killer(threading.Thread):
    """Kills workers and machines at random, until it has killed as many as it shall."""

    def __init__(self, cluster: Any, toy: Path, workers: int, machines: int, pause: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._cluster, self._toy, self._pause = cluster, toy, pause
        self._chance = random.Random(seed)
        self._left = self._chance.sample(["worker"] * workers + ["machine"] * machines, workers + machines)
        self.killed = {"worker": 0, "machine": 0}

    def run(self) -> None:
        while self._left:
            time.sleep(self._chance.uniform(0, 2 * self._pause))
            if self._kill(self._left[-1]):
                self.killed[self._left.pop()] += 1

    def _kill(self, what: str) -> bool:
        if what == "worker":
            running = list_worker_processes(self._toy)
            with suppress(ProcessLookupError):
                if running:
                    os.kill(self._chance.choice(running), signal.SIGKILL)
                    return True
            return False
        nodes = sorted(self._cluster.worker_nodes, key=lambda node: node.unique_id)
        self._cluster.remove_node(self._chance.choice(nodes), allow_graceful=False)
        while True:
            with suppress(Exception):  # a busy machine may take longer than Ray waits
                self._cluster.add_node(**NODE)
                return True


@pytest.mark.parametrize(
    ("workers", "machines"), [(4, 1), pytest.param(30, 5, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_done_twice(
    cluster: Any, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, machines: int
) -> None:
    request = {"seeds": 20, "options": {"toy": {"sleep": 0.05}, "toy-judge": {"sleep": 0.02}}}
    expected = run_toy(None, tmp_path / "local", seeds=20)
    # a machine of the cluster would set a handler of signals, which only the main thread may do
    monkeypatch.setattr("ray._private.utils.set_sigterm_handler", lambda handler: None)
    killer = Killer(cluster, toy, workers, machines, pause=1.5, seed=workers)
    killer.start()
    runs = 0
    while killer.is_alive():
        cache = tmp_path / f"cache-{runs}"
        monkeypatch.setenv("T2I_CACHE_DIR", str(cache))
        run = run_toy(cluster, tmp_path / f"run-{runs}", workers=4, **request)
        runs += 1
        assert_same(run.folder, expected.folder)
        assert (count_rows(cache, "images"), count_rows(cache, "observations")) == (400, 400)
    assert killer.killed == {"worker": workers, "machine": machines}


def make_command(name: str, cluster: Any, out: Path, seeds: int) -> list[str]:
    """Return a command whose model takes 50 ms an image, on two workers."""
    asked = ["--model", "toy", "--prompts", "toy-prompts", "--seeds", str(seeds), "-o", "toy.sleep=0.05"]
    placed = ["--executor", "ray", "--address", cluster.address, "--workers", "2"]
    return [sys.executable, "-m", "t2i_cli", name, *asked, *placed, "--out", str(out)]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"])
def test_a_signal_ends_a_run_in_order(
    cluster: Any, tmp_path: Path, cache: Path, number: signal.Signals, code: int
) -> None:
    command = make_command("generate", cluster, tmp_path / "run", seeds=200)
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while count_rows(cache, "images") < 20:
        assert started.poll() is None
        time.sleep(0.1)
    started.send_signal(number)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == code
    # a machine that an earlier test killed may be missed only now, which is a note
    lines = [line for line in errors.splitlines() if line.startswith(("error", "Traceback"))]
    assert [line.partition(";")[0] for line in lines] == ["error: interrupted"]


def test_a_killed_driver_goes_on_where_it_stopped(
    cluster: Any, toy: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = ["--metric", "toy-metric", "--judge", "toy-judge"]
    command = [*make_command("eval", cluster, tmp_path / "run", seeds=10), *measured]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while count_rows(cache, "images") < 50:
        assert started.poll() is None
        time.sleep(0.1)
    started.kill()
    started.wait()
    kept = count_rows(cache, "images")
    assert kept < 200
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "(2 workers): " in done.stderr + done.stdout
    assert (count_rows(cache, "images"), count_rows(cache, "observations")) == (200, 200)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "other"))
    expected = run_toy(None, tmp_path / "local", seeds=10)
    assert_same(tmp_path / "run", expected.folder)


def assert_same(one: Path, other: Path) -> None:
    for name in ("samples.csv", "measurements.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def count_rows(cache: Path, table: str) -> int:
    try:
        with connect(cache) as rows:
            return int(rows.execute(f"select count(*) from {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@contextmanager
def connect(cache: Path) -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(f"file:{cache / DATABASE}?mode=ro", uri=True)
    try:
        yield opened
    finally:
        opened.close()
