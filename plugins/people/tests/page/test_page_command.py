"""What is wrong with a command is said in one line, before anything is served."""

from __future__ import annotations

import http.client
import runpy
import signal
import socket
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from t2i_core.api.errors import BadFolder, BadOption, T2IError, UnknownName
from t2i_core.io.rater_rules import Rules
from t2i_people.command import app
from t2i_people.page.forms import compare_models
from t2i_people.page.pictures import read_material
from t2i_people.page.study_setup import StudyRequest, open_voting_study
from t2i_web_support.server import is_loopback, listen, make_address
from typer.testing import CliRunner

pytestmark = pytest.mark.long  # each test starts the server

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "voters.py"


def fault_of(*arguments: object) -> T2IError:
    """What `t2i people serve` says before it serves anything."""
    said = CliRunner().invoke(app, ["serve", *map(str, arguments), "--port", "0"])
    assert isinstance(said.exception, T2IError), said.output
    assert "\n" not in str(said.exception)
    return said.exception


@pytest.fixture
def votes(tmp_path):
    return ("--votes", tmp_path / "votes.sqlite")


def test_a_run_of_one_model(make_run, votes):
    fault = fault_of(make_run(models=("apple",)), *votes)
    assert isinstance(fault, BadFolder)
    assert "only one model (apple)" in str(fault)


def test_runs_without_common_prompts(make_run, votes):
    one = make_run("one", models=("apple",), prompts={"a": "an owl"})
    two = make_run("two", models=("pear",), prompts={"b": "a cat"}, hue=0.5)
    assert "have images of one prompt" in str(fault_of(one, two, *votes))


def test_prompts_of_one_name_with_different_texts(make_run, votes):
    one = make_run("one", models=("apple",), prompts={"a": "an owl"})
    two = make_run("two", models=("pear",), prompts={"a": "a cat"}, hue=0.5)
    assert "prompt 'a' has a different text" in str(fault_of(one, two, *votes))


def test_images_that_are_damaged_or_gone(make_run, votes):
    run = make_run()
    image = next((run / "images").rglob("*.png"))
    data = image.read_bytes()
    image.unlink()  # a link to the kept one, which stays as it is
    assert str(image) in str(fault_of(run, *votes))
    image.write_bytes(data[:-20])
    fault = fault_of(run, *votes)
    assert str(image) in str(fault)


def test_a_folder_without_a_run(tmp_path, votes):
    assert "holds no run" in str(fault_of(tmp_path, *votes))


def test_a_model_that_is_not_there(shared_run, votes):
    fault = fault_of(shared_run, *votes, "--model", "appel")
    assert isinstance(fault, UnknownName)
    assert "did you mean 'apple'" in str(fault)


def test_a_file_of_something_else(shared_run, tmp_path):
    path = tmp_path / "songs.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table songs (id)")
    fault = fault_of(shared_run, "--votes", path)
    assert (fault.exit_code, "is not a database of answers" in str(fault)) == (11, True)
    assert [one for one in tmp_path.iterdir() if "songs" in one.name] == [path]


def test_a_port_that_is_taken(shared_run, votes):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = CliRunner().invoke(app, ["serve", str(shared_run), *map(str, votes), "--port", str(port)])
    assert isinstance(said.exception, BadOption)
    assert f"--port {port}: Address already in use; name another port" in str(said.exception)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--host", "no.such.host.invalid"), "has no such address"),
        (("--known", "gone.csv"), "only used with --training"),
        (("--known", "gone.csv", "--training", "2"), "gone.csv: no such file"),
        (("--people", "gone.yaml"), "gone.yaml: no such file"),
        (("--people", "paper", "--training", "2"), "add --known FILE"),
        (("--url", "https://a.example/page"), "must be http"),
        (("--annotator", " "), "must have 1 to"),
        (("--controls", "1"), "2 or more"),
        (("--grid", "3"), "3 seeds in common"),
    ],
)
def test_options_that_cannot_be(shared_run, votes, arguments, fault):
    assert fault in str(fault_of(shared_run, *votes, *arguments))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[", "not YAML"),
        ("[a]", "must contain groups by name"),
        ("human: {categories: [a, b]}", "is not a valid name"),
        ("hat: {categories: [a]}", "needs 2 to 8 categories"),
        ("hat: {categories: [a, {name: a}]}", "is listed twice"),
        ("hat: {categories: [a, unknown]}", "is reserved for undecided answers"),
        ("hat: {categories: [a, Other]}", "'other' is reserved for undecided answers"),
        ("hat: {categories: [a, A]}", "is listed twice"),
        ("'hat: worn': {categories: [a, b]}", "is not a valid name"),
        ("hat: {categories: {a: 1, b: 2}}", "needs 2 to 8 categories, each with a name"),
        ("hat: {categories: 2}", "needs 2 to 8 categories, each with a name"),
        ("hat: {categories: [2026-13-45, b]}", "not YAML"),
    ],
)
def test_groups_that_cannot_be(shared_run, votes, tmp_path, text, fault):
    path = tmp_path / "groups.yaml"
    path.write_text(text)
    assert fault in str(fault_of(shared_run, *votes, "--people", path))


def test_votes_on_another_question_are_not_mixed(open_study, shared_run):
    study, _ = open_study(question="Which is redder?")
    study.store.close()
    path = study.store.path.rename(study.store.path.with_name("other"))
    for arguments in (("--question", "Which is better?"), ("--people", "paper"), ("--grid", "2")):
        assert "name another file of votes" in str(fault_of(shared_run, "--votes", path, *arguments))


def test_two_servers_do_not_share_a_file(open_study, shared_run):
    study, _ = open_study()
    fault = fault_of(shared_run, "--votes", study.store.path, "--question", "Which?")
    assert "another server uses this file" in str(fault)


def test_a_model_of_another_run_joins_later(open_study, make_run, tmp_path):
    """Votes stay, and models that come later have the fewest."""
    first = make_run("first")
    study, _ = open_study(first)
    ann = study.store.add_annotator("Ann")
    for _ in range(4):
        study.answer(ann, study.current(ann)[1].id, {"preference": "left"})
    study.store.close()
    moved = study.store.path.rename(tmp_path / "moved")
    more = make_run("more", models=("plum",), hue=0.5)
    asked = StudyRequest(runs=[first, more], votes=moved, form=compare_models("Which?"), rules=Rules(fastest=0))
    with open_voting_study(asked, print) as study:
        assert study.store.count() == 4
        study.answer(ann, study.current(ann)[1].id, {"preference": "left"})  # was open already
        task = study.current(ann)[1]
        assert "plum" in (task.left, task.right)


def test_models_of_one_label_are_told_apart(open_study, make_run):
    one, two = make_run("one", models=("apple",)), make_run("two", models=("apple",), hue=0.5)
    assert read_material([one, two]).models == ["apple (one)", "apple (two)"]
    again = make_run("again", models=("apple",), seeds=(1, 2))
    material = read_material([one, again])
    assert material.models == ["apple"]
    assert sorted({p.seed for p in material.pictures}) == [0, 1, 2]


def test_where_the_page_is_reached():
    for host, shown, alone in (
        ("127.0.0.1", "127.0.0.1", True),
        ("localhost", "localhost", True),
        ("0.0.0.0", socket.gethostname(), False),
    ):
        with listen(host, 0) as at:
            assert make_address(host, at) == f"http://{shown}:{at.getsockname()[1]}"
            assert is_loopback(at) == alone


# the server itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("voters", "seconds"), [(12, 3), pytest.param(100, 30, marks=pytest.mark.slow)])
def test_nobody_loses_a_vote_when_the_server_is_killed(voters, seconds, make_run, tmp_path):
    run = make_run(models=("apple", "pear", "plum"), prompts={f"p{i}": f"prompt {i}" for i in range(50)}, size=16)
    storm = runpy.run_path(str(BENCHMARK))["storm"]
    found = storm(run, tmp_path / "votes.sqlite", voters=voters, seconds=seconds, least=20)
    assert found["faults"] == 0
    assert found["votes"] >= 40
    assert found["sent again"] > 0


def test_a_server_is_done_when_it_is_told_to_end(shared_run, tmp_path):
    """Nothing is interrupted by what ends it: its exit code is 0. (The storm above ends as by Ctrl-C.)"""
    server = runpy.run_path(str(BENCHMARK))["ServerProcess"](shared_run, tmp_path / "votes.sqlite")
    assert server.end(signal.SIGTERM) == 0


def test_paths_as_they_are_sent_reach_no_file(served):
    """Clients in tests tidy paths up; here they go out as they are."""
    _, url = served()
    for path in (
        "/../../../etc/passwd",
        "/page.css/../../app.py",
        "//etc/passwd",
        "/image/..%2f..%2fvotes.sqlite",
    ):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        connection.putrequest("GET", path)
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read()
        assert (answer.status, b"There is nothing here." in text) == (404, True), path
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["server"] is None
