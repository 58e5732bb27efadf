"""Variance components, predicted power and width, and the designs that follow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, stdtrit
from scipy.stats import levene
from t2i_core.statistics import mean_interval, paired_difference
from t2i_core.statistics.power import BoundedScore, find_half_width, find_power
from t2i_core.statistics.sample_size import Prices, find_cheapest, find_sample_sizes, find_sizes_of_width
from t2i_core.statistics.variance_components import Components, estimate_components, find_unequal_variances

DESIGNS = [
    (40, 4, 0.05, 0.0, 0.2, 0.1),
    (100, 4, 0.05, 0.002, 0.2, 0.1),
    (200, 2, 0.1, 0.0005, 0.1, 0.08),
    (20, 8, 0.02, 0.001, 0.1, 0.1),
    (60, 1, 0.1, 0.0, 0.1, 0.15),
    (50, 16, 0.03, 0.003, 0.2, 0.06),
    (300, 4, 0.02, 0.0005, 0.15, 0.05),
    (30, 3, 0.2, 0.002, 0.05, 0.25),
    (15, 2, 0.05, 0.0, 0.2, 0.3),
    (500, 2, 0.1, 0.0, 0.3, 0.06),
]
"""Prompts, seeds, the three components, and the true difference."""


def draw(
    rng: np.random.Generator, prompts: int, seeds: int, parts: tuple[float, float, float], mean: float
) -> dict[str, np.ndarray]:
    """Return the rows of a full rectangle."""
    sds = np.sqrt(parts)
    value = mean + rng.normal(0, sds[0], (prompts, 1)) + rng.normal(0, sds[1], (1, seeds))
    value = value + rng.normal(0, sds[2], (prompts, seeds))
    return {
        "value": value.ravel(),
        "prompt": np.repeat(np.arange(prompts), seeds),
        "seed": np.tile(np.arange(seeds), prompts),
    }


def draw_worlds(design: tuple[float, ...], worlds: int) -> np.ndarray:
    """Return the paired differences of many runs, shape (worlds, prompts, seeds)."""
    prompts, seeds, sds = int(design[0]), int(design[1]), np.sqrt(design[2:5])
    rng = np.random.default_rng(11)
    value = design[5] + rng.normal(0, sds[0], (worlds, prompts, 1)) + rng.normal(0, sds[1], (worlds, 1, seeds))
    return value + rng.normal(0, sds[2], (worlds, prompts, seeds))


def draw_answers(prompts: int, seeds: int, score: float, loss: float, worlds: int) -> np.ndarray:
    """Return the paired differences of two models whose images are right or wrong, shape (worlds, prompts, seeds).

    Prompts and seeds differ in how easy they are, for both models and for each; `loss` is that of the second model
    in logits.
    """
    rng = np.random.default_rng(11)
    ease = math.log(score / (1 - score)) + rng.normal(0, 1, (worlds, prompts, 1))
    ease = ease + rng.normal(0, 0.5, (worlds, 1, seeds))
    other = ease - loss + rng.normal(0, 0.5, (worlds, prompts, 1)) + rng.normal(0, 0.35, (worlds, 1, seeds))
    luck = rng.random((2, worlds, prompts, seeds))
    return (luck[0] < expit(ease)).astype(float) - (luck[1] < expit(other))


def run_tests(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each run's test finds a difference, and the half width of its interval, shape (worlds,) each.

    The formulas are those of `paired_difference`, for all runs at once.
    """
    worlds, prompts, seeds = value.shape
    images, mean = prompts * seeds, value.mean((1, 2))
    by_prompt = np.square(value.mean(2) - mean[:, None]).sum(1) / prompts / (prompts - 1)
    variance, df = by_prompt, np.full(worlds, prompts - 1.0)
    if seeds > 1:
        by_seed = np.square(value.mean(1) - mean[:, None]).sum(1) / seeds / (seeds - 1)
        by_image = np.square(value - mean[:, None, None]).sum((1, 2)) / images / (images - 1)
        variance = np.maximum(by_prompt + by_seed - by_image, np.maximum(by_prompt, by_seed))
        terms = (by_prompt, prompts - 1), (by_seed, seeds - 1), (by_image, images - 1)
        df = variance**2 / sum(term**2 / of for term, of in terms)
        df = np.maximum(df, min(prompts, seeds) - 1)
    half_width = stdtrit(df, 0.975) * np.sqrt(variance)
    return abs(mean) > half_width, half_width


@pytest.mark.parametrize("design", DESIGNS[:5], ids=str)
def test_simulated_tests_are_those_of_a_run(design: tuple[float, ...]) -> None:
    worlds = draw_worlds(design, 12)
    found, half_width = run_tests(worlds)
    places = np.indices(worlds.shape[1:]).reshape(2, -1)
    runs = [paired_difference(each.ravel(), np.zeros(each.size), *places) for each in worlds]
    assert [run.p < 0.05 for run in runs] == found.tolist()
    assert [(run.hi - run.lo) / 2 for run in runs] == pytest.approx(half_width)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_power_is_within_3_points_of_simulated_runs(design: tuple[float, ...]) -> None:
    components = Components(*design[2:5], int(design[0]), int(design[1]))
    check(components, design[5], draw_worlds(design, 4000))


@pytest.mark.parametrize(
    "design", [(20, 4, 0.9, 1.5), (50, 4, 0.6, 0.8), (100, 8, 0.9, 0.5), (200, 4, 0.9, 0.5)], ids=str
)
def test_power_for_right_and_wrong_images_is_that_of_simulated_runs(design: tuple[float, ...]) -> None:
    prompts, seeds = int(design[0]), int(design[1])
    worlds = draw_answers(prompts, seeds, *design[2:], worlds=4000)
    check(find_true_components(worlds), float(worlds.mean()), worlds)


def find_true_components(worlds: np.ndarray) -> Components:
    """Return the components that many runs have on average."""
    _, prompts, seeds = worlds.shape
    mean, by_prompt, by_seed = worlds.mean((1, 2), keepdims=True), worlds.mean(2), worlds.mean(1)
    rest = worlds - by_prompt[:, :, None] - by_seed[:, None, :] + mean
    cell = float(np.square(rest).mean()) * prompts * seeds / ((prompts - 1) * (seeds - 1))
    variances = by_prompt.var(axis=1, ddof=1).mean(), by_seed.var(axis=1, ddof=1).mean()
    return Components(variances[0] - cell / seeds, variances[1] - cell / prompts, cell, prompts, seeds)


def check(components: Components, margin: float, worlds: np.ndarray) -> None:
    found, half_width = run_tests(worlds)
    design = worlds.shape[1:]
    assert find_power(components, *design, margin) == pytest.approx(found.mean(), abs=0.03)
    assert find_half_width(components, *design) == pytest.approx(half_width.mean(), rel=0.03)


def test_components_are_those_of_the_world() -> None:
    rows = draw(np.random.default_rng(3), 400, 60, (0.04, 0.01, 0.09), 0.5)
    found = estimate_components(**rows)
    assert (found.prompt, found.seed, found.cell) == pytest.approx((0.04, 0.01, 0.09), rel=0.25)
    assert (found.prompts, found.seeds) == (400, 60)


def test_components_give_the_variance_of_the_pilots_own_interval() -> None:
    rows = draw(np.random.default_rng(5), 30, 6, (0.05, 0.02, 0.2), 0.0)
    estimate = mean_interval(**rows)
    assert estimate.se is not None
    variance, _ = estimate_components(**rows).variance(30, 6)
    assert variance == pytest.approx(estimate.se**2, rel=0.02)


def test_rows_of_one_image_are_averaged_and_prompts_without_a_seed_left_out() -> None:
    rows = draw(np.random.default_rng(3), 20, 4, (0.04, 0.01, 0.09), 0.5)
    whole = estimate_components(**rows)
    twice = {name: np.repeat(each, 2) for name, each in rows.items()}
    assert estimate_components(**twice) == whole
    lacking = {name: each[1:] for name, each in rows.items()}
    assert estimate_components(**lacking).prompts == 19


def test_a_pilot_with_one_seed_proposes_designs_with_one_seed() -> None:
    rows = draw(np.random.default_rng(3), 50, 1, (0.04, 0.0, 0.09), 0.5)
    sizes = find_sample_sizes(estimate_components(**rows), 0.1)
    assert [size.seeds for size in sizes] == [1]


def test_a_pilot_without_two_whole_prompts_is_refused() -> None:
    with pytest.raises(ValueError, match="need two prompts with all seeds, got 1"):
        estimate_components([1.0, 2.0, 3.0], [0, 0, 1], [0, 1, 0])


def test_seeds_that_prompts_do_not_share_have_no_variance() -> None:
    rows = draw(np.random.default_rng(3), 50, 4, (0.04, 0.0, 0.09), 0.5)
    found = estimate_components(rows["value"], rows["prompt"], np.arange(200), crossed=False)
    assert found.seed == 0
    assert found.nested
    variance, df = found.variance(50, 4)
    estimate = mean_interval(rows["value"], rows["prompt"], rows["seed"], crossed=False)
    assert (math.sqrt(variance), df) == pytest.approx((estimate.se, 49), rel=0.02)


@settings(deadline=None, max_examples=5)
@given(st.floats(0.001, 0.5), st.floats(0.01, 0.5), st.floats(0.03, 0.3))
def test_the_proposed_design_is_the_smallest_that_is_enough(prompt: float, cell: float, margin: float) -> None:
    components = Components(prompt, 0.0, cell, 50, 4)
    (size,) = find_sample_sizes(components, margin, seeds=(4,))
    assert find_power(components, size.prompts, 4, margin) >= 0.8
    assert size.prompts == 10 or find_power(components, size.prompts - 1, 4, margin) < 0.8
    assert size.low <= size.prompts
    assert size.high is None or size.prompts <= size.high


def test_the_cheapest_design_depends_on_the_prices() -> None:
    components = Components(0.05, 0.0, 0.2, 50, 4)
    cheap_images = find_sample_sizes(components, 0.1, prices=Prices(prompt=50, image=0.01))
    cheap_prompts = find_sample_sizes(components, 0.1, prices=Prices(prompt=0, image=1))
    first, second = find_cheapest(cheap_images), find_cheapest(cheap_prompts)
    assert first is not None
    assert second is not None
    assert first.prompts < second.prompts
    assert first.cost == min(size.cost for size in cheap_images)


def test_a_margin_below_the_variation_of_seeds_is_out_of_reach_of_few_seeds() -> None:
    components = Components(0.01, 0.01, 0.01, 50, 8)
    sizes = find_sample_sizes(components, 0.05)
    assert 2 not in [size.seeds for size in sizes]
    assert find_cheapest(()) is None


@pytest.mark.parametrize("score", [0.6, 0.9, 0.98])
def test_widths_of_proportions_are_those_of_simulated_runs(score: float) -> None:
    rng = np.random.default_rng(2)

    def draw_run(prompts: int, seeds: int) -> dict[str, np.ndarray]:
        logit = np.log(score / (1 - score)) + rng.normal(0, 0.5, (prompts, 1)) + rng.normal(0, 0.2, (1, seeds))
        value = rng.random((prompts, seeds)) < 1 / (1 + np.exp(-logit))
        places = np.repeat(np.arange(prompts), seeds), np.tile(np.arange(seeds), prompts)
        return {"value": value.ravel().astype(float), "prompt": places[0], "seed": places[1]}

    pilot = draw_run(600, 8)
    share = BoundedScore(float(pilot["value"].mean()), binary=True)
    predicted = find_half_width(estimate_components(**pilot), 60, 8, share)
    runs = [mean_interval(**draw_run(60, 8), low=0, high=1) for _ in range(60)]
    assert predicted == pytest.approx(np.mean([(run.hi - run.lo) / 2 for run in runs]), rel=0.15)


def test_values_within_a_range_have_the_interval_of_the_logit_scale() -> None:
    rows = draw(np.random.default_rng(3), 50, 6, (0.004, 0.001, 0.01), 0.9)
    rows["value"] = np.clip(rows["value"], 0, 1)
    run = mean_interval(**rows, low=0, high=1)
    predicted = find_half_width(estimate_components(**rows), 50, 6, BoundedScore(run.value))
    assert predicted == pytest.approx((run.hi - run.lo) / 2, rel=0.1)


def test_a_pilot_whose_values_are_all_equal_is_refused() -> None:
    with pytest.raises(ValueError, match="all values of the pilot are equal"):
        estimate_components([1.0] * 40, np.repeat(np.arange(10), 4), np.tile(np.arange(4), 10))


def test_designs_for_a_width() -> None:
    components = Components(0.05, 0.0, 0.2, 50, 4)
    (size,) = find_sizes_of_width(components, 0.05, seeds=(4,))
    assert find_half_width(components, size.prompts, 4) <= 0.05 < find_half_width(components, size.prompts - 1, 4)


def test_unequal_variances_are_those_of_scipys_test() -> None:
    rng = np.random.default_rng(6)
    groups = [rng.normal(size=12), rng.normal(size=20), rng.normal(0, 3, 15)]
    assert find_unequal_variances(groups) == pytest.approx(levene(*groups, center="median").pvalue)
    assert find_unequal_variances(groups[:1]) == 1
    assert find_unequal_variances([np.zeros(5), np.zeros(5)]) == 1
