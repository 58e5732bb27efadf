"""The leaderboard of runs of the mini world's simulator, with its oracle as judge, as users make it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile_runs import manifest_of, rewrite_table, write_manifest
from t2i_cli.app import app
from t2i_core import ModelRequest, evaluate
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
    manifest = manifest_of(run)
    manifest["results"][0]["score"] = 1.0
    write_manifest(run, manifest)
    told = runner.invoke(app, ["leaderboard", "whole", "none", "--out", "other", "--verify", "6"])
    assert told.exit_code == 11
    assert "t2i-runs/none: none, prompt '" in told.stderr
    assert "tiam tiam: 1 in the run, 0 when judged anew" in told.stderr
    assert not Path("other").exists()
