"""Processes under fire, a few tries of each kind; tests/fire_campaign.py tries them at length."""

from __future__ import annotations

import hashlib
import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fire import interrupts, processes
from fire.forked import Asked, Crew, noted
from fire.processes import Undisturbed
from fire.tally import Case, Difference
from t2i_cli.app import app
from t2i_core import load_run
from typer.testing import CliRunner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    with Crew() as crew:
        yield crew


@pytest.fixture(scope="module")
def whole(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return {kind: processes.undisturbed(crew, folder, kind) for kind in ("scores", "data")}


def nothing_lost(cases: list[Case]) -> None:
    assert [case for case in cases if case.difference != Difference()] == []
    assert all(case.tried and case.compared for case in cases)


def test_killed_runs_end_like_one_that_was_not(crew: Crew, whole: Any, tmp_path: Path) -> None:
    cases = list(processes.kills(crew, tmp_path, whole, 1, random.Random(0)))
    nothing_lost(cases)
    assert sum(case.tried for case in cases) == 1 + 5 + 1 + 3


@pytest.mark.parametrize("killed", [False, True])
def test_processes_share_a_run(killed: bool, crew: Crew, whole: Any, tmp_path: Path) -> None:
    scores = whole["scores"]
    strike = processes.at_any_moment(scores, random.Random(1)) if killed else None
    nothing_lost([processes.shared(crew, tmp_path, "shared", scores, 2 if killed else 4, 1, strike)])


def test_a_run_started_twice_at_once_goes_on_undisturbed(crew: Crew, whole: Any, tmp_path: Path) -> None:
    case = processes.in_use(crew, tmp_path, whole["scores"], 2, random.Random(2))
    nothing_lost([case])
    assert case.note.startswith(("1 refused", "2 refused"))


def test_runs_share_a_cache(crew: Crew, whole: Any, tmp_path: Path) -> None:
    nothing_lost([processes.one_cache(crew, tmp_path, whole, 1)])


def test_no_clock_can_be_wrong_enough(crew: Crew, whole: Any, tmp_path: Path) -> None:
    nothing_lost([processes.wrong_clocks(crew, tmp_path, whole["scores"], 1, random.Random(3))])


def test_kept_work_that_is_done_again_is_seen(crew: Crew, whole: Any, tmp_path: Path) -> None:
    asked = Asked(str(tmp_path / "a"))
    assert crew.finish(asked) == 0
    image = next(tmp_path.glob("a/cache/images/*/*.png"))
    image.write_bytes(b"")
    assert crew.finish(asked) == 0
    # the image alone: its answers are kept under its digest, which is what it was
    assert processes.held(asked, whole["scores"]) == Difference(lost=1)


def test_an_interrupted_run_shows_no_numbers(crew: Crew, whole: Any, tmp_path: Path) -> None:
    asked = Asked(str(tmp_path))
    for _ in range(2):
        assert crew.finish(replace(asked, point=whole["scores"].points // 2)) == processes.KILLED
        shown = CliRunner().invoke(app, ["runs", str(tmp_path)])
        assert shown.exit_code == 0
        assert "interrupted" in shown.stdout or "no runs in" in shown.stdout
        assert "0." not in shown.stdout
        refused = CliRunner().invoke(app, ["analyze", str(asked.run)])
        assert refused.exit_code == processes.IN_USE
        assert refused.stdout == ""
        assert refused.stderr.count("\n") == 1
        assert re.search("the run was interrupted|holds no run|no such folder", refused.stderr)
    assert {line.of for line in noted(asked.log)} >= {"generating", "judging"}
    assert load_run(asked.run).status == "interrupted"


def test_ctrl_c_while_the_simulator_draws(tmp_path: Path) -> None:
    words = [*interrupts.EVAL, "-o", "simulator.workers=1", "--out", "run"]
    command = interrupts.Command(tmp_path, *words)
    command.draw()
    _, resume = interrupts.interrupted(command, 2, (130,), 1, 0.0)
    assert resume == words
    kept = digests(tmp_path)
    again = interrupts.Command(tmp_path, *resume)
    again.draw()
    workers = children(again.process.pid)
    interrupts.interrupted(again, 2, (130, -2), 2, 0.1)
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.1)
    assert 1 <= len(kept) < len(digests(tmp_path)) < 8
    assert kept.items() <= digests(tmp_path).items()
    assert all(name == digest for name, digest in digests(tmp_path).items())


def digests(folder: Path) -> dict[str, str]:
    """What is in the cache's images, by their names."""
    files = folder.glob("cache/images/*/*.png")
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_there_is_no_leftover_of_a_kill_in_the_end(crew: Crew, whole: Any, tmp_path: Path) -> None:
    asked = Asked(str(tmp_path), "data")
    rng = random.Random(4)
    for _ in range(3):
        crew.finish(replace(asked, point=rng.randint(whole["data"].points * 3 // 4, whole["data"].points)))
    assert crew.finish(asked) == 0
    names = [path.name for path in asked.run.rglob("*") if path.is_file()]
    assert [name for name in names if name.endswith(".part")] == []
    assert {p.name for p in asked.run.iterdir()} == {p.name for p in whole["data"].run.iterdir()}
