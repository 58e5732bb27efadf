"""A killed run goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("slow_world.py")
SAMPLES = 40


def start(folder: Path, *shard: str, samples: int = SAMPLES) -> subprocess.Popen[str]:
    command = [sys.executable, SCRIPT, folder / "cache", folder / "run", folder / "log", str(samples), *shard]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


def done(folder: Path) -> Counter[str]:
    log = folder / "log"
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def kinds(counter: Counter[str], kind: str) -> int:
    return sum(n for line, n in counter.items() if line.startswith(kind))


def kill_after(folder: Path, kind: str, count: int) -> None:
    process = start(folder)
    deadline = time.monotonic() + 60
    while kinds(done(folder), kind) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_run_killed_twice_ends_like_one_that_was_not(tmp_path: Path) -> None:
    undisturbed = finish(start(made(tmp_path / "a")))
    made(tmp_path / "b")
    kill_after(tmp_path / "b", "image", 10)
    kill_after(tmp_path / "b", "observation", 10)
    resumed = finish(start(tmp_path / "b"))
    assert resumed["results"] == undisturbed["results"]
    assert resumed["comparisons"] == undisturbed["comparisons"]
    counts = done(tmp_path / "b")
    assert len(counts) == 2 * SAMPLES
    # only what was in flight when the process was killed is done twice
    assert kinds(counts, "image") <= SAMPLES + 1
    assert kinds(counts, "observation") <= SAMPLES + 1
    for name in ("samples.csv", "measurements.csv", "failures.csv"):
        assert (tmp_path / "a" / "run" / name).read_text() == (tmp_path / "b" / "run" / name).read_text()


def test_a_second_run_does_nothing_and_says_the_same(tmp_path: Path) -> None:
    first = finish(start(tmp_path))
    before = done(tmp_path)
    assert finish(start(tmp_path)) == first
    assert done(tmp_path) == before


def test_shards_share_the_work_and_the_last_run_scores_it(tmp_path: Path) -> None:
    shards = [start(tmp_path, f"{i}/2") for i in (1, 2)]
    partial = [finish(s) for s in shards]
    assert [p["results"] for p in partial] == [[], []]
    assert "part 1 of 2 is done" in partial[0]["partial"]
    assert set(done(tmp_path).values()) == {1}
    assert kinds(done(tmp_path), "image") == SAMPLES
    whole = finish(start(tmp_path))
    assert kinds(done(tmp_path), "observation") == SAMPLES
    assert whole["results"] == finish(start(made(tmp_path / "alone")))["results"]


def test_a_run_folder_is_held_by_one_process(tmp_path: Path) -> None:
    first = start(tmp_path, samples=2000)
    while kinds(done(tmp_path), "image") < 1:
        assert first.poll() is None
        time.sleep(0.01)
    second = start(tmp_path, samples=2000)
    _, err = second.communicate(timeout=60)
    assert second.returncode != 0
    assert "another process works on this run" in err
    first.kill()
    first.communicate()
