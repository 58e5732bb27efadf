"""A run's folder after a kill, and after somebody has been at it."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from t2i_core.api import Generated, GeneratorInfo, Measure, Metric, MetricInfo, Need, Prompt, PromptSourceInfo, Row
from t2i_core.api.errors import BadFolder, BadModel
from t2i_core.api.progress import Silent
from t2i_core.engine.answer_stream import PATIENCE
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.engine.sample_list import name_model_folders
from t2i_core.results.run import Run, load_run
from t2i_core.results.run_list import ListedRun, UnreadableRun, list_runs
from t2i_core.storage.manifest_file import LOCK
from t2i_core.storage.store import DATABASE, Store
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

TABLES = ("samples.csv", "measurements.csv", "failures.csv")


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("reward", unit.one().one("reward").value)


METRIC = MetricInfo(name="brightness", summary="Mean.", create=Brightness, measures=(Measure("reward", "Mean."),))


class Notes(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def run(out: Path, seeds: int = 2, progress: Any = None, model: GeneratorInfo = TEST_MODEL, **more: Any) -> Run:
    return evaluate(
        METRIC, model, prompts="test-prompts", seeds=seeds, out=out,
        resolver=StaticResolver(TEST_JUDGE, TEST_PROMPTS), progress=progress, **more,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


DAMAGE = {
    "empty": lambda text: "",
    "truncated": lambda text: text[: len(text) // 2],
    "garbage": lambda text: "\x00\x01" * 100,
    "another kind": lambda text: "[1, 2]",
    "another object": lambda text: '{"results": []}',
    "infinite": lambda text: text.replace('"score": ', '"score": 1e999, "score before": '),
}


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_manifest_is_never_read_and_is_written_anew_by_the_same_command(
    damage: str, folder: Path
) -> None:
    first = run(folder)
    before = contents(folder)
    file = folder / "run.json"
    file.write_text(DAMAGE[damage](file.read_text()))
    with pytest.raises(
        BadFolder, match=r"run\.json: cannot be read .* give the run's command again to rewrite it"
    ):
        load_run(folder)
    assert [type(r) for r in list_runs(folder.parent)] == [UnreadableRun]
    with pytest.raises(BadFolder, match="damaged, and nothing else says which run this is"):
        run(folder, seeds=3)
    notes = Notes()
    assert run(folder, progress=notes).results == first.results
    assert notes.notes == [f"{folder}: run.json was damaged and is written again"]
    assert load_run(folder).results == first.results
    assert contents(folder) == before


def test_a_run_of_an_earlier_version_calls_its_adjusted_p_values_p(folder: Path) -> None:
    models = [ModelRequest(TEST_MODEL, label=label) for label in ("one", "two", "three")]
    first = evaluate(
        METRIC, models, prompts="test-prompts", seeds=2, out=folder,
        resolver=StaticResolver(TEST_JUDGE, TEST_PROMPTS),
    )  # fmt: skip
    file = folder / "run.json"
    text = file.read_text()
    assert text.count('"p_adjusted":') == 3
    file.write_text(text.replace('"p_adjusted":', '"p":'))
    stored = load_run(folder)
    assert stored.comparisons == first.comparisons
    assert "p" not in stored.to_json()["comparisons"][0]


def test_a_folder_without_its_manifest_is_still_this_runs_and_no_others(folder: Path) -> None:
    first = run(folder)
    (folder / "run.json").unlink()
    with pytest.raises(BadFolder, match="not empty and holds no run"):
        run(folder, seeds=3)
    assert run(folder).results == first.results


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("damage", ["empty", "truncated", "altered", "gone"])
def test_a_table_that_is_not_as_it_was_written_is_refused_and_written_anew(
    name: str, damage: str, folder: Path
) -> None:
    first = run(folder)
    before = contents(folder)
    file = folder / name
    data = before[name]
    file.write_bytes({"empty": b"", "truncated": data[:-7], "altered": data.replace(b"o", b"0")}.get(damage, b""))
    if damage == "gone":
        file.unlink()
    read = {"samples.csv": Run.samples, "measurements.csv": Run.measurements, "failures.csv": Run.failures}[name]
    with pytest.raises(BadFolder, match=r"not as the run wrote it|cannot be read"):
        read(load_run(folder))
    assert run(folder).results == first.results
    assert contents(folder) == before
    assert len(read(load_run(folder))) == data.count(b"\n") - 1


@pytest.mark.parametrize("damage", ["empty", "altered", "gone"])
def test_an_image_of_the_folder_that_was_damaged_is_made_again(damage: str, folder: Path) -> None:
    first = run(folder)
    before = contents(folder)
    file = sorted(folder.glob("images/*/*.png"))[1]
    data = file.read_bytes()
    # a hard link: the kept image is damaged with it
    file.unlink() if damage == "gone" else file.write_bytes(data[:-9] + b"x" * 9 if damage == "altered" else b"")
    assert run(folder).results == first.results
    assert file.read_bytes() == data
    assert contents(folder) == before


def test_an_image_that_cannot_be_linked_is_copied_wholly_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "another file system")

    def no_room(source: Path, target: Path) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:50])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", no_link)
    with monkeypatch.context() as full:
        full.setattr(shutil, "copyfile", no_room)
        with pytest.raises(BadFolder, match="No space left on device"):
            run(folder)
    assert [p for p in folder.rglob("*.p*") if p.is_file() and p.name not in (".plan", ".progress")] == []
    assert run(folder).results[0].n_ok == 4
    kept = {p.read_bytes() for p in (folder.parent / "cache" / "images").rglob("*.png")}
    assert {p.read_bytes() for p in folder.rglob("*.png")} == kept


def test_half_written_files_of_killed_processes_are_removed(folder: Path) -> None:
    run(folder)
    left = [folder / ".samples.csv.123.part", folder / "images" / "test-noise" / ".metadata.jsonl.123.part"]
    for part in left:
        part.write_text("half")
    run(folder)
    assert not any(part.exists() for part in left)


def test_a_run_without_results_is_interrupted_when_nobody_works_on_it(folder: Path) -> None:
    class Stop(Silent):
        def advance(self, count: int = 1, failed: int = 0) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(folder, progress=Stop())
    assert load_run(folder).status == "interrupted"
    with pytest.raises(BadFolder, match="did not write this file"):
        load_run(folder).samples()
    with FileLock(folder / LOCK):
        assert load_run(folder).status == "running"
    assert run(folder).status == "done"
    assert load_run(folder).status == "done"


def test_a_run_that_an_error_ended_has_failed_and_says_why(folder: Path) -> None:
    def broken(setup: Any) -> Any:
        raise BadModel("weights.safetensors: is cut short")

    with pytest.raises(BadModel, match="cut short"):
        run(folder, model=replace(TEST_MODEL, create=broken))
    stored = load_run(folder)
    assert (stored.status, stored.failed) == ("failed", "weights.safetensors: is cut short")
    assert stored.results == []
    assert stored.manifest.finished

    class Look(Silent):
        def advance(self, count: int = 1, failed: int = 0) -> None:
            assert load_run(folder).status == "running"  # nothing stays of the error once the run goes on

    assert run(folder, progress=Look()).status == "done"
    done = load_run(folder)
    assert (done.status, done.failed) == ("done", None)
    with pytest.raises(BadModel):  # results that stand are not taken away by an error of a later run
        run(folder, model=replace(TEST_MODEL, create=broken), fresh=True)
    assert load_run(folder).manifest == done.manifest


def test_lost_settings_of_a_model_are_asked_for_again(folder: Path) -> None:
    model = run(folder).manifest.models["test-noise"]
    assert model.reported == {"size": 32}
    with sqlite3.connect(folder.parent / "cache" / DATABASE) as database:
        database.execute("delete from settings")
    again = run(folder)
    assert again.made.images == 0
    # its speed stood there, too, and is measured only when images are drawn
    assert again.manifest.models["test-noise"] == model.model_copy(update={"speed": None})


def test_a_damaged_observation_is_judged_again(folder: Path) -> None:
    first = run(folder)
    cache = folder.parent / "cache"
    with sqlite3.connect(cache / DATABASE) as database:
        key, value = database.execute("select key, value from observations").fetchone()
        flipped = bytes([value[0] ^ 1]) + value[1:]
        database.execute("update observations set value = ? where key = ?", (flipped, key))
    again = run(folder)
    assert (again.made.images, again.results) == (0, first.results)
    with Store(cache) as store:
        assert store.get(key.hex()) == value[:-4]


class Remove(Silent):
    """Takes the run's folder away at the n-th item."""

    def __init__(self, folder: Path, after: int) -> None:
        self.folder, self.left = folder, after

    def advance(self, count: int = 1, failed: int = 0) -> None:
        self.left -= 1
        if self.left == 0:
            shutil.rmtree(self.folder)


@pytest.mark.parametrize("after", [1, 6, 10, 14])  # of 4 images, 4 observations, 4 measurements, 4 rows of a table
def test_a_folder_taken_away_while_it_is_written_is_said_and_not_half_made_again(after: int, folder: Path) -> None:
    with pytest.raises(BadFolder, match="images and answers are kept in the cache"):
        run(folder, progress=Remove(folder, after))
    assert not folder.exists()
    assert run(folder).results[0].n_ok == 4


@pytest.mark.long
@pytest.mark.parametrize("after", [8, 10, 13])  # the last observation, a measurement, a row of a table
def test_a_cache_taken_away_in_the_middle_gives_no_results_of_what_is_left(after: int, folder: Path) -> None:
    first = run(folder.with_name("undisturbed"))
    shutil.rmtree(folder.parent / "cache")
    with pytest.raises(BadFolder, match=r"an image \(of test-noise, prompt .* was removed or changed"):
        run(folder, progress=Remove(folder.parent / "cache", after))
    assert load_run(folder).status == "failed"
    assert run(folder).results == first.results


@pytest.mark.parametrize("after", [1, 10, 14])
def test_a_file_where_the_folder_was_is_said(after: int, folder: Path) -> None:
    class Replace(Remove):
        def advance(self, count: int = 1, failed: int = 0) -> None:
            super().advance(count)
            if self.left == 0:
                folder.write_text("in the way")

    with pytest.raises(BadFolder, match="Not a directory; images and answers are kept in the cache"):
        run(folder, progress=Replace(folder, after))
    with pytest.raises(BadFolder, match="cannot be written"):
        run(folder)
    assert folder.read_text() == "in the way"


class Choosy:
    """Draws all prompts but the last, for which it always raises."""

    def generate(self, requests: Any) -> Any:
        for request in requests:
            if request.prompt.id == "2":
                raise RuntimeError("not this one")
            yield request, Generated(np.full((8, 8, 3), 1 + request.seed, np.uint8))


@pytest.mark.parametrize("fresh_folder", [False, True])
def test_the_same_command_given_again_ends_as_it_did_though_all_that_is_left_fails(
    fresh_folder: bool, folder: Path
) -> None:
    prompts = [Prompt(str(i), f"prompt {i}") for i in range(3)]

    def evaluated(out: Path) -> Run:
        return evaluate(
            METRIC,
            GeneratorInfo(name="choosy", summary="Choosy.", create=lambda setup: Choosy()),
            prompts="three",
            seeds=PATIENCE + 5,
            out=out,
            max_failed=0.5,
            resolver=StaticResolver(
                TEST_JUDGE, PromptSourceInfo(name="three", summary="Three.", prompts=lambda setup: prompts)
            ),
        )

    first = evaluated(folder)
    again = evaluated(folder.with_name("other") if fresh_folder else folder)
    assert first.results[0].n_failed == PATIENCE + 5
    assert again.results == first.results


def test_reading_a_run_leaves_nothing_in_its_folder(folder: Path) -> None:
    run(folder)
    (folder / LOCK).unlink()
    before = sorted(folder.iterdir())
    assert [each.status for each in list_runs(folder) if isinstance(each, ListedRun)] == ["done"]
    assert sorted(folder.iterdir()) == before


def test_a_long_label_is_cut_at_a_word_and_stays_one_models_own():
    label = "attend-excite:models/sd pipeline=StableDiffusionAttendAndExcitePipeline model=main"
    another = label.replace("main", "other")
    unbroken = "w" * 70
    places = name_model_folders([label, another, unbroken, "short: one"])
    assert list(places.values()) == [
        "attend-excite-models-sd-pipeline",
        "attend-excite-models-sd-pipeline-2",
        "w" * 60,
        "short-one",
    ]
