"""Files of votes that earlier versions of t2i wrote."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from t2i_core.api.errors import BadFolder
from t2i_core.io.answer_database import APPLICATION, read_database
from t2i_people.page.pictures import read_material

SCHEMA = """
create table study (key text primary key, value text not null) without rowid;
create table prompts (id text primary key, text text not null, subset text not null) without rowid;
create table pictures (
    id text primary key, model text not null, prompt text not null, seed integer not null, digest text not null,
    unique (model, prompt, seed)
) without rowid;
create table annotators (
    id integer primary key, name text not null unique, token text not null unique, began real not null
);
create table tasks (
    id text primary key, annotator integer not null references annotators, place integer not null,
    part text not null check (part in ('training', 'control', 'vote')), prompt text not null,
    left_model text not null, right_model text not null, seeds text not null,
    left_pictures text not null, right_pictures text not null, expected text, why text not null,
    shown real not null, unique (annotator, place)
);
create table votes (
    id integer primary key, task text not null references tasks, answers text not null, time real not null,
    seconds real not null, undone real
);
create unique index one_vote on votes (task) where undone is null;
create index votes_of_task on votes (task);
"""
"""The tables of version 1."""

RULES = {"tasks": None, "training": 0, "controls": 0, "pass_mark": 0.8, "fastest": 0.0, "seed": 0}


def write_version_1(path: Path, run: Path, study: dict, tasks: list[tuple]) -> None:
    """Write a file as version 1 did: Ann has answered these tasks (id, sides, part, prompt, answers, expected)."""
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    database.execute(f"pragma application_id={APPLICATION}")
    database.execute("pragma user_version=1")
    database.execute("pragma journal_mode=wal")
    values = {"secret": "s" * 40, "invitation": "i" * 20, "rules": RULES, **study}
    database.executemany("insert into study values (?, ?)", [(key, json.dumps(v)) for key, v in values.items()])
    for picture in read_material([run]).pictures:
        id = f"{picture.model}-{picture.prompt}-{picture.seed}"
        row = (id, picture.model, picture.prompt, picture.seed, picture.image.digest)
        database.execute("insert into pictures values (?, ?, ?, ?, ?)", row)
    database.execute("insert into annotators values (1, 'Ann', 'token-of-ann', 1.0)")
    for place, (models, part, prompt, answers, expected) in enumerate(tasks, 1):
        left, right = (*models, "")[:2]
        sides = [json.dumps([f"{model}-{prompt}-0"] if model else []) for model in (left, right)]
        row = (f"t{place}", 1, place, part, prompt, left, right, "[0]", *sides, expected, "", 5.0)
        database.execute(f"insert into tasks values ({', '.join('?' * len(row))})", row)
        database.execute("insert into votes values (?, ?, ?, 9.0, 4.0, null)", (place, f"t{place}", answers))
    database.commit()
    database.close()


PAIR = {"question": "Which?", "groups": {}, "grid": 1}
PAIRS = [
    (("apple", "pear"), "vote", "p1", '{"verdict": "left"}', None),
    (("pear", "apple"), "control", "p2", '{"verdict": "right"}', '{"verdict": "right"}'),
]


def test_votes_of_version_1_go_on(open_study, shared_run, tmp_path, voter):
    path = tmp_path / "old.sqlite"
    write_version_1(path, shared_run, PAIR, PAIRS)
    assert [a.answer for a in read_database(path)[0]] == ["left", "right"]
    study, app = open_study(votes=path)
    ann = study.store.annotator("token-of-ann")
    assert study.store.record(ann.id, study.rules).right == 1
    page = voter(app, "Bob")
    page.client.get("/as/token-of-ann")
    page.look()
    assert page.saved == "2 votes saved"
    page.vote("both-bad")
    assert page.saved == "3 votes saved"
    found = read_database(path)[0]
    assert [(a.question, a.answer, a.text) for a in found] == [
        ("preference", "left", "Which?"),
        ("preference", "right", "Which?"),
        ("preference", "both-bad", "Which?"),
    ]


def test_answers_about_people_of_version_1_go_on(open_study, shared_run, tmp_path):
    path = tmp_path / "old.sqlite"
    groups = {"gender": ("male", "female")}
    study = {"question": "", "groups": {"gender": ["male", "female"]}, "grid": 1}
    write_version_1(
        path, shared_run, study, [(("apple",), "vote", "p1", '{"gender": "unknown", "human": "yes"}', None)]
    )
    opened, _ = open_study(votes=path, groups=groups)
    ann = opened.store.annotator("token-of-ann")
    opened.answer(ann, opened.current(ann)[1].id, {"human": "yes", "gender": "male"})
    found = [(a.question, a.answer) for a in read_database(path)[0]]
    assert sorted(found) == [("gender", "cannot-tell"), ("gender", "male"), ("human", "yes"), ("human", "yes")]


def test_version_1_with_another_question_is_refused(open_study, shared_run, tmp_path):
    path = tmp_path / "old.sqlite"
    write_version_1(path, shared_run, PAIR, PAIRS)
    with pytest.raises(BadFolder, match=r"'Which\?'.*not.*'Which is redder\?'"):
        open_study(votes=path, question="Which is redder?")
