"""What TIAM must say when the truth is known (docs/validation.md), on rendered scenes judged by the oracle.

One 95 % interval misses the truth one time in twenty though all is right: each line is drawn with 20 salts, and at
least 16 intervals must hold it (a right program fails this .3 % of the time).
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm
from t2i_core.evaluation import ModelRequest, evaluate
from t2i_core.statistics import statistic_intervals

SALTS = range(20)
ENOUGH = 16
QUICK = {"size": 64, "spp": 2}


def scores(tmp_path: Path, prompts: str, **faults: Any) -> list[dict[str, Any]]:
    """One result per salt, as `t2i eval` gives it, on ten prompts and four seeds."""
    models = [ModelRequest("simulator", f"salt {salt}", {**QUICK, **faults, "salt": salt}) for salt in SALTS]
    run = evaluate("tiam", models, prompts=prompts, seeds=4, limit=10, judge="oracle", out=tmp_path / "run")
    assert run.failed is None
    return run.results["results"]


def holding(results: list[dict[str, Any]], truth: float) -> int:
    """How many of the intervals hold the truth."""
    return sum(r["ci"][0] <= truth <= r["ci"][1] for r in results)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize(("objects", "drop"), [(2, 0.4), pytest.param(3, 0.2, marks=pytest.mark.slow)])
def test_dropped_objects_lower_the_score_by_their_rate(objects: int, drop: float, tmp_path: Path) -> None:
    # an ideal judge finds all that is drawn: only scenes that lost nothing count
    truth = (1 - drop) ** (objects - 1)
    assert holding(scores(tmp_path, f"tiam-5-{objects}", drop=drop), truth) >= ENOUGH


@pytest.mark.parametrize(
    ("prompts", "objects"), [pytest.param("tiam-color-1", 1, marks=pytest.mark.slow), ("tiam-color-2", 2)]
)
def test_wrong_colours_lower_the_score_by_their_rate(prompts: str, objects: int, tmp_path: Path) -> None:
    wrong = 0.3
    results = scores(tmp_path, prompts, wrong_color=wrong)
    assert holding(results, (1 - wrong) ** objects) >= ENOUGH
    if objects == 2:
        assert all(r["scores"]["objects"]["value"] == 1 for r in results)
        bound = np.mean([r["scores"]["binding_pooled"]["value"] for r in results])
        assert bound == pytest.approx(1 - wrong, abs=4 * np.sqrt(wrong * (1 - wrong) / (20 * 10 * 4 * 2)))


def test_effects_of_prompts_and_seeds_are_in_the_interval(tmp_path: Path) -> None:
    """Rates that differ by prompt and seed: the mean over both laws is the truth for new prompts and seeds."""
    drop, prompt_sd, seed_sd = 0.3, 1.0, 0.5
    spread = float(np.hypot(prompt_sd, seed_sd))
    dropped, _ = quad(lambda z: norm.pdf(z) * expit(logit(drop) + spread * z), -9, 9)
    results = scores(tmp_path, "tiam-5-2", drop=drop, prompt_sd=prompt_sd, seed_sd=seed_sd)
    assert holding(results, 1 - dropped) >= ENOUGH
    assert all("two-way" in r["interval"] or "prompts x seeds" in r["interval"] for r in results)


def test_a_drop_moves_nothing_else(tmp_path: Path) -> None:
    """The first object stands where it stood: the same pixels wherever nothing was dropped or hid it."""
    models = [ModelRequest("simulator", str(drop), {**QUICK, "drop": drop}) for drop in (0.0, 0.5)]
    run = evaluate("tiam", models, prompts="tiam-5-2", seeds=3, judge="oracle", out=tmp_path / "run")
    table = run.measurements()
    found = table[table["measure"] == "found"].pivot_table(
        index=["prompt", "seed", "position"], columns="model", values="value"
    )
    assert (found.xs("1", level="position") == 1).all(axis=None)
    samples = run.samples().set_index(["model", "prompt", "seed"])["digest"]
    kept = found.xs("2", level="position")["0.5"]
    assert 0 < kept.mean() < 1
    for (prompt, seed), both in kept.items():
        assert (samples["0.0", prompt, seed] == samples["0.5", prompt, seed]) == bool(both)


def test_a_paired_comparison_sees_what_was_put_in(tmp_path: Path) -> None:
    models = [ModelRequest("simulator", str(drop), {**QUICK, "drop": drop}) for drop in (0.0, 0.2)]
    run = evaluate("tiam", models, prompts="tiam-5-2", seeds=6, judge="oracle", out=tmp_path / "run")
    (comparison,) = run.results["comparisons"]
    assert comparison["ci"][0] <= 0.2 <= comparison["ci"][1]
    assert comparison["p"] < 0.01
    assert comparison["n"] == 120


def test_salts_are_all_different(tmp_path: Path) -> None:
    models = [ModelRequest("simulator", str(salt), {**QUICK, "salt": salt}) for salt in (0, 1)]
    run = evaluate("tiam", models, prompts="tiam-5-1", seeds=2, judge="oracle", out=tmp_path / "run")
    samples = run.samples()
    assert samples["digest"].nunique() == len(samples) == 2 * len(list(product(range(5), range(2))))


def test_a_trained_judge_sees_drops_through_its_own_errors(tmp_path: Path) -> None:
    """On identical scenes the score falls to 1 - d + d F / S of what it was, S and F the judge's own rates."""
    drop = 0.4
    models = [ModelRequest("simulator", str(d), {"drop": d}) for d in (0.0, drop, 1.0)]
    run = evaluate("tiam", models, prompts="tiam-5-2", seeds=5, judge="mini-segmenter", out=tmp_path / "run")
    table = run.measurements()
    wide = table[table["measure"] == "tiam"].pivot_table(index=["prompt", "seed"], columns="model", values="value")
    found_both, found_despite_drop = wide["0.0"].mean(), wide["1.0"].mean()
    expected = 1 - drop + drop * found_despite_drop / found_both
    ratio = statistic_intervals(
        lambda w: {"ratio": float((w * wide[str(drop)]).sum() / (w * wide["0.0"]).sum())},
        wide.index.get_level_values("prompt"),
        wide.index.get_level_values("seed"),
    )["ratio"]
    assert found_both > 0.9
    assert found_despite_drop < 0.1
    assert ratio.lo <= expected <= ratio.hi
