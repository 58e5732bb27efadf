"""How many threads t2i lets torch and numpy start, and that they sleep while they wait."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from t2i_core import evaluate
from t2i_core.api import Measure, Metric, MetricInfo, Need, Row
from t2i_core.engine.thread_pools import THREADS, WAITING, count_cores, limit_threads, sleep_while_waiting
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

on_linux = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs Linux's scheduler interface")


class Answered(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("answered", 1.0)


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A quiet machine with eight cores, all of which this process may use."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    write(tmp_path, "proc/loadavg", "7.90 7.90 7.90 1/500 4242")
    return tmp_path


def threads(root: Path) -> int:
    environ: dict[str, str] = {}
    limit_threads(environ, root)
    return int(environ[THREADS])


def test_a_quiet_machine_gives_all_its_cores(root: Path) -> None:
    assert threads(root) == 8  # although the load of the last minute was high


def test_affinity_limits_threads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 5, 6})
    assert threads(root) == 3


def test_two_hardware_threads_of_a_core_count_once(root: Path) -> None:
    for cpu in range(8):
        first = cpu % 4
        write(root, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", f"{first},{first + 4}\n")
    assert count_cores(root) == 4


@pytest.mark.parametrize(
    ("group", "files", "cores"),
    [
        ("0::/box\n", {"box/cpu.max": "250000 100000\n"}, 2),
        ("0::/box/inner\n", {"box/cpu.max": "300000 100000\n", "box/inner/cpu.max": "max 100000\n"}, 3),
        ("0::/box\n", {"box/cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/../elsewhere\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/names/of/the/host\n", {"cpu.max": "200000 100000\n"}, 2),
        (
            "5:cpu,cpuacct:/job\n4:cpuset:/job\n",
            {"cpu/job/cpu.cfs_quota_us": "400000\n", "cpu/job/cpu.cfs_period_us": "100000\n"},
            4,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ("0::/box\n", {"box/cpu.max": "\n"}, 8),
        ("", {}, 8),
    ],
)
def test_control_groups_limit_threads(root: Path, group: str, files: dict[str, str], cores: int) -> None:
    write(root, "proc/self/cgroup", group)
    for name, text in files.items():
        write(root, f"sys/fs/cgroup/{name}", text)
    assert threads(root) == cores


@pytest.mark.parametrize(("running", "left"), [(2, 7), (6, 3), (9, 1), (40, 1)])
def test_cores_that_others_use_are_left_to_them(root: Path, running: int, left: int) -> None:
    write(root, "proc/loadavg", f"0.00 0.00 0.00 {running}/500 4242")
    assert threads(root) == left


def test_variables_set_by_the_user_are_kept(root: Path) -> None:
    environ = {THREADS: "3", **dict.fromkeys(WAITING, "as the user has it")}
    before = dict(environ)
    sleep_while_waiting(environ)
    limit_threads(environ, root)
    assert environ == before


def test_evaluate_sets_the_waiting_policy_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of threads is the caller's business: the process may do other work."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    for name in (*WAITING, THREADS):
        monkeypatch.delenv(name, raising=False)
    metric = MetricInfo(
        name="answered",
        summary="Always 1.",
        create=Answered,
        measures=(Measure("answered", "1", low=0, high=1),),
    )
    evaluate(
        metric,
        TEST_MODEL,
        prompts=TEST_PROMPTS.name,
        judge=TEST_JUDGE.name,
        out=tmp_path / "run",
        resolver=StaticResolver(TEST_MODEL, TEST_PROMPTS, TEST_JUDGE),
    )
    assert {name: os.environ.get(name) for name in WAITING} == WAITING
    assert THREADS not in os.environ


@pytest.mark.long
@on_linux
def test_threads_that_wait_use_no_core() -> None:
    """Spinning, the second thread uses .4 s or more of processor time in these 100 pauses of 10 ms."""
    code = """
import time
from t2i_core.engine.thread_pools import sleep_while_waiting
sleep_while_waiting()
import torch
torch.set_num_threads(2)
numbers = torch.ones(1 << 17)
numbers.add_(1)
before = time.process_time()
for _ in range(100):
    numbers.add_(1)
    time.sleep(0.01)
print(time.process_time() - before)
"""
    environ = {name: value for name, value in os.environ.items() if name not in {*WAITING, THREADS}}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.2
