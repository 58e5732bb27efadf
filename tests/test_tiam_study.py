"""TIAM's analyses of seeds against the truth that the simulator puts in, and against none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from t2i_core.api import Prompt, Setup
from t2i_core.api.study import Study
from t2i_miniworld.faults import Draw, FaultRates
from t2i_miniworld.streams import stream
from t2i_tiam.metric import Tiam
from t2i_tiam.options import TiamOptions
from t2i_tiam.sources import TEMPLATES
from t2i_tiam.study.mined_seeds import mine_seeds
from t2i_tiam.study.seeds import best_and_worst
from t2i_tiam.study.tables import Tables, read_tables
from typer.testing import CliRunner

PROMPTS = list(TEMPLATES["tiam-5-2"][1].prompts())


def drawn(prompts: list[Prompt], seeds: int, salt: int, **faults: float) -> pd.DataFrame:
    """What an ideal judge makes of the simulator's pictures: its own faults decide what is there."""

    def rows(model: FaultRates) -> Iterator[dict[str, object]]:
        for prompt in prompts:
            assert prompt.scene is not None
            for seed in range(seeds):
                draw = Draw(model, prompt.scene_digest, seed, salt)
                found = [slot == 0 or not draw.happens("drop", slot) for slot in range(len(prompt.scene.objects))]
                place = {"model": "simulator", "prompt": prompt.id, "seed": seed}
                yield {**place, "measure": "tiam", "value": float(all(found))}
                for slot, one in enumerate(prompt.scene.objects):
                    of = {"object": one.cls.name, "position": slot + 1}
                    yield {**place, **of, "measure": "found", "value": float(found[slot])}

    return pd.DataFrame(rows(FaultRates(**faults)))


def study(salt: int, seeds: int = 32, **faults: float) -> tuple[Study, Tables]:
    table = drawn(PROMPTS, seeds, salt, drop=0.3, **faults)
    made = Study(table, pd.DataFrame(columns=["model", "prompt", "seed", "status", "image"]), Path())
    return made, read_tables(made)


def test_seeds_that_the_simulator_made_matter_are_found() -> None:
    """In each of several worlds: the test, the ranks, and the gain, which is as large as the truth says."""
    errors = []
    for salt in range(6):
        made, tables = study(salt, seed_sd=1.0)
        ranked, effect = best_and_worst(tables)
        assert effect.table["p"].iloc[0] < 0.01
        truth = np.array([-stream("seed-effect", seed, salt).standard_normal() for seed in range(32)])
        found = ranked.table.sort_values("seed")["mean"].to_numpy(float)
        assert np.corrcoef(truth, found)[0, 1] > 0.8
        assert effect.table["reliability"].iloc[0] > 0.6
        (line,) = next(mine_seeds(tables, made, 4, 0.5)).table.to_dict("records")
        chances = 1 / (1 + np.exp(np.log(0.3 / 0.7) - truth))
        gain = chances[[int(seed) for seed in line["seeds"].split(", ")]].mean() - chances.mean()
        assert line["low"] > 0
        errors.append((line["difference"] - gain, line["low"] <= gain <= line["high"]))
    assert abs(np.mean([error for error, _ in errors])) < 0.05
    assert sum(held for _, held in errors) >= 4


@pytest.mark.long
def test_seeds_that_do_not_matter_are_not_found() -> None:
    """In 20 worlds: p is small no more often than it says, the gain is 0, and the seeds lie in their band."""
    p, held, inside = [], [], []
    for salt in range(20):
        made, tables = study(salt, seeds=16)
        ranked, effect = best_and_worst(tables)
        p.append(effect.table["p"].iloc[0])
        inside.append(ranked.table["mean"].between(ranked.table["null_low"], ranked.table["null_high"]).mean())
        (line,) = next(mine_seeds(tables, made, 2, 0.5)).table.to_dict("records")
        held.append(line["low"] <= 0 <= line["high"])
    assert sum(held) >= 16
    assert sum(value < 0.05 for value in p) <= 4
    assert np.mean(p) > 0.35
    assert np.mean(inside) > 0.9


def test_objects_dropped_by_the_simulator_are_those_missed_in_the_study() -> None:
    """TIAM of N objects, those after the first dropped with d: (1 - d)^(N - 1)."""
    prompts = [prompt for name in ("tiam-5-1", "tiam-5-2", "tiam-5-3") for prompt in TEMPLATES[name][1].prompts()]
    made = Study(drawn(prompts, 24, 0, drop=0.3), pd.DataFrame(columns=["model", "prompt", "seed"]), Path())
    found = {a.name: a.table for a in Tiam(Setup(None, TiamOptions(held_out=0.99))).analyses(made)}
    sizes = found["number of objects"]
    assert list(sizes["score"]) == pytest.approx([1, 0.7, 0.49], abs=0.05)
    assert (sizes["low"] <= [1, 0.7, 0.49]).all()
    assert (sizes["high"] >= [1, 0.7, 0.49]).all()
    positions = found["occurrence by position"].set_index(["kind", "position"])["found"]
    assert positions.loc["3 objects"].to_list() == pytest.approx([1, 0.7, 0.7], abs=0.03)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run from the command line."""
    from t2i_cli.app import app

    folder = tmp_path_factory.mktemp("tiam")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        options = ["simulator.size=64", "simulator.spp=1", "simulator.workers=1", "simulator.drop=0.5"]
        said = CliRunner().invoke(
            app,
            ["eval", "--metric", "tiam", "--metric", "object-cosine", "--model", "simulator", "--judge", "oracle"]
            + ["--prompts", "tiam-5-2", "--limit", "4", "--seeds", "2", "--out", str(folder / "run")]
            + [word for option in options for word in ("-o", option)],
        )
    assert said.exit_code == 0, said.output
    return folder / "run"


def analyze(*words: str) -> tuple[int, str, str]:
    from t2i_cli.app import app

    said = CliRunner().invoke(app, ["analyze", *words])
    return said.exit_code, said.stdout, said.stderr


@pytest.mark.long
def test_a_run_from_the_command_line_has_its_study(run: Path, tmp_path: Path) -> None:
    code, out, err = analyze(str(run), "--out", str(tmp_path), "--json")
    assert code == 0, err
    (said,) = json.loads(out)
    names = {a["name"] for a in said["analyses"]}
    assert {"occurrence by position", "best and worst seeds", "mine-seeds", "confidence", "pairs"} <= names
    cosines = {line.get("cosine") for a in said["analyses"] if a["name"] == "pairs" for line in a["table"]}
    assert all(-1 <= cosine <= 1 for cosine in cosines)
    sweep = next(a["table"] for a in said["analyses"] if a["name"] == "confidence")
    assert min(line["confidence"] for line in sweep) == 0.05  # what the oracle keeps begins at 0
    score = next(r["score"] for r in said["results"] if r["metric"] == "tiam")
    assert next(line["tiam"] for line in sweep if line["confidence"] == 0.25) == pytest.approx(score)
    files = {path.suffix for path in (tmp_path / "run").iterdir()}
    assert files == {".csv", ".png", ".svg"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("tiam.mined=2", "tiam: mined must be smaller than 2, the number of seeds of simulator (got 2)"),
        ("tiam.held_out=1", "held_out"),
        ("tiam.confidence=0.5", "confidence: the run was already measured"),
    ],
)
def test_bad_options_are_told_in_a_line(run: Path, option: str, message: str) -> None:
    code, _, err = analyze(str(run), "-o", option)
    assert code != 0
    assert message in err
