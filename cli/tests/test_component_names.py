"""What users write in place of a component's exact name: a label before it, another case, a folder, `~`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EVAL = ("eval", "--metric", "brightness", "--prompts", "four", "--seeds", "2")


def test_a_model_may_have_a_label(toy, t2i):
    data = json.loads(t2i(*EVAL, "--model", "good=grey", "--model", "the 2nd_one-b.1 = toy/grey", "--json").stdout)
    assert [(r["as"], r["model"]) for r in data["results"]] == [
        ("good", "grey"),
        ("the 2nd_one-b.1", "toy/grey"),
    ]
    assert [(c["a"], c["b"]) for c in data["comparisons"]] == [("good", "the 2nd_one-b.1")]
    Path("labels.yaml").write_text("models: [good=grey, {model: grey, label: bad}]\n")
    plan = json.loads(t2i(*EVAL, "--recipe", "labels.yaml", "--json").stdout)
    assert [r["as"] for r in plan["results"]] == ["good", "bad"]
    misspelt = t2i(*EVAL, "--model", "good=gray")
    assert (misspelt.exit_code, misspelt.stderr) == (3, "error: unknown generator 'gray': did you mean 'grey'?\n")


def test_names_are_found_in_any_case_and_recorded_as_they_are(toy, t2i):
    words = ("--metric", "Brightness", "--model", "GREY", "--prompts", "Four", "--judge", "reward=METER")
    options = ("-o", "Grey.level=200", "-o", "METRIC:brightness.over=0.1")
    done = t2i("eval", *words, *options, "--seeds", "2", "--out", "run", "--json")
    assert done.exit_code == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["metric"], result["model"], result["as"]) == ("brightness", "grey", "grey")
    assert (result["judge"]["name"], result["settings"]) == ("meter", {"level": "200"})
    request = json.loads(Path("run/run.json").read_text())["request"]
    assert (request["metrics"], request["prompts"]) == (["brightness"], ["four"])
    assert request["options"] == {"grey": {"level": "200"}, "metric:brightness": {"over": "0.1"}}
    Path("cases.yaml").write_text(
        "metrics: BRIGHTNESS\nmodels: Toy/Grey\nprompts: FOUR\njudges: Meter\noptions: {GREY: {level: 10}}\n"
    )
    (result,) = json.loads(t2i("eval", "--recipe", "cases.yaml", "--seeds", "2", "--json").stdout)["results"]
    assert (result["model"], result["settings"]) == ("Toy/grey", {"level": 10})
    assert t2i("info", "GREY").stdout == t2i("info", "grey").stdout


@pytest.mark.long
@pytest.mark.parametrize("name", ["images", "sub/images", "a=1", "./b=2"])
def test_a_folder_in_place_of_a_model_is_said_to_be_one(toy, t2i, name):
    folder = Path(name)
    folder.mkdir(parents=True)
    Path("folder.yaml").write_text(f"models: {json.dumps(name)}\n")
    for words in (("--model", name), ("--recipe", "folder.yaml")):
        refused = t2i(*EVAL, *words)
        assert refused.exit_code == 3
        assert refused.stderr == f"error: unknown generator {name!r}: it is a folder; write folder:{name}\n"
    (folder / "model_index.json").touch()
    assert t2i(*EVAL, "--model", name).stderr.endswith(f"it is a folder; write diffusers:{name}\n")
    Path("grey").mkdir()
    assert t2i(*EVAL, "--model", "grey", "--dry-run").exit_code == 0


def test_the_home_folder_is_found_in_every_path(toy, report, t2i, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    (home / "list.txt").write_text("a dog\na cat\n")
    (home / "own.yaml").write_text("metrics: brightness\nmodels: grey\nprompts: ~/list.txt\nout: ~/of-recipe\n")
    assert t2i("eval", "--recipe", "~/own.yaml", "--seeds", "2").exit_code == 0
    assert (
        t2i("eval", "--recipe=~/own.yaml", "--prompts", "~/list.txt", "--out=~/run", "--seeds", "2").exit_code == 0
    )
    assert (home / "of-recipe" / "run.json").is_file()
    assert t2i("report", "~/run", "--out=~/page.html").exit_code == 0
    assert (home / "page.html").is_file()
    assert "grey" in t2i("runs", "show", "~/run").stdout
    assert [path.name for path in tmp_path.iterdir() if "~" in path.name] == []
