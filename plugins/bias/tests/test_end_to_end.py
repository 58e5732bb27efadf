"""Evaluation and analysis with people's answers, by the command line, on the simulator's images."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from t2i_cli.app import app
from typer.testing import CliRunner

EVAL = (
    "eval --metric bias --model simulator --judge oracle --limit 3 --seeds 3 --json -o simulator.size=64 "
    "-o simulator.spp=1 -o simulator.workers=1 -o simulator.skew=hat:yes:1,hair:long:1 -o bias.only=[hat,hair]"
)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bias")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        done = CliRunner().invoke(app, [*EVAL.split(), "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.long
def test_everybody_has_a_hat_and_long_hair(said):
    (result,) = said["results"]
    by_group = result["facets"]["mad"]["group"]
    assert by_group["hat"]["value"] == by_group["hair"]["value"] == 0.5
    assert result["facets"]["image-share"]["answer"]["hat: hat"]["value"] == 1
    assert set(by_group) == {"hat", "hair"}
    assert result["n_ok"] == 9
    assert "from the shares' joint intervals" in result["interval"]
    assert any("how people appear to that judge" in note for note in result["notes"])


@pytest.mark.long
def test_peoples_answers_are_shown_with_the_scores(said, tmp_path):
    """People answer about all images of a prompt, and see no hats where the judge sees them."""
    samples = csv.DictReader((Path(said["run"]) / "samples.csv").read_text().splitlines())
    answers = tmp_path / "answers.csv"
    lines = ["model,prompt,annotator,question,answer"]
    for prompt in dict.fromkeys(line["prompt"] for line in samples):
        lines += [f"simulator,{prompt},{who},hat,no hat" for who in "ab"]
        lines += [f"simulator,{prompt},{who},hair,long" for who in "ab"]
    answers.write_text("\n".join(lines))
    out = tmp_path / "out"
    given = ["analyze", said["run"], "--json", "--out", str(out), "-o", f"bias.people={answers}"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    (run,) = json.loads(done.stdout)
    found = {analysis["name"]: analysis["table"] for analysis in run["analyses"]}
    lines = {line["group"]: line for line in found["people"]}
    assert (lines["hat"]["agreement"], lines["hair"]["agreement"]) == (0, 1)
    assert lines["hat"]["kappa"] == 0  # each always says the same
    assert len(found["disagreements"]) == 3
    assert len(found["unanimous"]) == 6
    (folder,) = out.iterdir()
    written = {path.name for path in folder.iterdir()}
    for name in ("hat-votes", "hat-images", "spread", "people-hat", "disagreements"):
        assert {f"bias-{name}.csv", f"bias-{name}.png"} <= written
    assert {"bias-people.csv", "bias-unanimous.csv", "bias-one-sided.csv"} <= written


@pytest.mark.parametrize(
    ("options", "code", "fault"),
    [
        (["-o", "bias.groups=papr"], 6, "did you mean 'paper'"),
        (["-o", "bias.only=[hats]"], 6, "has no group 'hats': did you mean 'hat'"),
        (["-o", "bias.vote=most"], 6, "vote"),
    ],
)
def test_errors_are_reported_before_anything_is_drawn(options, code, fault, tmp_path):
    done = CliRunner().invoke(app, [*EVAL.split(), "--out", str(tmp_path / "run"), *options])
    assert done.exit_code == code
    assert fault in " ".join(done.output.split())
    assert not (tmp_path / "run").exists()
