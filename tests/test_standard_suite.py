"""The suites that ship, on the mini world: all metrics of one command, on shared images."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_core import Request, load_run
from t2i_registry import Registry
from t2i_registry.discovery import SUITES
from t2i_registry.suite import load_suite
from typer.testing import CliRunner

NAMES = [each.name for each in Registry().list_extensions(SUITES)]
SETS = ("fid", "cmmd")
"""Metrics of standard that need reference images."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def t2i(*words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--device", "cpu"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_both_suites_ship() -> None:
    assert {"quick", "standard"} <= set(NAMES)


def test_python_gets_what_fits_the_models() -> None:
    """A function's images are photographs."""
    mini, drawn = (
        Request(**Registry().apply_suite("standard", {"models": model, "metrics": "tiam"}))
        for model in ("mini", lambda text, seed: None)
    )
    assert mini.metrics == drawn.metrics == (*load_suite("standard", (), Registry()).values["metrics"], "tiam")
    assert (mini.judges, mini.default_prompts) == ((), ("geneval",))
    assert {"reward=hpsv21", "reward=pickscore"} < set(drawn.judges)
    assert drawn.default_prompts == ("geneval", "reward=geneval")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_suite_plans_photographs_and_the_mini_world(name: str) -> None:
    """It tells images and answers before anything is drawn, and keeps the judges of the models' domain."""
    metrics = load_suite(name, (), Registry()).values["metrics"]
    for model, prompts in (("sd15", "geneval"), ("mini", "geneval-mini")):
        plan = json.loads(t2i("eval", "--suite", name, "--model", model, "--dry-run", "--json"))
        planned = {job["metric"]: job for job in plan["jobs"]}
        left_out = [note.split(": ")[1] for note in plan["notes"] if note.startswith("left out: ")]
        assert {*planned, *left_out} == set(metrics)
        assert {planned[metric]["prompts"] for metric in ("geneval", "clipscore", "reward")} == {prompts}
        sizes: dict[str, list[int]] = {}
        for job in plan["jobs"]:
            sizes.setdefault(job["prompts"], []).append(job["n_prompts"] * len(job["seeds"]))
        assert plan["images"]["to_make"] <= sum(map(max, sizes.values()))  # one set for all metrics of a list
    assert {judge["name"] for judge in planned["reward"]["judges"]} == {"mini-clip"}


@pytest.mark.long
def test_standard_runs_whole_on_the_mini_world(tmp_path: Path) -> None:
    few = ("--limit", "4", "--seeds", "2")
    t2i("generate", "--model", "simulator", "--prompts", "geneval-mini", *few, "--out", "reference")
    words = ["eval", "--suite", "standard", "--model", "mini", *few, "--out", "run"]
    printed = t2i(*words, *(word for name in SETS for word in ("-o", f"{name}.reference=reference/images")))
    run = load_run("run")
    assert run.failed is None
    assert not run.manifest.left_out
    wanted = load_suite("standard", (), Registry()).values["metrics"]
    assert [result.metric for result in run.results] == list(wanted)
    for result in run.results:
        assert result.score is not None
        assert result.n_failed == result.n_missing == 0
        assert f"{result.metric} " in printed
    lists = {result.prompts: result.n_prompts * result.n_seeds for result in run.results}
    assert run.samples()["status"].eq("ok").sum() == sum(lists.values())
    assert "0 to make" in t2i(*words[:-2], "--dry-run")  # two metrics fewer, the same images
    t2i_report = CliRunner().invoke(app, ["report", "run", "--out", "report.html"])
    assert t2i_report.exit_code == 0, t2i_report.output
    text = Path("report.html").read_text(encoding="utf-8")
    assert all(metric in text for metric in wanted)


@pytest.mark.long
def test_faults_of_a_known_world_lower_what_they_concern(tmp_path: Path) -> None:
    words = [
        "eval",
        "--suite",
        "standard",
        "--model",
        "simulator",
        "--judge",
        "oracle",
        "--limit",
        "8",
        "--seeds",
        "1",
    ]
    scores = {}
    for name, drop in (("sound", "0"), ("forgetful", "1")):
        t2i(*words, "-o", "simulator.size=64", "-o", f"simulator.drop={drop}", "--out", name)
        scores[name] = {result.metric: result.score or 0 for result in load_run(name).results}
    assert scores["sound"]["geneval"] == 1  # the oracle sees each object that was drawn
    assert scores["forgetful"]["geneval"] < 1
    assert scores["sound"]["dsg"] == scores["sound"]["dpg-bench"] == scores["sound"]["vqascore"] == 1
    assert scores["forgetful"]["dsg"] < 1
    assert scores["forgetful"]["vqascore"] < 1
    assert scores["forgetful"]["reward"] < scores["sound"]["reward"]
    assert scores["forgetful"]["clipscore"] < scores["sound"]["clipscore"]


@pytest.mark.long
def test_a_metric_that_cannot_run_is_refused_or_left_out_by_name() -> None:
    words = ["eval", "--suite", "quick", "--model", "mini", "--judge", "reward=pickscore", "--offline"]
    words += ["--limit", "2", "--device", "cpu"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 12
    assert "1 of 3 metrics cannot run here: reward: pickscore: " in refused.stderr
    assert "t2i prefetch pickscore" in refused.stderr
    assert "--skip-unavailable reward" in refused.stderr
    assert not list(Path("t2i-runs").rglob("*.png"))
    done = CliRunner().invoke(app, [*words, "--skip-unavailable", "reward", "--out", "run"])
    assert done.exit_code == 0, done.output
    assert "left out: reward: pickscore: " in done.stdout
    assert list(load_run("run").manifest.left_out) == ["reward"]
    assert "left out" in CliRunner().invoke(app, ["runs", "show", "run"]).stdout
