from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from t2i_core.statistics import clopper_pearson, wilson

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.8, 0.95, 0.99])


@given(counts, levels)
def test_wilson_is_scipys(count, level) -> None:
    expected = stats.binomtest(*count).proportion_ci(level, method="wilson")
    assert wilson(*count, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(counts, levels)
def test_clopper_pearson_is_scipys(count, level) -> None:
    expected = stats.binomtest(*count).proportion_ci(level, method="exact")
    assert clopper_pearson(*count, level) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_ends_are_exact() -> None:
    assert wilson(0, 10)[0] == clopper_pearson(0, 10)[0] == 0
    assert wilson(10, 10)[1] == clopper_pearson(10, 10)[1] == 1
    assert clopper_pearson(20, 20)[0] == pytest.approx(0.025 ** (1 / 20))


def test_fractions_and_quantiles() -> None:
    narrow, wide = wilson(7.5, 10.5), wilson(7.5, 10.5, quantile=2.5)
    assert wide[0] < narrow[0] < 7.5 / 10.5 < narrow[1] < wide[1]


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@pytest.mark.parametrize("arguments", [(3, 2), (-1, 2), (0, 0), (1, 2, 0.0), (1, 2, 95)])
def test_bad_counts_are_refused(interval, arguments) -> None:
    with pytest.raises(ValueError, match=r"need|level"):
        interval(*arguments)
