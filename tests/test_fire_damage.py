"""Damage to files, full disks and folders that cannot be written: few tries of the campaign's cases, and what a
user is told."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fire import damage, disks, disturbed
from fire.small_world import carry_out
from fire.tally import Case, Difference
from t2i_core.storage.store import DATABASE
from t2i_core.testing.fake_dists import fake_dist, forget_modules
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> disturbed.World:
    return disturbed.world(tmp_path_factory.mktemp("scores"), "scores")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> disturbed.World:
    return disturbed.world(tmp_path_factory.mktemp("data"), "data")


@pytest.fixture
def rng() -> random.Random:
    return random.Random(1)


def nothing_is_amiss(cases: Iterable[Case]) -> None:
    found = list(cases)
    assert all(case.tried and case.compared for case in found)
    assert [case for case in found if case.difference != Difference()] == []


def test_damaged_images(scores: disturbed.World, data: disturbed.World, rng: random.Random) -> None:
    nothing_is_amiss(damage.images(scores, rng, 5))
    nothing_is_amiss(damage.images(data, rng, 5))


def test_images_of_the_users_own_that_change(tmp_path: Path, rng: random.Random) -> None:
    nothing_is_amiss(damage.users_own(tmp_path, rng, 7))


def test_a_damaged_database(scores: disturbed.World, rng: random.Random) -> None:
    nothing_is_amiss(damage.observations(scores, rng, 2))


def test_damaged_files_of_a_run(scores: disturbed.World, data: disturbed.World, rng: random.Random) -> None:
    nothing_is_amiss(damage.run_files(scores, rng, 10))
    nothing_is_amiss(damage.run_files(data, rng, 6))


def test_folders_that_go_in_the_middle_of_a_run(scores: disturbed.World, rng: random.Random) -> None:
    nothing_is_amiss(damage.vanishing(scores, rng, 4))


def test_files_that_cannot_grow(tmp_path: Path, rng: random.Random) -> None:
    nothing_is_amiss(disks.limits(tmp_path, rng, 2))


def test_folders_that_may_not_be_written(rng: random.Random) -> None:
    nothing_is_amiss(disks.permissions(rng, 1))


def test_a_loss_would_be_counted(scores: disturbed.World) -> None:
    """The tally itself: a run with another value, with one row less, and one that did not end."""

    def held(change: Callable[[], Any]) -> Difference:
        count = disturbed.Count("")
        scores.restore()
        change()
        scores.held(count, disturbed.DONE)
        return count.found

    table = scores.run / "measurements.csv"
    assert held(lambda: None) == Difference()
    assert held(lambda: table.write_text(table.read_text().replace("bright,1.0", "bright,0.0", 1))).differing == 1
    assert held(lambda: table.write_text("\n".join(table.read_text().splitlines()[:-1]))).lost == 1
    assert held(lambda: next(scores.run.glob("images/*/*.png")).write_bytes(b"x")).differing == 1
    assert held(lambda: shutil.rmtree(scores.run)).lost > 100


def test_a_disk_without_room_is_said_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = carry_out(tmp_path / "other", tmp_path / "undisturbed").folder
    w = disturbed.World("scores", undisturbed, tmp_path / "cache", tmp_path / "run")
    with monkeypatch.context() as full:
        full.setattr(os, "open", _no_room(os.open, "run"))
        full.setattr("io.open", _no_room(open, "run"))
        line = disturbed.said(w.command)
    assert line == (
        f"{w.run}: cannot be written (No space left on device); mend that or name another folder with --out"
    )
    count = disturbed.Count("")
    w.held(count, line)
    assert count.found == Difference()


def _no_room(real: Callable[..., Any], part: str) -> Callable[..., Any]:
    def opened(file: Any, *arguments: Any, **more: Any) -> Any:
        writes = any("w" in str(a) for a in arguments) or any(isinstance(a, int) and a & 3 for a in arguments)
        if writes and f"/{part}/" in str(file):
            raise OSError(28, os.strerror(28), str(file))
        return real(file, *arguments, **more)

    return opened


# --- what a user is told, by the command line itself

PLUGIN = """
    from fire import small_world
    from t2i_core.api import hookimpl

    @hookimpl
    def t2i_generators():
        return [small_world.painter(120)]

    @hookimpl
    def t2i_judges():
        return [small_world.EYE, small_world.TELLER]

    @hookimpl
    def t2i_metrics():
        return [small_world.BRIGHTNESS, small_world.AREA]

    @hookimpl
    def t2i_prompt_sources():
        return [small_world.FOUR]
"""
ENTRIES = {
    "t2i.generators": {"painter-120": "small_plugin"},
    "t2i.judges": {"eye": "small_plugin", "teller": "small_plugin"},
    "t2i.judges.reward": {"eye": "small_plugin"},
    "t2i.judges.segment": {"teller": "small_plugin"},
    "t2i.metrics": {"brightness": "small_plugin", "area": "small_plugin"},
    "t2i.prompt_sources": {"four": "small_plugin"},
}
EVAL = (
    *("eval", "--metric", "brightness", "--metric", "area", "--model", "painter-120", "--prompts", "four"),
    *("--judge", "eye", "--judge", "teller", "--seeds", "4", "--max-failed", "0.5", "--out", "run", "--json"),
)


@pytest.fixture
def t2i(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    fake_dist(site, "small", ENTRIES, {"small_plugin": PLUGIN})
    from t2i_cli.app import app

    yield lambda *words: CliRunner().invoke(app, words)
    forget_modules(site)


def error(result: Any) -> str:
    """The one line of a command that was stopped."""
    assert result.exit_code == 11, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "Traceback" not in result.stderr
    return lines[0]


def test_the_command_line_says_what_is_damaged_and_what_to_do(t2i: Callable[..., Any], tmp_path: Path) -> None:
    first = json.loads(t2i(*EVAL).stdout)
    database = tmp_path / "cache" / DATABASE
    database.write_bytes(b"no database" * 1000)
    line = error(t2i(*EVAL))
    assert line.startswith(f"error: {database} is damaged (file is not a database): remove it and all whose names")
    # what was finished before stays and is still whole
    assert t2i("analyze", "run").exit_code == 0
    database.unlink()
    assert json.loads(t2i(*EVAL).stdout) == first

    measurements = tmp_path / "run" / "measurements.csv"
    measurements.write_text(measurements.read_text().replace("1.0", "0.0", 1))
    line = error(t2i("analyze", "run"))
    assert "measurements.csv: is not as the run wrote it" in line
    assert json.loads(t2i(*EVAL).stdout) == first
    assert t2i("analyze", "run").exit_code == 0

    manifest = tmp_path / "run" / "run.json"
    manifest.write_text(manifest.read_text().replace('"status": "done"', '"status": "done'))
    line = error(t2i("analyze", "run"))
    assert "run.json: cannot be read (" in line
    assert "; the run's own command, given again, writes it anew" in line
    assert [run["status"] for run in json.loads(t2i("runs", ".", "--json").stdout)] == ["unreadable"]
    again = t2i(*EVAL)
    assert json.loads(again.stdout) == first
    assert "run.json was damaged and is written anew" in again.stderr


def test_the_command_line_says_which_folder_cannot_be_used(t2i: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert f"cache folder {tmp_path}/cache: Not a directory; mend that or name another one" in error(t2i(*EVAL))
    (tmp_path / "cache").unlink()
    (tmp_path / "run").write_text("in the way")
    assert f"{tmp_path}/run: cannot be written (File exists); mend that or name" in error(t2i(*EVAL))
    (tmp_path / "run").unlink()
    assert t2i(*EVAL).exit_code == 0
    with sqlite3.connect(tmp_path / "cache" / DATABASE) as database:
        database.execute("drop table images")
        database.execute("create table images (key blob primary key)")
    assert "is damaged" in error(t2i(*EVAL))
