from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from t2i_core.statistics import block_jackknife, cluster_weights, mean_interval, statistic_intervals


def grid(prompts: int, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    prompt, seed = np.indices((prompts, seeds))
    return prompt.ravel(), seed.ravel()


def crossed_values(rng_seed: int, prompts: int, seeds: int) -> np.ndarray:
    rng = np.random.default_rng(rng_seed)
    a, b = rng.normal(0, 1, (prompts, 1)), rng.normal(0, 0.7, (1, seeds))
    return (a + b + rng.normal(0, 0.5, (prompts, seeds))).ravel()


@pytest.mark.parametrize("interval", ["new", "prompts", "seeds"])
@pytest.mark.parametrize("crossed", [True, False])
def test_reweighting_a_mean_agrees_with_its_formula(interval, crossed) -> None:
    prompt, seed = grid(30, 12)
    value = crossed_values(1, 30, 12)
    exact = mean_interval(value, prompt, seed, interval=interval, crossed=crossed)
    found = statistic_intervals(
        lambda w: {"mean": float(w @ value / w.sum())},
        prompt,
        seed,
        interval=interval,
        crossed=crossed,
        rounds=4000,
    )["mean"]
    assert found.value == pytest.approx(exact.value)
    assert found.se == pytest.approx(exact.se, rel=0.06)  # three Monte-Carlo errors and a little curvature
    assert found.question == exact.question
    assert found.n_clusters == exact.n_clusters
    assert found.method == f"{exact.method}, reweighted 4000 times"


def test_reweighting_within_strata_agrees_with_its_formula() -> None:
    category = np.repeat([0, 1, 2, 3], [40, 6, 20, 2])
    value = 5.0 * category + np.random.default_rng(2).normal(size=68)
    exact = mean_interval(value, np.arange(68), None, strata=category)
    found = statistic_intervals(
        lambda w: {"mean": float(w @ value / w.sum())}, np.arange(68), None, strata=category, rounds=4000
    )["mean"]
    assert found.se == pytest.approx(exact.se, rel=0.05)


def test_missing_and_doubled_cells_agree_with_their_formula() -> None:
    rng = np.random.default_rng(3)
    prompt, seed = rng.integers(0, 25, 300), rng.integers(0, 15, 300)
    value = rng.normal(size=25)[prompt] + rng.normal(size=15)[seed] + rng.normal(size=300)
    exact = mean_interval(value, prompt, seed)
    found = statistic_intervals(lambda w: {"mean": float(w @ value / w.sum())}, prompt, seed, rounds=4000)["mean"]
    assert found.se == pytest.approx(exact.se, rel=0.08)


def test_a_ratio_agrees_with_the_delta_method() -> None:
    rng = np.random.default_rng(4)
    x = rng.gamma(20, 1, 200)
    y = 0.5 * x + rng.normal(size=200)
    found = statistic_intervals(lambda w: {"ratio": float(w @ y / (w @ x))}, np.arange(200), None, rounds=4000)[
        "ratio"
    ]
    delta = math.sqrt(((y - found.value * x) ** 2).sum() * 200 / 199) / x.sum()
    assert found.se == pytest.approx(delta, rel=0.05)


def test_ranges_keep_values_within() -> None:
    prompt, seed = grid(10, 10)
    value = (crossed_values(5, 10, 10) > -2.0).astype(float)
    found = statistic_intervals(
        lambda w: {"share": float(w @ value / w.sum()), "all": 1.0, "any": 3.0},
        prompt,
        seed,
        ranges={"share": (0, 1), "all": (0, 1)},
        rounds=100,
    )
    assert 0 < found["share"].lo < found["share"].value < found["share"].hi < 1
    assert found["share"].method.startswith("logit t")
    assert found["all"].lo == pytest.approx(0.025 ** (1 / 10))
    assert (found["any"].lo, found["any"].hi) == (3, 3)


def test_the_same_seed_gives_the_same_interval() -> None:
    prompt, seed = grid(10, 4)
    value = crossed_values(6, 10, 4)

    def statistic(weights: np.ndarray) -> dict[str, float]:
        return {"mean": float(weights @ value / weights.sum())}

    first = statistic_intervals(statistic, prompt, seed, rounds=50)
    assert statistic_intervals(statistic, prompt, seed, rounds=50) == first
    assert statistic_intervals(statistic, prompt, seed, rounds=50, rng_seed=1) != first


def test_rounds_without_a_value_are_said_and_many_leave_no_interval() -> None:
    value = np.random.default_rng(7).normal(size=40)

    def statistic(weights: np.ndarray) -> dict[str, float]:
        mean = float(weights @ value / weights.sum())
        uneven = not np.allclose(weights, 1)
        return {
            "often": mean if not (uneven and weights[0] < 0.05) else math.nan,
            "rarely": mean if not (uneven and weights[0] > 0.5) else math.nan,
            "never": math.nan,
        }

    found = statistic_intervals(statistic, np.arange(40), None, rounds=500)
    assert math.isfinite(found["often"].lo)
    assert "rounds gave no value" in found["often"].notes[-1]
    assert math.isnan(found["rarely"].lo)
    assert "rounds gave no value" in found["rarely"].notes[-1]
    assert math.isnan(found["never"].value)
    assert math.isnan(found["never"].lo)


def test_one_cluster_gives_no_interval() -> None:
    found = statistic_intervals(lambda w: {"n": float(w.sum())}, [0, 0], [0, 0], rounds=10)["n"]
    assert math.isnan(found.lo)


def test_bad_statistics_are_refused() -> None:
    names = iter("abcdefgh")
    with pytest.raises(ValueError, match="names changed"):
        statistic_intervals(lambda w: {next(names): 1.0}, np.arange(5), None, rounds=5)
    with pytest.raises(ValueError, match="ranges for"):
        statistic_intervals(lambda w: {"a": 1.0}, np.arange(5), None, rounds=5, ranges={"b": (0, 1)})
    with pytest.raises(ValueError, match="rounds"):
        statistic_intervals(lambda w: {"a": 1.0}, np.arange(5), None, rounds=1)
    with pytest.raises(ValueError, match="outside the declared range"):
        statistic_intervals(lambda w: {"a": 2.0}, np.arange(5), None, rounds=5, ranges={"a": (0, 1)})


@pytest.mark.long
@pytest.mark.parametrize("groups", [2, 3, 4, 25])
def test_cluster_weights_average_one_and_vary_as_a_mean_does(groups) -> None:
    cluster = np.repeat(np.arange(groups) * 10, 3)
    value = np.random.default_rng(8).normal(size=groups)
    draws = np.array(list(cluster_weights(cluster, 20_000)))
    assert (draws >= 0).all()
    assert draws.mean(axis=1) == pytest.approx(1)
    assert (draws[:, 0] == draws[:, 2]).all()
    means = draws[:, ::3] @ value / groups
    assert means.var() == pytest.approx(value.var(ddof=1) / groups, rel=0.05)
    with pytest.raises(ValueError, match="one cluster"):
        cluster_weights([1, 1], 5)


def test_memory_stays_flat_in_the_rounds() -> None:
    prompt, seed = grid(50, 40)
    value = np.random.default_rng(0).normal(size=2000)

    def peak(rounds: int) -> int:
        tracemalloc.start()
        statistic_intervals(lambda w: {"mean": float(w @ value)}, prompt, seed, rounds=rounds)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2)  # imports and caches
    assert peak(400) < peak(10) + 200_000  # 400 vectors of weights would take 6,400,000


def test_the_jackknife_of_a_mean_is_its_classical_error() -> None:
    value = np.random.default_rng(9).normal(size=20)
    left_out = (value.sum() - value) / 19
    found = block_jackknife(float(value.mean()), left_out)
    assert found.se == pytest.approx(value.std(ddof=1) / math.sqrt(20))
    exact = mean_interval(value, np.arange(20), None)
    assert (found.lo, found.hi, found.df) == pytest.approx((exact.lo, exact.hi, 19))
    assert found.method == "block jackknife (20 blocks)"
    assert found.notes == ()


def test_the_jackknife_has_no_interval_without_variation() -> None:
    found = block_jackknife(1.0, [1.0] * 20, low=0, high=1)
    assert (found.value, found.se, found.method) == (1, None, "none")
    assert math.isnan(found.lo)
    assert math.isnan(found.hi)
    assert found.notes[0].startswith("no variation")


def test_the_jackknife_keeps_its_range_and_refuses_nonsense() -> None:
    found = block_jackknife(0.1, [0.0, 0.1, 0.3], low=0)
    assert found.lo == 0
    assert "fewer than 10" in found.notes[0]
    for bad in ([1.0], [[1.0, 2.0]], [1.0, math.nan]):
        with pytest.raises(ValueError, match=r"blocks|finite"):
            block_jackknife(1.0, bad)
