"""Where votes are kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from t2i_core.api.errors import BadFolder
from t2i_core.io.answer_database import read_database
from t2i_core.io.rater_rules import RaterRecord, Rules
from t2i_people.page.records import VoteTask
from t2i_people.page.store import VotingStore


def task(place: int, part: str = "vote", expected: dict[str, str] | None = None) -> VoteTask:
    return VoteTask(f"t{place}", place, part, "p", "a", "b", (0,), ("x",), ("y",), expected)


@pytest.fixture
def store(tmp_path: Path) -> VotingStore:
    store = VotingStore(tmp_path / "votes.sqlite")
    with store.changing():  # under the ids that the tasks name
        rows = (("x", "a", "p", 7, "0" * 64), ("y", "b", "p", 7, "1" * 64))
        store._db.executemany("insert into pictures values (?, ?, ?, ?, ?)", rows)
    return store


def test_stored_votes_are_there_when_the_file_is_opened_again(store):
    ann = store.add_annotator("Ann")
    assert store.add_annotator("Ann") == ann
    with store.changing():
        store.add_task(ann.id, task(1))
        store.add_vote("t1", {"preference": "left"})
    other = VotingStore(store.path, must_exist=True)
    (answer,), _ = read_database(store.path)
    assert (answer.rater, answer.question, answer.answer, answer.task) == ("Ann", "preference", "left", "t1")
    assert answer.seconds is not None
    assert answer.seconds >= 0
    assert list(other.tasks()) == [(ann.id, task(1))]
    assert other.annotator(ann.token) == ann
    assert other.annotator("") is None


def test_a_task_has_one_answer_at_a_time(store):
    ann = store.add_annotator("Ann")
    with store.changing():
        store.add_task(ann.id, task(1))
        store.add_vote("t1", {"preference": "left"})
    with pytest.raises(sqlite3.IntegrityError), store.changing():
        store.add_vote("t1", {"preference": "right"})
    store.undo("t1")
    assert store.open_task(ann.id) == task(1)
    with store.changing():
        store.add_vote("t1", {"preference": "right"})
    assert [vote.answer for vote in read_database(store.path)[0]] == ["right"]
    # what was taken back is kept too
    assert store._one("select count(*) from votes") == (2,)


def test_failed_writes_leave_nothing(store):
    ann = store.add_annotator("Ann")
    with store.changing():
        store.add_task(ann.id, task(2))
    with pytest.raises(sqlite3.IntegrityError), store.changing():
        [store.add_task(ann.id, task(place)) for place in (1, 2)]
    assert [kept.place for _, kept in store.tasks()] == [2]


def test_commits_are_on_the_disk_before_they_return(store):
    assert store._one("pragma journal_mode") == ("wal",)
    assert store._one("pragma synchronous") == (2,)  # full


def test_nobody_else_reads_the_secrets_of_links(store):
    assert store.path.stat().st_mode & 0o077 == 0


def test_the_record_counts_expected_and_fast_answers(store):
    ann = store.add_annotator("Ann")
    with store.changing():
        for place, said in enumerate(("left", "left", "right"), 1):
            store.add_task(ann.id, task(place, "control", {"preference": "left"}))
            store.add_vote(f"t{place}", {"preference": said})
    for fastest, fast in ((60, 3), (0, 0)):
        assert store.record(ann.id, Rules(fastest=fastest)) == RaterRecord(3, fast, 3, right=2, wrong=1, longest=1)


def test_pictures_keep_their_ids_and_places(store):
    first = store.put_pictures([("m", "p", 0, "aa"), ("m", "p", 1, "bb")])
    assert len(set(first)) == 2
    assert store.put_pictures([("m", "p", 1, "bb"), ("m", "p", 2, "cc")])[0] == first[1]
    with pytest.raises(BadFolder, match="another image of 'm', prompt 'p', seed 0"):
        store.put_pictures([("m", "p", 0, "dd")])


def test_prompts_keep_their_texts(store):
    store.put_prompts([("p", "a dog", "")])
    with pytest.raises(BadFolder, match="another prompt 'p'"):
        store.put_prompts([("p", "a cat", "")])


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("create table votes (id)")


@pytest.mark.parametrize(
    ("write", "fault"),
    [
        (foreign, "is not a database of answers"),
        (lambda path: path.write_text("prompt,left,right\n"), "is not a database of answers"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_files_of_others_are_refused_and_left_alone(tmp_path, write, fault):
    path = tmp_path / "other"
    write(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(BadFolder, match=fault):
        VotingStore(path)
    assert before is None or path.read_bytes() == before


def test_reading_creates_no_file(tmp_path):
    with pytest.raises(BadFolder, match="no such file"):
        VotingStore(tmp_path / "votes.sqlite", must_exist=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_version_is_refused(store):
    store._db.execute("pragma user_version=99")
    store.close()
    with pytest.raises(BadFolder, match="newer version"):
        VotingStore(store.path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(BadFolder, match="does not exist"):
        VotingStore(tmp_path / "gone" / "votes.sqlite")


def test_a_beginning_that_was_killed_is_begun_again(tmp_path):
    (tmp_path / ".votes.sqlite.part").write_bytes(b"SQLite format 3\0 half written")
    assert VotingStore(tmp_path / "votes.sqlite").count() == 0
