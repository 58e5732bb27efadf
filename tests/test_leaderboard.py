"""The leaderboard of runs of the mini world's simulator, with its oracle as judge, as users make it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile_runs import forge_scores, rewrite_table
from recorded.entries import ENTRIES
from recorded.recording import HERE, Answers
from recorded.replay import player, run_entry
from t2i_cli.app import app
from t2i_core import ModelRequest, evaluate
from t2i_leaderboard.entries import BoardEntry, list_entries, read_runs
from t2i_registry import Registry
from typer.testing import CliRunner

pytestmark = pytest.mark.long  # draws images


def test_runs_of_the_simulator_are_ranked_and_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    for label, drop in (("whole", 0.0), ("half", 0.5), ("none", 1.0)):
        model = ModelRequest("simulator", label, {"drop": drop})
        how = {"prompts": "tiam-5-2", "judge": "oracle", "seeds": 2, "limit": 3, "progress": False}
        evaluate("tiam", model, out=f"t2i-runs/{label}", **how)
    runner = CliRunner()
    done = runner.invoke(app, ["leaderboard", "whole", "half", "none", "--out", "board", "--verify", "4"])
    assert done.exit_code == 0, done.stderr
    (board,) = json.loads(Path("board/leaderboard.json").read_text(encoding="utf-8"))["boards"]
    assert [row["model"] for row in board["rows"]] == ["whole", "half", "none"]
    assert [(row["score"]) for row in board["rows"]][::2] == [1.0, 0.0]
    assert {row["verification"] for row in board["rows"]} == {"4 images judged anew: no difference"}

    run = Path("t2i-runs/none")
    rewrite_table(
        run,
        "measurements.csv",
        lambda rows: [rows[0], *([*row[:-1], "1.0"] if row[-2] == "tiam" else row for row in rows[1:])],
    )
    forge_scores(run, Registry())
    told = runner.invoke(app, ["leaderboard", "whole", "none", "--out", "other", "--verify", "6"])
    assert told.exit_code == 11
    assert "none: none, prompt '" in told.stderr
    assert "tiam tiam: 1 in the run, 0 when judged anew" in told.stderr
    assert not Path("other").exists()


@pytest.mark.parametrize(
    "name", ["tiam-colours", "elo-oracle", "fid", "captions", "isp", "several", "bias", "winoground"]
)
def test_honest_runs_of_every_kind_of_metric_are_on_boards(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(HERE)
    (entry,) = (each for each in ENTRIES if each.name == name)
    run_entry(entry, player(Answers.read()), tmp_path / "run")
    (run,), _ = read_runs([tmp_path / "run"])
    found = list(list_entries(run, Registry()))
    assert found
    assert all(isinstance(each, BoardEntry) for each in found), found
