"""Do the intervals hold the truth? 300 tournaments, as the benchmark draws them; README has all numbers."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

COVERAGE = runpy.run_path(str(Path(__file__).parent.parent / "benchmarks" / "coverage.py"), run_name="coverage")
LOW, HIGH = 0.92, 0.98


@pytest.mark.long
def test_intervals_cover_the_truth_of_prompts_that_differ():
    """Both orders of each two models on 40 prompts, battles of a prompt far from independent."""
    ratings, position, _ = COVERAGE["coverage"](COVERAGE["BattleWorld"](40, 1.0), COVERAGE["resampled"], 300, 200)
    assert LOW <= ratings <= HIGH
    assert LOW <= position <= HIGH


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "world", "how"), COVERAGE["LINES"])
def test_every_kind_of_interval_covers_the_truth(name, world, how):
    """As in a run, in a tally, by the sandwich, and by people with different tastes."""
    ratings, _, _ = COVERAGE["coverage"](world, how)
    assert LOW <= ratings <= HIGH, name


def test_without_prompt_and_taste_effects_the_strengths_are_the_truth():
    truth = COVERAGE["BattleWorld"](40, 0.0).truth()
    expected = COVERAGE["MEAN"] + COVERAGE["POINTS"] * COVERAGE["STRENGTHS"]
    assert list(truth.values())[:-1] == pytest.approx(expected, abs=1e-2)
    assert truth["position"] == pytest.approx(COVERAGE["POINTS"] * COVERAGE["FIRST"], abs=1e-2)
