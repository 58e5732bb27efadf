"""`t2i eval --until` on the simulator, whose faults are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_core.results.run import load_finished_run
from typer.testing import CliRunner

RECIPE = """\
metrics: tiam
models:
  - {model: simulator, label: good, settings: {size: 64, spp: 1, workers: 1}}
  - {model: simulator, label: faulty, settings: {size: 64, spp: 1, workers: 1, drop: 0.8, salt: 1}}
prompts: tiam-5-2
judges: oracle
seeds: 4
until: verdict
margin: 0.2
"""


@pytest.mark.long
def test_known_faults_are_found_before_all_images_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE, encoding="utf-8")
    command = ["eval", "--recipe", str(recipe), "--out", "run"]
    plan = CliRunner().invoke(app, [*command, "--dry-run"])
    assert "stops at verdict (margin 0.2): at most 160 images" in " ".join(plan.stdout.split())
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "decided after look" in done.stdout
    run = load_finished_run(tmp_path / "run")
    stopping, (comparison,) = run.manifest.stopping, run.comparisons
    assert stopping is not None
    assert stopping.looks[-1].images < 160
    assert comparison.stopped is not None
    assert comparison.stopped.decision == "higher"
    lo, hi = comparison.ci
    assert lo is not None
    assert hi is not None
    assert lo <= 0.8 <= hi  # of two objects the second is dropped at this rate
    again = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(again.stdout)["comparisons"] == [comparison.model_dump()]
    refused = CliRunner().invoke(app, [*command, "--margin", "0.1"])
    assert refused.exit_code == 11
