from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from t2i_core.statistics import holm, mean_interval, paired_difference, statistic_differences


def grid(prompts: int, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    prompt, seed = np.indices((prompts, seeds))
    return prompt.ravel(), seed.ravel()


def test_prompts_alone_are_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.4, 1, 25), rng.normal(0, 1, 25)
    expected = stats.ttest_rel(a, b)
    ends = expected.confidence_interval(0.95)
    found = paired_difference(a, b, np.arange(25), None)
    assert (found.diff, found.p) == pytest.approx(((a - b).mean(), expected.pvalue))
    assert (found.lo, found.hi) == pytest.approx((ends.low, ends.high))
    assert found.n == 25
    assert found.method == "paired, t over prompts"


def test_crossed_it_is_the_interval_of_the_differences() -> None:
    rng = np.random.default_rng(2)
    prompt, seed = grid(20, 16)
    a, b = rng.normal(size=320) + seed / 4, rng.normal(size=320)
    exact = mean_interval(a - b, prompt, seed)
    found = paired_difference(a, b, prompt, seed)
    assert (found.diff, found.lo, found.hi, found.df) == (exact.value, exact.lo, exact.hi, exact.df)


@given(
    st.tuples(st.integers(2, 8), st.integers(1, 6)).flatmap(
        lambda shape: st.tuples(
            st.just(shape), *[hnp.arrays(float, shape, elements=st.integers(0, 3).map(float))] * 2
        )
    )
)
def test_swapping_models_mirrors_and_p_agrees_with_the_interval(drawn) -> None:
    shape, a, b = drawn
    prompt, seed = grid(*shape)
    ab = paired_difference(a.ravel(), b.ravel(), prompt, seed)
    ba = paired_difference(b.ravel(), a.ravel(), prompt, seed)
    assert (ab.diff, ab.lo, ab.hi, ab.p) == pytest.approx((-ba.diff, -ba.hi, -ba.lo, ba.p), abs=1e-9)
    assert ab.lo <= ab.diff <= ab.hi
    if ab.df is not None and abs(ab.p - 0.05) > 1e-9:
        assert (ab.p < 0.05) == (ab.lo > 0 or ab.hi < 0)


def test_shared_prompts_and_seeds_narrow_the_difference() -> None:
    rng = np.random.default_rng(3)
    prompt, seed = grid(30, 10)
    common = rng.normal(size=30)[prompt] + rng.normal(size=10)[seed]
    a, b = common + rng.normal(0, 0.2, 300), common + rng.normal(0, 0.2, 300)
    paired = paired_difference(a, b, prompt, seed)
    alone = mean_interval(a, prompt, seed)
    assert paired.hi - paired.lo < (alone.hi - alone.lo) / 5


def test_models_that_never_differ_are_not_called_equal() -> None:
    prompt, seed = grid(20, 16)
    ones = np.ones(320)
    found = paired_difference(ones, ones, prompt, seed)
    assert (found.diff, found.p) == (0, 1)
    other = 1 - 0.025 ** (1 / 20)
    assert (found.lo, found.hi) == pytest.approx((-other, other))
    always = paired_difference(ones, 0 * ones, prompt, seed)
    assert (always.diff, always.hi) == (1, 1)
    assert 0 < always.lo < 1
    assert always.p == pytest.approx(stats.binomtest(20, 20).pvalue)


def test_one_cluster_has_no_test() -> None:
    found = paired_difference([3.0], [2.5], [0], [0])
    assert found.diff == 0.5
    assert math.isnan(found.p)
    assert math.isnan(found.lo)


def test_weights_leave_rows_out() -> None:
    rng = np.random.default_rng(4)
    a, b, prompt = rng.normal(size=12), rng.normal(size=12), np.arange(12)
    weights = np.array([0, 0] + [1] * 10)
    found = paired_difference(a, b, prompt, None, weights=weights)
    assert found == paired_difference(a[2:], b[2:], prompt[2:], None)
    assert found.n == 10


def test_bad_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="pair up"):
        paired_difference([1.0], [1.0, 2.0], [0], [0])
    with pytest.raises(ValueError, match="finite"):
        paired_difference([1.0, math.nan], [1.0, 2.0], [0, 1], [0, 1])
    with pytest.raises(ValueError, match="outside"):
        paired_difference([2.0, 1.0], [1.0, 1.0], [0, 1], [0, 1], low=0, high=1)


def test_a_statistics_difference_agrees_with_the_paired_mean() -> None:
    rng = np.random.default_rng(5)
    prompt, seed = grid(25, 12)
    a = rng.normal(size=300) + rng.normal(size=25)[prompt]
    b, c = a + rng.normal(0.1, 0.5, 300) + rng.normal(0, 0.3, 12)[seed], rng.normal(size=300)

    def means(weights: np.ndarray) -> dict[str, float]:
        return {name: float(weights @ x / weights.sum()) for name, x in (("a", a), ("b", b), ("c", c))}

    found = statistic_differences(means, [("a", "b"), ("a", "c")], prompt, seed, rounds=4000)
    for other, name in ((b, "b"), (c, "c")):
        exact = paired_difference(a, other, prompt, seed)
        assert found["a", name].diff == pytest.approx(exact.diff)
        assert found["a", name].se == pytest.approx(exact.se, rel=0.06)
        assert found["a", name].n == 300
    assert found["a", "b"].se < found["a", "c"].se
    with pytest.raises(ValueError, match="returns no"):
        statistic_differences(means, [("a", "d")], prompt, seed, rounds=5)


def test_holm_by_the_book() -> None:
    # 4 x .01, 3 x .02, 2 x .03, 1 x .04, and never less than the one before
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]).shape == (0,)


def test_holm_leaves_out_what_was_not_tested() -> None:
    assert holm([0.01, math.nan, 0.04]) == pytest.approx([0.02, math.nan, 0.04], nan_ok=True)
    for bad in ([1.2], [-0.1], [[0.1]]):
        with pytest.raises(ValueError, match="p-values"):
            holm(bad)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_rejects_step_by_step(p) -> None:
    rejected, order = set(), sorted(range(len(p)), key=p.__getitem__)
    for rank, i in enumerate(order):
        if p[i] * (len(p) - rank) > 0.05:
            break
        rejected.add(i)
    assert {i for i, q in enumerate(holm(p)) if q <= 0.05} == rejected
