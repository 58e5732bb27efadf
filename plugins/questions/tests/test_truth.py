"""Scores of the mini world's pictures with a fault everywhere, whose truth is known, judged by the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from t2i_core import ModelRequest, Run, evaluate

pytestmark = pytest.mark.long
SMALL = {"size": 64, "spp": 1}
METRICS = ("dsg", "dpg-bench", "soft-tifa", "vqascore", "t2i-compbench")
FAULTS = ({}, {"drop": 1.0}, {"extra": 1.0}, {"swap_colors": 1.0}, {"flip_relation": 1.0})


def run(metrics: Any, faults: Any, out: Path, **how: Any) -> Run:
    models = [ModelRequest("simulator", str(fault), {**SMALL, **fault}) for fault in faults]
    return evaluate(metrics, models, limit=4, seeds=1, judge="oracle", out=out, **how)


def read(found: Run, measure: str, fault: Any) -> dict[str, float]:
    """Return the value of a measure by what the prompt is about."""
    table = found.measurements()
    rows = table[(table["measure"] == measure) & (table["model"] == str(fault))]
    return dict(zip(rows["shows"].astype(str), rows["value"], strict=True))


def test_faults_move_each_score_by_the_known_amount(tmp_path: Path) -> None:
    found = run(METRICS, FAULTS, tmp_path / "run")
    right = dict.fromkeys(("objects", "count", "colour", "relation"), 1.0)
    lost, extra, swapped, flipped = FAULTS[1:]
    for measure in ("dsg", "dsg-without-dependency", "dpg-bench", "soft-tifa-gm", "vqascore", "t2i-compbench"):
        assert read(found, measure, FAULTS[0]) == right, measure
    # of four questions about a number the second is wrong: DSG loses the third, DPG-Bench the fourth, too
    third = pytest.approx(1 / 3)
    assert read(found, "dsg", lost) == {"objects": 0.5, "count": 0.5, "colour": 0.5, "relation": third}
    assert read(found, "dpg-bench", lost) == {"objects": 0.5, "count": 0.25, "colour": 0.5, "relation": third}
    assert read(found, "dsg-without-dependency", lost)["count"] == 0.75
    assert read(found, "soft-tifa-gm", lost) == read(found, "vqascore", lost) == dict.fromkeys(right, 0.0)
    assert read(found, "t2i-compbench", lost) == {"objects": 0.5, "count": 0.5, "colour": 0.0, "relation": 0.0}
    assert read(found, "dsg", extra) == right | {"count": 0.5}
    assert read(found, "dsg", swapped) == right | {"colour": 0.5}
    assert read(found, "t2i-compbench", swapped) == right | {"colour": 0.0}
    assert read(found, "dsg", flipped) == right | {"relation": pytest.approx(2 / 3)}
    assert read(found, "t2i-compbench", flipped) == right | {"relation": 0.5}


def test_reasons_name_the_questions(tmp_path: Path) -> None:
    table = run("dsg", FAULTS[1:2], tmp_path / "run").measurements()
    table = table[(table["measure"] == "dsg") & (table["shows"] == "colour")]
    (because,) = table["because"]
    wrong, also = because.split("; ")
    assert wrong.startswith("no to: Is there a")
    assert also.startswith("no to: Is the ")


def test_questions_with_choices(tmp_path: Path) -> None:
    found = run("tifa", FAULTS[:2], tmp_path / "run", prompts="tifa-mini")
    assert set(read(found, "tifa", FAULTS[0]).values()) == {1.0}
    assert read(found, "tifa", FAULTS[1]) == {"objects": 0.5, "count": 0.0, "colour": 0.5, "relation": 0.5}


@pytest.mark.parametrize("metric", ["dsg", "vqascore"])
def test_the_trained_judge_takes_the_oracles_place(metric: str, tmp_path: Path) -> None:
    models = [ModelRequest("simulator", str(drop), {"drop": drop, "spp": 4}) for drop in (0.0, 1.0)]
    found = evaluate(metric, models, limit=4, seeds=1, out=tmp_path / "run")
    right, lost = found.results
    assert [judge.name for judge in right.judges] == ["mini-vqa"]
    assert lost.score < right.score - 0.2
    assert right.n_failed == 0
