"""What a user is told about interrupted and damaged runs, and that it can be followed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_cli.app import app
from t2i_core import load_run
from t2i_core.storage.store import DATABASE
from t2i_core.testing.fake_dists import fake_dist, forget_modules
from typer.testing import CliRunner

from faults.command import KILLED, UNUSABLE, Command, ForkServer, Undisturbed
from faults.run_rows import read_rows

PLUGIN = """
    from faults import small_world
    from t2i_core.api import hookimpl

    @hookimpl
    def t2i_generators():
        return [small_world.describe_painter(120)]

    @hookimpl
    def t2i_judges():
        return [small_world.LIGHT_METER, small_world.TRUTH_READER]

    @hookimpl
    def t2i_metrics():
        return [small_world.BRIGHTNESS, small_world.AREA]

    @hookimpl
    def t2i_prompt_sources():
        return [small_world.FOUR]
"""
ENTRIES = {
    "t2i.generators": {"painter-120": "small_plugin"},
    "t2i.judges": {"light-meter": "small_plugin", "truth-reader": "small_plugin"},
    "t2i.judges.reward": {"light-meter": "small_plugin"},
    "t2i.judges.segment": {"truth-reader": "small_plugin"},
    "t2i.metrics": {"brightness": "small_plugin", "area": "small_plugin"},
    "t2i.prompt_sources": {"four": "small_plugin"},
}
SMALL_EVAL = shlex.split(
    "eval --metric brightness --metric area --model painter-120 --prompts four --judge light-meter "
    "--judge truth-reader --seeds 4 --max-failed 0.5 --out run --json"
)

T2I = Path(sys.executable).with_name("t2i")
SIMULATOR_EVAL = shlex.split(
    "eval --metric tiam --model simulator --judge oracle --prompts tiam-5-2 --limit 4 --seeds 2 "
    "-o simulator.size=64 -o simulator.spp=4 --out run -o simulator.workers=2"
)
"""Eight small images, drawn by two worker processes."""


@pytest.fixture
def t2i(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Runs the command line, with the small world as a plugin, in a new folder."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    fake_dist(site, "small", ENTRIES, {"small_plugin": PLUGIN})
    yield lambda *words: CliRunner().invoke(app, words)
    forget_modules(site)


def read_error(result: Any) -> str:
    """Return the one error line of a command."""
    assert result.exit_code == UNUSABLE, result.output
    (line,) = (line for line in result.stderr.splitlines() if line.startswith("error: "))
    assert "Traceback" not in result.stderr
    return str(line)


@pytest.mark.long
def test_damage_is_named_and_the_advice_works(t2i: Callable[..., Any], tmp_path: Path) -> None:
    first = json.loads(t2i(*SMALL_EVAL).stdout)
    database = tmp_path / "cache" / DATABASE
    database.write_bytes(b"no database" * 1000)
    assert read_error(t2i(*SMALL_EVAL)).startswith(
        f"error: {database} is damaged (file is not a database): remove"
    )
    assert t2i("analyze", "run").exit_code == 0  # what was finished before stays whole
    database.unlink()
    assert json.loads(t2i(*SMALL_EVAL).stdout) == first

    measurements = tmp_path / "run" / "measurements.csv"
    measurements.write_text(measurements.read_text().replace("1.0", "0.0", 1))
    assert "measurements.csv" in read_error(t2i("analyze", "run"))
    assert json.loads(t2i(*SMALL_EVAL).stdout) == first
    assert t2i("analyze", "run").exit_code == 0

    manifest = tmp_path / "run" / "run.json"
    manifest.write_text(manifest.read_text().replace('"status": "done"', '"status": "done'))
    line = read_error(t2i("analyze", "run"))
    assert "run.json: cannot be read (" in line
    assert "give the run's command again" in line
    assert [run["status"] for run in json.loads(t2i("runs", ".", "--json").stdout)] == ["unreadable"]
    again = t2i(*SMALL_EVAL)
    assert json.loads(again.stdout) == first
    assert "run.json was damaged" in again.stderr


@pytest.mark.long
def test_a_folder_that_cannot_be_used_is_named(t2i: Callable[..., Any], tmp_path: Path) -> None:
    for name in ("cache", "run"):
        (tmp_path / name).write_text("in the way")
        assert str(tmp_path / name) in read_error(t2i(*SMALL_EVAL))
        (tmp_path / name).unlink()
    assert t2i(*SMALL_EVAL).exit_code == 0
    with sqlite3.connect(tmp_path / "cache" / DATABASE) as database:
        database.execute("drop table images")
        database.execute("create table images (key blob primary key)")
    assert "is damaged" in read_error(t2i(*SMALL_EVAL))


@pytest.mark.long
def test_an_interrupted_run_shows_no_numbers(
    server: ForkServer, undisturbed: dict[str, Undisturbed], tmp_path: Path
) -> None:
    command = Command(str(tmp_path))
    judging = undisturbed["scores"].changes["judging"]
    assert server.run(replace(command, kill_at=judging[len(judging) // 2])).code == KILLED
    shown = CliRunner().invoke(app, ["runs", str(tmp_path)])
    assert shown.exit_code == 0
    assert "interrupted" in shown.stdout
    assert re.search(r"\b0\.\d", shown.stdout) is None  # no score; a size may be 10.0KB
    refused = CliRunner().invoke(app, ["analyze", str(command.run)])
    assert refused.stdout == ""
    assert "the run was interrupted" in read_error(refused)
    assert load_run(command.run).status == "interrupted"


# --- Ctrl-C and SIGTERM, sent to the real command


class Process:
    """A `t2i` process in its own session, as a terminal starts it."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        environment = {**os.environ, "T2I_CACHE_DIR": str(folder / "cache")}
        # a child also ignores the signals that its parent ignores
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.process = subprocess.Popen(
                [T2I, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                start_new_session=True, env=environment, cwd=folder,
            )  # fmt: skip
        finally:
            signal.signal(signal.SIGINT, before)

    def wait_for_image(self) -> None:
        """Wait until another image is kept, so that more are being drawn."""
        before = len(hash_images(self.folder))
        while self.process.poll() is None and len(hash_images(self.folder)) == before:
            time.sleep(0.005)

    def send(self, number: int) -> None:
        """Send a signal to the process and its workers."""
        os.killpg(self.process.pid, number)

    def wait(self) -> tuple[int, str]:
        """Wait for the end; return exit code and standard error."""
        _, error = self.process.communicate(timeout=120)
        assert "Traceback" not in error, error
        assert "Exception ignored" not in error, error
        return self.process.returncode, error

    def children(self) -> list[int]:
        """Return the ids of the worker processes."""
        pid = self.process.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def hash_images(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each image in the cache by its name."""
    files = folder.glob("cache/images/*/*.png")
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run of the simulator."""
    folder = tmp_path_factory.mktemp("simulated")
    code, error = Process(folder, *SIMULATOR_EVAL).wait()
    assert code == 0, error
    return folder / "run"


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_interrupts_stop_the_command_and_name_the_one_that_resumes_it(simulated: Path, tmp_path: Path) -> None:
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        first = Process(tmp_path, *SIMULATOR_EVAL)
        first.wait_for_image()
        first.send(number)
        ended, error = first.wait()
        assert ended == code, error
        (line,) = (line for line in error.splitlines() if line.startswith("error: "))
        resume = re.search(r"resumes it: (?:uv run )?t2i (.*)", line)
        assert resume is not None
        assert shlex.split(resume[1]) == SIMULATOR_EVAL
    kept = hash_images(tmp_path)
    assert 2 <= len(kept) < 8
    assert all(name == digest for name, digest in kept.items())

    second = Process(tmp_path, *SIMULATOR_EVAL)
    second.wait_for_image()
    workers = second.children()
    second.send(signal.SIGINT)
    time.sleep(0.1)
    if second.process.poll() is None:  # the second Ctrl-C ends it at once
        second.send(signal.SIGINT)
    assert second.wait()[0] in (130, -signal.SIGINT)
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.1)

    code, error = Process(tmp_path, *SIMULATOR_EVAL).wait()
    assert code == 0, error
    assert kept.items() <= hash_images(tmp_path).items()
    assert read_rows(tmp_path / "run") == read_rows(simulated)
