"""The progress that a run records in its folder, and how it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from t2i_core import Run, evaluate
from t2i_core.api import Failure, Generated, GeneratorInfo, Options
from t2i_core.api.errors import BadFolder
from t2i_core.api.progress import Silent
from t2i_core.engine import run_journal
from t2i_core.engine.run_journal import RunJournal
from t2i_core.results.run import load_run
from t2i_core.results.run_progress import RunProgress, find_new_image, read_progress
from t2i_core.storage.run_folder import RunFolder
from t2i_core.storage.run_lock import is_locked
from t2i_core.testing import TEST_PROMPTS, StaticResolver

DIGEST = "ab" * 32


class Watched:
    """Draws images, and reads the progress that the run has recorded by then."""

    def __init__(self, folder: Path, fails_at: int | None = None) -> None:
        self.folder, self.fails_at = folder, fails_at
        self.seen: list[RunProgress | None] = []
        self.locked: list[bool] = []

    def generate(self, requests: Any) -> Iterator[tuple[Any, Any]]:
        for number, request in enumerate(requests):
            self.seen.append(read_progress(self.folder))
            self.locked.append(is_locked(self.folder))
            if number == self.fails_at:
                raise KeyboardInterrupt
            if request.seed == 1:
                yield request, Failure("the filter blanked it")
            else:
                pixels = np.full((8, 8, 3), 10 + number, np.uint8)
                yield request, Generated(pixels)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Record after each item."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(run_journal, "EVERY", 0.0)


def run(watched: Watched, **more: Any) -> Run:
    info = GeneratorInfo(name="watched", summary="Squares.", options=Options, create=lambda setup: watched)
    resolver = StaticResolver(info, TEST_PROMPTS)
    how: dict[str, Any] = {"prompts": "test-prompts", "seeds": 3, "max_failed": 0.9}
    return evaluate((), "watched", out=watched.folder, resolver=resolver, **how, **more)


@pytest.mark.usefixtures("always")
def test_a_run_records_its_progress_and_removes_the_record(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "run")
    run(watched)
    assert all(watched.locked)
    last = watched.seen[-1]
    assert last is not None
    stage = last.stages[-1]
    assert (stage.title, stage.unit, stage.total, stage.is_open) == ("images of watched", "images", 6, True)
    assert stage.done >= 1
    assert stage.rate is not None
    assert stage.seconds_left is not None
    assert set(last.failures) == {"the filter blanked it"}
    assert {image.model for image in last.images} == {"watched"}
    assert find_new_image(last.images[0].digest).pixels.shape == (8, 8, 3)
    assert read_progress(tmp_path / "run") is None
    assert not is_locked(tmp_path / "run")


@pytest.mark.usefixtures("always")
def test_an_interrupted_run_keeps_its_progress(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(Watched(tmp_path / "run", fails_at=4))
    found = read_progress(tmp_path / "run")
    assert found is not None
    assert not any(stage.is_open for stage in found.stages)
    assert found.stages[-1].total == 6
    run(Watched(tmp_path / "run"))
    assert read_progress(tmp_path / "run") is None


@pytest.mark.usefixtures("always")
def test_a_run_whose_results_are_there_records_nothing(tmp_path: Path) -> None:
    run(Watched(tmp_path / "run"))
    again = Watched(tmp_path / "run")
    run(again, fresh=True)
    assert set(again.seen) == {None}


def test_a_record_that_cannot_be_written_does_not_end_the_run() -> None:
    class Full:
        def write_progress(self, progress: Any) -> None:
            raise BadFolder("the disk is full")

    said: list[str] = []

    class Notes(Silent):
        def note(self, message: str) -> None:
            said.append(message)

    folder: Any = Full()
    journal = RunJournal(Notes(), folder)
    for _ in range(2):
        with journal.task("images", 2, "images") as task:
            task.advance()
    assert said == ["progress is not recorded any more: the disk is full"]


@pytest.mark.usefixtures("always")
def test_a_record_that_cannot_be_removed_harms_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = RunFolder.remove_progress

    def remove(folder: RunFolder) -> None:
        if read_progress(folder.path) is not None:
            raise BadFolder("somebody reads it")
        removed(folder)

    monkeypatch.setattr(RunFolder, "remove_progress", remove)
    folder = tmp_path / "run"
    assert run(Watched(folder)).status == "done"
    assert load_run(folder).status == "done"
    assert read_progress(folder) is not None


def test_stages_with_one_title_are_one() -> None:
    times = iter(range(100))
    written: list[RunProgress] = []

    class Folder:
        def write_progress(self, progress: Any) -> None:
            written.append(RunProgress.model_validate(progress))

    folder: Any = Folder()
    journal = RunJournal(folder=folder, clock=lambda: float(next(times)))
    for _ in range(3):
        with journal.task("images", 10, "images") as task:
            task.advance(10, failed=1)
    (stage,) = written[-1].stages
    assert (stage.total, stage.done, stage.failed) == (30, 30, 3)
    for number in range(30):
        journal.add_failure(Failure(f"reason {number}"))
    journal.add_failure(Failure("nobody was asked", missing=True))
    journal.record()
    assert len(written[-1].failures) == 21
    assert written[-1].failures["other reasons"] == 10


@pytest.mark.parametrize(
    "content",
    [
        b"{", b"[]", b"{}", b"\xff", b'{"written": NaN, "stages": []}', b"[" * 100_000, b" " * (1 << 21),
        json.dumps({"written": 1.0, "stages": [], "images": [
            {"model": "a", "text": "a", "seed": 0, "digest": "../../secret"}]}).encode(),
    ],
)  # fmt: skip
def test_a_damaged_record_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".progress").write_bytes(content)
    with pytest.raises(BadFolder):
        read_progress(tmp_path)


def test_a_record_is_not_read_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(json.dumps({"written": 1.0, "stages": []}))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".progress").symlink_to(tmp_path / "secret")
    with pytest.raises(BadFolder):
        read_progress(tmp_path / "run")


@pytest.mark.skipif(os.name != "posix", reason="shared locks are those of POSIX")
def test_looking_for_a_lock_changes_nothing_and_disturbs_no_one(tmp_path: Path) -> None:
    import fcntl

    file = tmp_path / ".lock"
    file.touch()
    before = file.stat()
    with file.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)  # another process looks at the same moment
        assert not is_locked(tmp_path)
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    file.chmod(0o444)
    assert not is_locked(tmp_path)
    file.chmod(0o644)
    with FileLock(file):
        assert is_locked(tmp_path)
