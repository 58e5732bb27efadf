"""Faults that once did harm, or would be easy to bring back, each with what must hold then."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from t2i_core import Run, load_run
from t2i_core.api.errors import BadFolder
from t2i_core.storage.store import DATABASE

from faults import damage
from faults.command import (
    IN_FLIGHT,
    INTERRUPTED,
    KILLED,
    UNUSABLE,
    Command,
    ForkServer,
    Outcome,
    Undisturbed,
    count_begun_again,
    count_kept_twice,
    read_log,
)
from faults.run_rows import hash_finished_files, read_rows
from faults.small_world import IMAGES

World = dict[str, Undisturbed]


def check_finished(outcome: Outcome, command: Command, undisturbed: Undisturbed) -> None:
    """Check that a run came to its end with the undisturbed results."""
    assert outcome.finished, outcome
    assert read_rows(command.run) == undisturbed.rows


def check_error(outcome: Outcome, path: Path) -> None:
    """Check that a command ended with one line that names a path."""
    assert outcome.code == UNUSABLE, outcome
    assert outcome.error.startswith("error: "), outcome
    assert outcome.error.count("\n") == 1, outcome
    assert str(path) in outcome.error


@pytest.fixture(scope="module")
def finished(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of finished runs of each kind, to be copied and damaged."""
    folder = tmp_path_factory.mktemp("finished")
    commands = [Command(str(folder / kind), kind) for kind in ("scores", "data")]
    assert all(server.run(command).finished for command in commands)
    return {command.kind: Path(command.folder) for command in commands}


@pytest.fixture
def copied(finished: dict[str, Path], tmp_path: Path) -> Callable[[str], Command]:
    """Copies a finished run, with links and times as they were."""

    def copy(kind: str = "scores") -> Command:
        target = Path(tempfile.mkdtemp(dir=tmp_path)) / "place"
        os.system(f"cp -a '{finished[kind]}' '{target}'")
        return Command(str(target), kind)

    return copy


def test_failed_and_excluded_samples_are_counted_and_listed(undisturbed: World) -> None:
    run = load_run(undisturbed["scores"].run)
    brightness, area = (result for result in run.results if result.model == "painter-120")
    assert (brightness.n_ok, brightness.n_failed, brightness.n_excluded) == (10, 5, 1)
    assert (area.n_ok, area.n_failed) == (11, 5)
    lost = run.failures()
    reasons = lost[(lost["metric"] == "brightness") & (lost["model"] == "painter-120")]["reason"].value_counts()
    assert dict(reasons) == {
        "there is nothing to paint": 4,
        "the brush was lost": 1,
        "this sample is excluded": 1,
    }


@pytest.mark.long
@pytest.mark.parametrize("stage", ["opening", "generating", "judging", "measuring", "checking", "writing"])
def test_kept_work_is_not_repeated_after_a_kill(
    stage: str, server: ForkServer, undisturbed: World, tmp_path: Path
) -> None:
    command, changes = Command(str(tmp_path)), undisturbed["scores"].changes[stage]
    assert server.run(replace(command, kill_at=changes[len(changes) // 2])).code == KILLED
    check_finished(server.run(command), command, undisturbed["scores"])
    assert count_kept_twice(command.log) == 0
    assert count_begun_again(command.log) <= IN_FLIGHT


def test_work_that_failed_is_tried_again_unless_the_failure_is_final(
    server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    command = copied()
    before = len(read_log(command.log))
    check_finished(server.run(command), command, undisturbed["scores"])
    assert [entry.of for entry in read_log(command.log)[before:] if entry.what == "began"] == ["image 120 1 3"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["scores", "data"])
def test_files_get_their_final_names_when_they_are_complete(
    kind: str, server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    final, whole = hash_finished_files(undisturbed[kind].run), replace(copied(kind), name="another")
    for place in range(2, 1000, 7):
        outcome = server.run(replace(whole, kill_at=place))
        assert hash_finished_files(whole.run).items() <= final.items()
        if outcome.finished:
            break
        assert outcome.code == KILLED
    assert place > 50
    check_finished(outcome, whole, undisturbed[kind])
    leftovers = {p.name for p in whole.run.rglob("*")} - {p.name for p in undisturbed[kind].run.rglob("*")}
    assert leftovers == set()


@pytest.mark.long
def test_parts_share_a_run_even_if_they_are_killed(server: ForkServer, undisturbed: World, tmp_path: Path) -> None:
    command = Command(str(tmp_path))
    parts = [replace(command, shard=f"{n}/3") for n in (1, 2, 3)]
    middle = undisturbed["scores"].changes["judging"].start // 3
    outcomes = server.run_together([replace(parts[0], kill_at=middle), *parts[1:]])
    assert [outcome.code for outcome in outcomes] == [KILLED, 0, 0]
    assert server.run(parts[0]).finished
    kept = {entry.of for entry in read_log(command.log) if entry.what == "kept"}
    check_finished(server.run(command), command, undisturbed["scores"])
    assert {entry.of for entry in read_log(command.log) if entry.what == "kept"} == kept
    assert count_kept_twice(command.log) == 0


@pytest.mark.long
@pytest.mark.parametrize("shard", [None, "1/1"])
def test_a_run_or_a_part_of_it_is_held_by_one_process(
    shard: str | None, server: ForkServer, undisturbed: World, tmp_path: Path
) -> None:
    command = Command(str(tmp_path), shard=shard)
    slow = replace(command, pause=0.05)
    process = server.start(slow)
    deadline = time.monotonic() + 60
    while not any(entry.what == "began" for entry in read_log(command.log)):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    second = server.run(command)
    check_error(second, command.run)
    assert "another process works on this run" in second.error or "shard 1/1" in second.error
    assert server.wait(process, slow).finished
    whole = replace(command, shard=None)
    check_finished(server.run(whole), whole, undisturbed["scores"])
    assert count_kept_twice(command.log) == 0


def test_runs_share_a_cache(server: ForkServer, undisturbed: World, tmp_path: Path) -> None:
    commands = [
        *(Command(str(tmp_path), "scores", "a"), Command(str(tmp_path), "scores", "b")),
        Command(str(tmp_path), "data", "c"),
    ]
    for outcome, command in zip(server.run_together(commands), commands, strict=True):
        check_finished(outcome, command, undisturbed[command.kind])


@pytest.mark.long
@pytest.mark.parametrize("where", ["cache", "run"])
@pytest.mark.parametrize("kind", ["scores", "data"])
def test_damaged_images_are_made_again(
    kind: str, where: str, server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    rng = random.Random(1)
    for harm in damage.IMAGE_DAMAGE:
        command = copied(kind)
        for image in rng.sample(sorted((Path(command.folder) / where).glob("images/*/*.png")), 3):
            harm(image, rng)
        check_finished(server.run(command), command, undisturbed[kind])


@pytest.mark.long
def test_damaged_copies_of_images_are_made_again(
    server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    rng = random.Random(1)
    for harm in damage.IMAGE_DAMAGE:
        command = replace(copied(), without_links=True)
        shutil.rmtree(command.run)
        check_finished(server.run(command), command, undisturbed["scores"])
        harm(min(command.run.glob("images/*/*.png")), rng)
        check_finished(server.run(command), command, undisturbed["scores"])


@pytest.mark.parametrize("kind", ["scores", "data"])
def test_an_image_altered_without_a_trace_is_noticed_when_it_is_opened(
    kind: str, server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    for harm in (damage.alter_unnoticed, damage.repaint_unnoticed):
        command = copied(kind)
        for image in sorted(command.cache.glob("images/*/*.png"))[::4]:
            harm(image, random.Random(1))
        with sqlite3.connect(command.cache / DATABASE) as database:
            database.execute("delete from observations")
        check_finished(server.run(command), command, undisturbed[kind])


@pytest.mark.long
def test_a_run_takes_the_users_images_as_they_are(
    server: ForkServer, copied: Callable[..., Command], tmp_path: Path
) -> None:
    originals, pictures = tmp_path / "originals", tmp_path / "pictures"
    made = copied("data")
    shutil.copytree(made.run / "images" / "painter-120", originals)
    drawn = load_run(made.run).samples().query("status == 'ok'")
    table = drawn.assign(file=drawn["image"].map(lambda name: Path(name).name))[["file", "text", "seed"]]
    table.to_csv(originals / "prompts.csv", index=False)
    rng = random.Random(2)
    for number, harm in enumerate((*damage.IMAGE_DAMAGE, damage.alter_unnoticed, exchange)):
        shutil.rmtree(pictures, ignore_errors=True)
        shutil.copytree(originals, pictures)
        changed = Command(str(tmp_path / f"changed-{number}"), f"folder:{pictures}")
        assert server.run(changed).finished
        harm(sorted(pictures.glob("*.png"))[number], rng)
        alone = replace(changed, folder=str(tmp_path / f"alone-{number}"))
        outcomes = server.run(changed), server.run(alone)
        assert outcomes[0].code == outcomes[1].code
        assert read_rows(changed.run) == read_rows(alone.run)


def exchange(image: Path, rng: random.Random) -> None:
    """Exchange an image with another one."""
    other = rng.choice([p for p in sorted(image.parent.glob("*.png")) if p != image])
    content, others = image.read_bytes(), other.read_bytes()
    image.write_bytes(others)
    other.write_bytes(content)


def exchange_values(file: Path, rng: random.Random, table: str) -> str:
    """Give each row of a table the value of another row, with that row's CRC."""
    with sqlite3.connect(file) as database:
        rows = database.execute(f"select key, value from {table} order by key").fetchall()
        others = [value for _, value in (*rows[1:], rows[0])]
        pairs = zip(others, (key for key, _ in rows), strict=True)
        database.executemany(f"update {table} set value = ? where key = ?", pairs)
    return f"values of {table} exchanged"


@pytest.mark.long
def test_damaged_rows_of_the_database_count_as_not_there(
    server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    changes = [partial(exchange_values, table=table) for table in ("images", "truths", "observations")]
    for seed, change in enumerate([*changes, *[damage.change_rows] * 9]):
        command = copied()
        done = change(command.cache / DATABASE, random.Random(seed))
        outcome = server.run(command)
        assert outcome.finished, (done, outcome)
        assert read_rows(command.run) == undisturbed["scores"].rows, done


def test_a_destroyed_database_is_named_and_its_removal_suffices(
    server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    command = copied()
    (command.cache / DATABASE).write_bytes(b"no database" * 1000)
    check_error(server.run(command), command.cache / DATABASE)
    assert read_rows(command.run) == undisturbed["scores"].rows  # what was finished stays whole
    (command.cache / DATABASE).unlink()
    check_finished(server.run(command), command, undisturbed["scores"])


READERS: dict[str, Callable[[Run], Any]] = {
    "results": lambda run: [result.model_dump(mode="json") for result in run.results],
    "samples": lambda run: run.samples().drop(columns="image").to_csv(),
    "measurements": lambda run: run.measurements().to_csv(),
    "failures": lambda run: run.failures().to_csv(),
    "status": lambda run: run.status,
}


@pytest.mark.long
@pytest.mark.parametrize("name", ["run.json", "samples.csv", "measurements.csv", "failures.csv"])
def test_a_damaged_file_of_a_run_is_refused_when_read_and_written_anew(
    name: str, server: ForkServer, undisturbed: World, copied: Callable[..., Command]
) -> None:
    expected = {what: reader(load_run(undisturbed["scores"].run)) for what, reader in READERS.items()}
    rng = random.Random(1)
    for harm in damage.FILE_DAMAGE:
        if (name, harm) == ("run.json", damage.alter):  # nothing protects run.json against an edit
            continue
        command = copied()
        harm(command.run / name, rng)
        refused = 0
        for what, reader in READERS.items():
            try:
                found = reader(load_run(command.run))
            except BadFolder:
                refused += 1
            else:
                assert found == expected[what]
        assert refused, f"{harm.__name__} is not noticed"
        outcome = server.run(command)
        if not outcome.finished:
            check_error(outcome, command.run)
            shutil.rmtree(command.run)
            outcome = server.run(command)
        check_finished(outcome, command, undisturbed["scores"])


@pytest.mark.long
@pytest.mark.parametrize("kind", ["scores", "data"])
@pytest.mark.parametrize(
    "limit", [{"max_file_bytes": 1000}, {"max_file_bytes": 60_000}, {"max_database_pages": 8}], ids=str
)
def test_a_full_disk_stops_the_run_in_one_line_and_loses_nothing(
    limit: dict[str, Any], kind: str, server: ForkServer, undisturbed: World, tmp_path: Path
) -> None:
    command = Command(str(tmp_path), kind)
    check_error(server.run(replace(command, **limit)), tmp_path)
    kept = count_kept_images(command)
    check_finished(server.run(command), command, undisturbed[kind])
    made = [e.of for e in read_log(command.log) if e.what == "kept" and e.of.startswith("image")]
    if "max_file_bytes" in limit:  # whose process logs nothing
        assert len(made) == IMAGES[kind] - kept
    assert count_kept_twice(command.log) == 0


def count_kept_images(command: Command) -> int:
    """Return how many images are kept."""
    if not (command.cache / DATABASE).exists():
        return 0
    with sqlite3.connect(command.cache / DATABASE) as database:
        tables = {name for (name,) in database.execute("select name from sqlite_master")}
        return database.execute("select count(*) from images").fetchone()[0] if "images" in tables else 0


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that every user may enter and write."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.long
@pytest.mark.parametrize(
    ("what", "mode"),
    [
        ("cache", 0o555),
        ("cache", 0o000),
        ("cache/images", 0o555),
        ("run", 0o555),
        ("run", 0o000),
        ("run/run.json", 0),
    ],
)
def test_a_folder_that_cannot_be_written_is_named(
    what: str, mode: int, server: ForkServer, undisturbed: World, open_place: Path
) -> None:
    command = Command(str(open_place), unprivileged=True)
    assert server.run(replace(command, event="interrupt", step=10)).code == INTERRUPTED
    command.log.chmod(0o666)
    path, before = open_place / what, (open_place / what).stat().st_mode
    path.chmod(mode)
    outcome = server.run(command)
    path.chmod(before)
    check_error(outcome, open_place / what.split("/")[0])
    check_finished(server.run(command), command, undisturbed["scores"])


@pytest.mark.long
@pytest.mark.parametrize("event", ["make the cache read-only", "make the run folder read-only"])
def test_a_folder_that_turns_read_only_stops_the_run_in_one_line(
    event: str, server: ForkServer, undisturbed: World, open_place: Path
) -> None:
    command = Command(str(open_place), unprivileged=True)
    outcome = server.run(replace(command, event=event, step=10))
    check_error(outcome, command.cache if "cache" in event else command.run)
    for folder in (command.cache, command.cache / "images", command.run):
        folder.chmod(0o777)
    check_finished(server.run(command), command, undisturbed["scores"])
