"""Boundaries of group-sequential tests, and the estimates at the stop."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.statistics.sequential import (
    estimate_at_stop,
    exceed_between,
    exceedance,
    find_boundaries,
    find_constant,
    find_next_boundary,
    find_normal_score,
    spend,
    stop_probabilities,
)

GOLDEN = json.loads((Path(__file__).parent / "golden" / "sequential.json").read_text(encoding="utf-8"))

steps = st.lists(st.floats(0.02, 1), min_size=1, max_size=5).map(lambda parts: list(np.cumsum(parts) / sum(parts)))
"""Information of looks up to the planned end."""


@pytest.mark.parametrize("case", [c for c in GOLDEN if "looks" in c["input"]], ids=lambda c: c["id"])
def test_constants_of_equally_spaced_tests(case: Any) -> None:
    looks, alpha, expected = case["input"]["looks"], case["input"]["alpha"], case["expected"]
    assert find_constant(looks, alpha, "pocock") == pytest.approx(expected["pocock"], abs=case["tolerance"])
    assert find_constant(looks, alpha, "obf") == pytest.approx(expected["obrien_fleming"], abs=case["tolerance"])


@pytest.mark.parametrize("case", [c for c in GOLDEN if "spending" in c["input"]], ids=lambda c: c["id"])
def test_boundaries_that_spend_the_error(case: Any) -> None:
    given, expected = case["input"], case["expected"]
    found = find_boundaries(given["information"], given["alpha"], given["spending"])
    assert found == pytest.approx(expected["boundaries"], abs=case["tolerance"])
    stops = stop_probabilities(given["information"], found, given["drift"])
    assert stops == pytest.approx(expected["stop_at"], abs=case["tolerance"])


@settings(deadline=None, max_examples=8)
@given(steps, st.sampled_from(("obf", "square", "pocock")), st.sampled_from((0.01, 0.05, 0.2)))
def test_the_error_of_all_looks_is_alpha(information: list[float], spending: Any, alpha: float) -> None:
    boundaries = find_boundaries(information, alpha, spending)
    stops = np.cumsum(stop_probabilities(information, boundaries))
    assert stops[-1] == pytest.approx(alpha, abs=1e-6)
    for spent, fraction in zip(stops, information, strict=True):
        assert spent <= spend(fraction, alpha, spending) + 1e-6


def test_a_boundary_spends_by_the_progress_that_is_given() -> None:
    """By the square of .2, .2^2 = .04 of the error, .002, and the normal quantile of .001 is 3.0902."""
    assert find_next_boundary([0.2], [], 0.05, "square") == pytest.approx(3.0902, abs=1e-4)
    assert find_next_boundary([0.5], [], 0.05, "square", progress=0.2) == pytest.approx(3.0902, abs=1e-4)
    boundaries = [find_next_boundary([0.5], [], 0.05, "square", progress=0.2)]
    boundaries.append(find_next_boundary([0.5, 1.0], boundaries, 0.05, "square", progress=1.0))
    assert sum(stop_probabilities([0.5, 1.0], boundaries)) == pytest.approx(0.05, abs=1e-6)


def test_one_look_is_the_fixed_test() -> None:
    assert find_boundaries([1.0]) == pytest.approx([1.959964], abs=1e-5)
    found = estimate_at_stop([1.0], [1.96], 2.5)
    assert (found.median, found.lo, found.hi) == pytest.approx((2.5, 2.5 - 1.959964, 2.5 + 1.959964), abs=1e-5)
    assert found.p == pytest.approx(0.012419, abs=1e-5)


@settings(deadline=None, max_examples=5)
@given(steps, st.floats(0.1, 4), st.floats(0, 3))
def test_exchanging_two_models_mirrors_the_estimate(
    information: list[float], statistic: float, drift: float
) -> None:
    boundaries = find_boundaries(information)
    above = exceedance(information, boundaries, statistic, drift)
    assert exceedance(information, boundaries, -statistic, -drift) == pytest.approx(1 - above, abs=1e-6)


def test_information_that_does_not_increase_is_refused() -> None:
    for information in ([], [0.5, 0.4], [0.5, 0.5], [0.5, 1.2], [0.0, 1.0]):
        with pytest.raises(ValueError, match="information must increase"):
            find_boundaries(information)


@pytest.mark.long
@pytest.mark.parametrize("drift", [0.0, 3.0])
def test_intervals_at_the_stop_hold_and_the_estimate_is_median_unbiased(drift: float) -> None:
    information = [0.2, 0.4, 0.6, 0.8, 1.0]
    boundaries = find_boundaries(information)
    rng = np.random.default_rng(7)
    held, above, worlds = 0, 0, 200
    for _ in range(worlds):
        score = np.cumsum(rng.normal(0.2 * drift, math.sqrt(0.2), 5))
        statistics = score / np.sqrt(information)
        crossed = np.flatnonzero(np.abs(statistics) >= boundaries)
        at = int(crossed[0]) if len(crossed) else 4
        found = estimate_at_stop(information[: at + 1], boundaries[: at + 1], float(statistics[at]))
        held += found.lo <= drift <= found.hi
        above += found.median > drift
    assert held / worlds == pytest.approx(0.95, abs=0.02 + 2 * math.sqrt(0.95 * 0.05 / worlds))
    assert above / worlds == pytest.approx(0.5, abs=3 * math.sqrt(0.25 / worlds))


@settings(deadline=None, max_examples=20)
@given(steps, st.floats(-4, 4), st.floats(-3, 3))
def test_a_drift_is_a_shift_of_the_boundaries(information: list[float], statistic: float, drift: float) -> None:
    boundaries = find_boundaries(information)
    roots = np.sqrt(information)
    ends = [(-end - drift * root, end - drift * root) for end, root in zip(boundaries, roots, strict=True)]
    found = exceed_between(information, ends[:-1], statistic - drift * roots[-1], statistic >= 0)
    assert found == pytest.approx(exceedance(information, boundaries, statistic, drift), abs=1e-7)


@pytest.mark.parametrize(("t", "df"), [(2.0, 3.0), (-12.0, 3.0), (0.0, 7.0), (40.0, 200.0)])
def test_normal_scores_have_the_p_of_t(t: float, df: float) -> None:
    score = find_normal_score(t, df)
    assert scipy.special.ndtr(-abs(score)) == pytest.approx(scipy.special.stdtr(df, -abs(t)), rel=1e-6)
    assert math.copysign(1, score) == math.copysign(1, t)
