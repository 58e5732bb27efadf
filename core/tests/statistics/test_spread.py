from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from t2i_core.statistics import level_spread


def table(seed_sd: float, rng_seed: int, prompts: int = 100, seeds: int = 16) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(rng_seed)
    prompt, seed = np.indices((prompts, seeds))
    value = rng.normal(0, 2, (prompts, 1)) + seed_sd * rng.normal(size=(1, seeds)) + rng.normal(size=seed.shape)
    return value.ravel(), prompt.ravel(), seed.ravel()


def test_chance_alone_spreads_552_prompts_over_64_seeds_by_a_tenth() -> None:
    rng = np.random.default_rng(0)
    prompt, seed = np.indices((552, 64))
    chance = rng.beta(2, 2.9, (552, 1))  # a TIAM of .41 that depends on the prompt
    value = rng.random((552, 64)) < chance
    found = level_spread(value.ravel(), prompt.ravel(), seed.ravel(), rounds=100)
    assert found.null_mean == pytest.approx(0.09, abs=0.015)
    assert found.range < found.null_high * 1.3


@pytest.mark.long
def test_p_is_uniform_where_levels_do_not_matter() -> None:
    p = [level_spread(*table(0, i, prompts=12, seeds=5), rounds=99).p for i in range(200)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.05)
    assert np.mean(p) == pytest.approx(0.5, abs=0.07)


@pytest.mark.long
def test_means_of_equal_levels_lie_in_the_band_of_their_rank() -> None:
    found = [level_spread(*table(0, i, prompts=12, seeds=5), rounds=199).table for i in range(100)]
    every = pd.concat(found)
    inside = every["mean"].between(every["null_low"], every["null_high"])
    for rank, own in inside.groupby(every["rank"]):
        assert own.mean() == pytest.approx(0.95, abs=0.08), rank
    for one in found:
        ordered = one.sort_values("rank")
        assert (ordered["mean"].diff().dropna() <= 0).all()
        assert (ordered["null_high"].diff().dropna() <= 0).all()
    effect = level_spread(*table(1, 1), rounds=200).table.set_index("rank")
    assert effect.loc[1, "mean"] > effect.loc[1, "null_high"]
    assert effect.loc[16, "mean"] < effect.loc[16, "null_low"]


def test_a_real_effect_is_found_and_little_shrunk() -> None:
    found = level_spread(*table(1, 1), rounds=200)
    assert found.p == pytest.approx(1 / 201)
    assert found.reliability > 0.95
    assert found.range > 3 * found.null_high


def test_shrinkage_brings_the_means_nearer_to_the_truth() -> None:
    rng = np.random.default_rng(2)
    truth = 0.1 * rng.normal(size=64)
    prompt, seed = np.indices((100, 64))
    value = truth + rng.normal(size=(100, 64))
    found = level_spread(value.ravel(), prompt.ravel(), seed.ravel(), rounds=1)
    raw, shrunk = (found.table[name].to_numpy() - truth for name in ("mean", "shrunk"))
    assert (shrunk**2).sum() < (raw**2).sum()
    assert 0.2 < found.reliability < 0.8


def test_missing_cells_and_names() -> None:
    value, prompt, seed = table(1, 3, prompts=20, seeds=4)
    kept = np.random.default_rng(0).random(80) > 0.2
    names = np.array(["a", "b", "c", "d"])[seed]
    found = level_spread(value[kept], prompt[kept], names[kept], rounds=50)
    assert list(found.table.index) == ["a", "b", "c", "d"]
    assert found.table["n"].sum() == kept.sum()
    mean = value[kept & (seed == 1)].mean()
    assert found.table.loc["b", "mean"] == pytest.approx(mean)


def test_too_small_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two"):
        level_spread([1.0, 2.0], [0, 0], [0, 1])
