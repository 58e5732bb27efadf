"""GenEval on the mini world: a folder of its own layout, and its prompts about the mini world."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_core import evaluate
from t2i_core.api import Setup
from t2i_core.results.stored_samples import list_samples
from t2i_geneval.mini_world import CLASSES, COLOURS, MINI
from t2i_geneval.options import PromptOptions
from t2i_geneval.sources import read_mini
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import LABELS
from typer.testing import CliRunner

PROMPTS = 12


def test_the_prompts_are_about_the_mini_worlds_classes_and_colours() -> None:
    assert tuple(CLASSES.values()) == LABELS
    assert set(COLOURS) == set(PAINTS)


@pytest.mark.long
def test_a_folder_as_geneval_writes_it_is_scored_by_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    faults = {"simulator": {"drop": 0.5, "wrong_color": 0.5, "flip_relation": 0.5, "spp": 4}}
    drawn = evaluate(
        "geneval", "simulator", limit=PROMPTS, seeds=2, judge="mini-detector", options=faults, out=Path("drawn")
    )
    records = {
        prompt.id: record
        for prompt, record in zip(read_mini(Setup(None, PromptOptions())), MINI.build(), strict=True)
    }
    for sample in list_samples(drawn):
        folder = tmp_path / "outputs" / sample.prompt.id
        (folder / "samples").mkdir(parents=True, exist_ok=True)
        (folder / "metadata.jsonl").write_text(json.dumps(records[sample.prompt.id]))
        assert sample.image is not None
        shutil.copy(sample.image.path, folder / "samples" / f"{sample.seed:05d}.png")
    command = ["eval", "--metric", "geneval", "--model", "folder:outputs", "--judge", "mini-detector", "--json"]
    said = CliRunner().invoke(app, command, catch_exceptions=False)
    assert said.exit_code == 0, said.output
    (found,) = json.loads(said.stdout)["results"]
    (result,) = drawn.results
    assert found["n_ok"] == result.n_ok == 2 * PROMPTS
    assert {name: score["value"] for name, score in found["scores"].items()} == {
        name: pytest.approx(score.value) for name, score in result.scores.items()
    }
    assert 0 < found["score"] < 1
