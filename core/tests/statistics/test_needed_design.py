"""The design that a comparison needs follows from the variances of its own interval, never from its difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.statistics import paired_difference, statistic_differences
from t2i_core.statistics.needed_design import find_needed_design, read_components
from t2i_core.statistics.power import find_power
from t2i_core.statistics.variance_components import estimate_components


def draw(prompts: int, seeds: int, difference: float = 0.0) -> dict[str, np.ndarray]:
    """Return values of two models on a full rectangle."""
    rng = np.random.default_rng(4)
    apart = difference + rng.normal(0, 0.3, (prompts, 1)) + rng.normal(0, 0.05, (1, seeds))
    apart = apart + rng.normal(0, 0.5, (prompts, seeds))
    prompt, seed = np.indices(apart.shape).reshape(2, -1)
    return {"value_a": apart.ravel(), "value_b": np.zeros(apart.size), "prompt": prompt, "seed": seed}


def test_the_terms_of_a_mean_give_the_components_of_the_analysis_of_variance() -> None:
    rows = draw(40, 6)
    expected = estimate_components(rows["value_a"], rows["prompt"], rows["seed"])
    found = read_components(paired_difference(**rows).terms)
    assert (found.prompts, found.seeds) == (40, 6)
    assert (found.prompt, found.seed, found.cell) == pytest.approx((expected.prompt, expected.seed, expected.cell))


def test_a_reweighted_mean_gives_nearly_the_same_components() -> None:
    rows = draw(60, 6)

    def means(weights: np.ndarray) -> dict[str, float]:
        return {name: float((weights * rows[name]).mean()) for name in ("value_a", "value_b")}

    found = statistic_differences(means, [("value_a", "value_b")], rows["prompt"], rows["seed"], rounds=4000)
    again = read_components(found["value_a", "value_b"].terms)
    exact = read_components(paired_difference(**rows).terms)
    assert (again.prompt, again.cell) == pytest.approx((exact.prompt, exact.cell), rel=0.3)


@settings(max_examples=10)
@given(st.floats(-2, 2))
def test_the_observed_difference_plays_no_part(difference: float) -> None:
    without, with_it = (paired_difference(**draw(30, 4, each)).terms for each in (0.0, difference))
    assert find_needed_design(with_it) == find_needed_design(without)


def test_the_design_is_large_enough_and_has_at_least_the_seeds_of_the_pilot() -> None:
    terms = paired_difference(**draw(30, 4)).terms
    found = find_needed_design(terms, 0.1)
    assert found is not None
    assert found.prompts is not None
    assert found.seeds is not None
    assert found.seeds >= 4
    components = read_components(terms)
    assert find_power(components, found.prompts, found.seeds, 0.1) >= 0.8
    assert find_power(components, found.prompts - 1, found.seeds, 0.1) < 0.8


def test_rows_without_seeds_keep_their_number_of_seeds() -> None:
    rows = draw(30, 4)
    terms = paired_difference(rows["value_a"], rows["value_b"], rows["prompt"], rows["seed"], crossed=False).terms
    found = find_needed_design(terms)
    assert found is not None
    assert found.seeds is None
    assert found.prompts is not None
    assert found.prompts > 30


def test_a_comparison_that_does_not_vary_tells_nothing() -> None:
    assert find_needed_design(paired_difference([1.0] * 20, [1.0] * 20, np.arange(20), None).terms or ()) is None
