"""People's labels correct a judge: point estimates, refusals, drawings and allocations.

Coverage is in test_correction_coverage.py.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.statistics import (
    allocate_labels,
    corrected_difference,
    corrected_mean,
    corrected_statistic_differences,
    corrected_statistics,
    draw_cells,
    draw_labels,
    mean_interval,
    paired_difference,
)
from t2i_core.statistics.correction import LEAST_LABELS, LEAST_RARE, NO_GAIN
from t2i_core.statistics.label_design import make_label_design
from t2i_core.statistics.power_tuning import tune_power

PPI = json.loads((Path(__file__).parent / "ppi.json").read_text())
PROMPT, SEED = (each.ravel() for each in np.indices((60, 5)))
ROWS = len(PROMPT)


def world(key: int, labels: int, *, binary: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The judge's values, people's, and which of those are known."""
    rng = np.random.default_rng(key)
    y = (rng.random(ROWS) < 0.6).astype(float) if binary else rng.normal(2, 1, ROWS)
    f = np.where(rng.random(ROWS) < 0.2, 1 - y, y) if binary else 0.7 * y + rng.normal(0, 0.5, ROWS)
    known = np.zeros(ROWS, bool)
    known[draw_labels(ROWS, labels, rng_seed=key).rows] = True
    return f, y, known


@pytest.mark.parametrize("case", PPI["cases"], ids=lambda case: case["name"])
def test_estimate_and_lam_are_those_of_the_published_package(case: dict) -> None:
    """Its lam is for the mean over unlabelled rows alone, so it is smaller by the share of these."""
    judged = np.array(case["judged"])
    m, n = len(case["labels"]), len(judged)
    labels = np.r_[case["labels"], np.full(n - m, math.nan)]
    found = corrected_mean(judged, labels, np.arange(n), None)
    assert found.corrected is not None
    assert found.corrected.value == pytest.approx(case["estimate"], abs=1e-12)
    assert found.lam * (n - m) / n == pytest.approx(case["lam"], abs=1e-10)
    lam_1 = np.mean(case["labels"]) + (judged[m:].mean() - judged[:m].mean())
    assert lam_1 == pytest.approx(case["estimate_lam_1"], abs=1e-12)


@given(key=st.integers(0, 10**6), labels=st.integers(40, 250), binary=st.booleans())
@settings(max_examples=30)
def test_lam_0_gives_the_labels_alone(key: int, labels: int, binary: bool) -> None:
    f, y, known = world(key, labels, binary=binary)
    found = corrected_mean(f, np.where(known, y, np.nan), PROMPT, SEED, lam=0.0)
    own = mean_interval(y[known], PROMPT[known], SEED[known])
    for field in ("value", "lo", "hi", "df"):
        assert getattr(found.labels, field) == pytest.approx(getattr(own, field))
    assert found.corrected is not None
    assert found.corrected.value == pytest.approx(own.value)


@given(key=st.integers(0, 10**6), labels=st.integers(40, 250), binary=st.booleans())
@settings(max_examples=30)
def test_a_judge_who_is_right_gives_its_mean(key: int, labels: int, binary: bool) -> None:
    _, y, known = world(key, labels, binary=binary)
    found = corrected_mean(y, np.where(known, y, np.nan), PROMPT, SEED, lam=1.0)
    assert found.corrected is not None
    assert found.corrected.value == pytest.approx(y.mean())
    assert found.corrected.value == pytest.approx(found.judge.value)
    assert found.effective_labels == pytest.approx(ROWS)


@given(
    key=st.integers(0, 10**6),
    labels=st.integers(40, 250),
    shift=st.floats(-50, 50),
    scale=st.floats(0.01, 100),
    judge_shift=st.floats(-50, 50),
)
@settings(max_examples=30)
def test_affine_changes_carry_over(key: int, labels: int, shift: float, scale: float, judge_shift: float) -> None:
    """Of people and judge alike; and the judge's zero does not matter at all."""
    f, y, known = world(key, labels, binary=False)
    y = np.where(known, y, np.nan)
    before = corrected_mean(f, y, PROMPT, SEED)
    after = corrected_mean(shift + scale * f + judge_shift, shift + scale * y, PROMPT, SEED)
    assert before.corrected is not None
    assert after.corrected is not None
    assert after.lam == pytest.approx(before.lam, abs=1e-6)
    for field in ("value", "lo", "hi"):
        changed = shift + scale * getattr(before.corrected, field)
        assert getattr(after.corrected, field) == pytest.approx(changed, abs=1e-5 * (scale + abs(changed)))


@given(
    key=st.integers(0, 10**6),
    labels=st.integers(20, 120),
    score=st.floats(0.02, 0.98),
    lam=st.none() | st.floats(0, 1),
)
@settings(max_examples=60)
def test_no_interval_leaves_the_range(key: int, labels: int, score: float, lam: float | None) -> None:
    rng = np.random.default_rng(key)
    y = (rng.random(ROWS) < score).astype(float)
    f = np.where(rng.random(ROWS) < 0.3, 1.0, y)
    drawn = draw_labels(ROWS, labels, strata=f, rng_seed=key)
    known = np.isin(np.arange(ROWS), drawn.rows)
    for how in ({"label_strata": f}, {"probability": drawn.probability}):
        found = corrected_mean(f, np.where(known, y, np.nan), PROMPT, SEED, lam=lam, **how)  # type: ignore[arg-type]
        for each in (found.corrected, found.labels, found.judge):
            assert each is None or 0 <= each.lo <= each.value <= each.hi <= 1
        assert (found.corrected is None) == bool(found.refusal)
        assert 0 <= found.lam <= 1


def test_lam_without_each_label_is_lam_of_the_others() -> None:
    f, y, known = world(3, 60, binary=False)
    strata = (f > 1.5).astype(int)
    pi = np.where(PROMPT < 30, 0.1, 0.3)
    design = make_label_design(known, pi, strata)
    _, parts = tune_power(f, np.where(known, y, 0.0), design)
    strata = design.stratum
    share = design.n_rows**2 * (1 - design.n_labels / design.n_rows) / design.n_labels
    below = sum(share[h] * f[strata == h].var(ddof=1) for h in (0, 1))
    for i in np.flatnonzero(known)[:10]:
        above = 0.0
        for h in (0, 1):
            rest = known & (strata == h) & (np.arange(ROWS) != i)
            w = design.weight[rest]
            a, b = f[rest] - np.average(f[rest], weights=w), y[rest] - np.average(y[rest], weights=w)
            above += share[h] * float(np.average(a * b, weights=w))
        assert parts[i] == pytest.approx(np.clip(above / below, 0, 1))


def test_drawing_within_strata_is_undone_by_weights() -> None:
    """Over many drawings the corrected mean averages to the mean of people's values of all rows."""
    f, y, _ = world(4, 40)
    values: dict[str, list[float]] = {"strata": [], "probability": []}
    for key in range(200):
        drawn = draw_labels(ROWS, {0.0: 40, 1.0: 25}, strata=f, rng_seed=key)
        labels = np.full(ROWS, math.nan)
        labels[drawn.rows] = y[drawn.rows]
        by_strata = corrected_mean(f, labels, PROMPT, SEED, label_strata=f)
        by_probability = corrected_mean(f, labels, PROMPT, SEED, probability=drawn.probability)
        for name, found in (("strata", by_strata), ("probability", by_probability)):
            assert found.corrected is not None
            values[name].append(found.corrected.value)
    for found_values in values.values():
        error = np.std(found_values) / math.sqrt(len(found_values))
        assert np.mean(found_values) == pytest.approx(y.mean(), abs=4 * error)
    naive = y[drawn.rows].mean()
    assert abs(naive - y.mean()) > 0.05


def test_labels_that_people_did_not_answer_are_weighed_away() -> None:
    f, y, _ = world(5, 40)
    drawn = draw_labels(ROWS, 120, strata=f, rng_seed=1)
    labels = np.full(ROWS, math.nan)
    labels[drawn.rows] = y[drawn.rows]
    lost = drawn.rows[f[drawn.rows] == 1][::2]
    labels[lost] = math.nan
    found = corrected_mean(f, labels, PROMPT, SEED, label_strata=f, probability=drawn.probability)
    known = ~np.isnan(labels)
    expected = sum((f == h).mean() * y[known & (f == h)].mean() for h in (0, 1))
    assert found.labels.value == pytest.approx(expected)
    assert found.n_labels == 120 - len(lost)


def test_every_row_labelled_leaves_nothing_to_the_judge() -> None:
    f, y, _ = world(6, 40)
    found = corrected_mean(f, y, PROMPT, SEED)
    own = mean_interval(y, PROMPT, SEED)
    assert found.corrected is not None
    assert (found.corrected.lo, found.corrected.hi) == pytest.approx((own.lo, own.hi))
    assert found.notes == ()


@pytest.mark.parametrize(
    ("labels", "rare", "refused"),
    [
        (LEAST_LABELS - 1, 14, True),
        (LEAST_LABELS, 14, False),
        (100, LEAST_RARE - 1, True),
        (100, LEAST_RARE, False),
    ],
)
def test_too_few_labels_or_too_few_of_the_rarer_outcome_are_refused(labels: int, rare: int, refused: bool) -> None:
    f, _, _ = world(7, 40)
    y = np.full(ROWS, math.nan)
    y[:labels] = np.arange(labels) >= rare
    found = corrected_mean(f, y, PROMPT, SEED)
    assert (found.corrected is None) == refused
    assert bool(found.refusal) == refused
    assert found.best is (found.labels if refused else found.corrected)
    pair = corrected_difference(f, 0 * f, np.where(y == 0, 1.0, 0 * y), 0 * y, PROMPT, SEED)
    assert (pair.corrected is None) == refused


def test_a_judge_that_tells_nothing_is_named() -> None:
    _, y, known = world(8, 100)
    f = np.random.default_rng(1).permutation(y)
    found = corrected_mean(f, np.where(known, y, np.nan), PROMPT, SEED)
    assert found.notes == (NO_GAIN,)
    assert found.gain == pytest.approx(1, abs=0.1)
    f, y, known = world(8, 100)
    assert corrected_mean(f, np.where(known, y, np.nan), PROMPT, SEED).notes == ()


def test_a_judge_with_rare_errors_is_not_taken_for_perfect() -> None:
    """No error among the labels: the interval must allow for those not seen."""
    _, y, known = world(9, 50)
    found = corrected_mean(y, np.where(known, y, np.nan), PROMPT, SEED)
    assert found.corrected is not None
    assert found.corrected.se is not None
    assert found.judge.se is not None
    assert found.corrected.se**2 >= found.judge.se**2 + 0.5 * (1 - 50 / ROWS) / 50**2 - 1e-12


def test_a_difference_is_the_mean_of_differences() -> None:
    f_a, y_a, known = world(10, 120)
    f_b, y_b, _ = world(11, 120)
    found = corrected_difference(
        f_a, f_b, np.where(known, y_a, np.nan), np.where(known, y_b, np.nan), PROMPT, SEED
    )
    same = corrected_mean(f_a - f_b, np.where(known, y_a - y_b, np.nan), PROMPT, SEED, low=-1, high=1)
    assert found.corrected is not None
    assert same.corrected is not None
    assert found.corrected.diff == pytest.approx(same.corrected.value)
    assert found.lam == same.lam
    assert found.judge == paired_difference(f_a, f_b, PROMPT, SEED)
    assert (found.corrected.p < 0.05) == (found.corrected.lo > 0 or found.corrected.hi < 0)
    assert found.corrected.df is not None
    assert found.corrected.df <= 119


def test_a_pair_with_one_answer_is_not_labelled() -> None:
    f, y, known = world(12, 120)
    labels = np.where(known, y, np.nan)
    half = labels.copy()
    half[np.flatnonzero(known)[:20]] = np.nan
    assert corrected_difference(f, 1 - f, labels, half, PROMPT, SEED).n_labels == 100


def test_a_mean_by_reweighting_is_the_mean() -> None:
    f, y, known = world(13, 120)
    labels = np.where(known, y, 0.0)
    exact = corrected_mean(f, np.where(known, y, np.nan), PROMPT, SEED)
    found = corrected_statistics(
        lambda w: {"mean": float(w @ f / w.sum())},
        lambda w: {"mean": float(w @ labels / w.sum())},
        known,
        PROMPT,
        SEED,
        answers=labels,
        rounds=2000,
    )["mean"]
    assert exact.corrected is not None
    assert exact.corrected.se is not None
    assert found.corrected is not None
    assert found.lam == pytest.approx(exact.lam, abs=0.1)
    assert found.corrected.value == pytest.approx(exact.corrected.value, abs=0.01)
    assert found.corrected.se == pytest.approx(exact.corrected.se, rel=0.08)
    assert found.labels.value == pytest.approx(exact.labels.value)
    assert found.judge.value == pytest.approx(exact.judge.value)
    assert found.gain == pytest.approx(exact.gain, rel=0.15)


def battles(key: int, labelled: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(key)
    prompt = np.repeat(np.arange(100), 3)
    pair = np.tile(np.arange(3), 100)
    won = (rng.random(300) < np.array([0.7, 0.8, 0.6])[pair]).astype(float)
    judge = np.where(rng.random(300) < 0.2, 1 - won, won)
    known = np.zeros(300, bool)
    known[draw_labels(300, labelled, rng_seed=key).rows] = True
    return prompt, pair, won, judge, known


def strengths(pair: np.ndarray, won: np.ndarray):
    """Bradley-Terry of three models by the iteration of Zermelo; NaN where the battles do not connect them."""

    def statistic(w: np.ndarray) -> dict[str, float]:
        fought, wins = np.bincount(pair, w, 3), np.bincount(pair, w * won, 3)
        if ((wins > 0) & (wins < fought)).sum() < 2:
            return dict.fromkeys("abc", math.nan)
        left, right = np.array([0, 0, 1]), np.array([1, 2, 2])
        strength = np.ones(3)
        total = np.bincount(left, wins, 3) + np.bincount(right, fought - wins, 3)
        for _ in range(30):
            shared = fought / (strength[left] + strength[right])
            strength = total / (np.bincount(left, shared, 3) + np.bincount(right, shared, 3))
            strength /= np.exp(np.log(strength).mean())
        return dict(zip("abc", np.log(strength).tolist(), strict=True))

    return statistic


def test_ratings_are_corrected_and_their_differences_agree() -> None:
    prompt, pair, won, judge, known = battles(1, 150)
    arguments = (strengths(pair, judge), strengths(pair, won * known), known)
    found = corrected_statistics(*arguments, prompt, None, answers=won, rounds=100)
    differences = corrected_statistic_differences(*arguments, [("a", "c")], prompt, None, answers=won, rounds=100)
    assert found.keys() == {"a", "b", "c"}
    assert all(each.corrected is not None and each.gain > 1.1 for each in found.values())
    pick = differences["a", "c"]
    assert pick.corrected is not None
    assert pick.labels.diff == pytest.approx(found["a"].labels.value - found["c"].labels.value)
    assert pick.judge.diff == pytest.approx(found["a"].judge.value - found["c"].judge.value)
    assert pick.corrected.p < 0.05
    truth = strengths(pair, won)(np.ones(300))
    assert pick.corrected.lo < truth["a"] - truth["c"] < pick.corrected.hi


def test_models_that_labelled_battles_do_not_connect_are_refused() -> None:
    prompt, pair, won, judge, _ = battles(2, 40)
    known = (pair == 0) & (prompt < 80)
    found = corrected_statistics(
        strengths(pair, judge), strengths(pair, won * known), known, prompt, None, answers=won, rounds=20
    )
    assert all(each.corrected is None and each.refusal for each in found.values())
    assert all(math.isfinite(each.judge.lo) and math.isnan(each.labels.lo) for each in found.values())


def test_few_labels_of_a_statistic_are_refused() -> None:
    f, y, known = world(14, 20)
    labels = np.where(known, y, 0.0)
    options = {"rounds": 20}
    found = corrected_statistics(
        lambda w: {"mean": float(w @ f / w.sum())},
        lambda w: {"mean": float(w @ labels / w.sum())},
        known,
        PROMPT,
        SEED,
        **options,
    )["mean"]
    assert found.corrected is None
    assert "20 labels" in found.refusal


# -- which rows to label ---------------------------------------------------------------------------------------


def test_drawings_repeat_and_their_probabilities_are_true() -> None:
    strata = np.repeat(["yes", "no"], [40, 10])
    sizes = {"yes": 8, "no": 5}
    one, two = (draw_labels(50, sizes, strata=strata, rng_seed=3) for _ in range(2))
    assert one.rows.tolist() == two.rows.tolist() == sorted(set(one.rows.tolist()))
    assert one.probability.tolist() == [0.2] * 40 + [0.5] * 10
    counts = np.zeros(50)
    for key in range(1000):
        counts[draw_labels(50, sizes, strata=strata, rng_seed=key).rows] += 1
    assert np.abs(counts / 1000 - one.probability).max() < 0.07


def test_a_second_drawing_adds_to_the_first() -> None:
    strata = np.repeat(["yes", "no"], [40, 10])
    first = draw_labels(50, 10, strata=strata, rng_seed=1)
    assert np.bincount(strata[first.rows] == "no").tolist() == [5, 5]
    before = np.isin(np.arange(50), first.rows)
    second = draw_labels(50, {"yes": 10}, strata=strata, labelled=before, rng_seed=1)
    assert not set(first.rows) & set(second.rows)
    assert second.probability.tolist() == [15 / 40] * 40 + [0.5] * 10


def test_equal_division_gives_what_small_strata_lack_to_the_others() -> None:
    strata = np.repeat([0, 1, 2], [3, 50, 50])
    assert np.bincount(strata[draw_labels(103, 40, strata=strata).rows]).tolist() == [3, 19, 18]


def test_cells_are_drawn_whole() -> None:
    prompt, seed = np.tile(PROMPT, 2), np.tile(SEED, 2)
    drawn = draw_cells(prompt, seed, 30, rng_seed=5)
    cells = prompt[drawn.rows] * 5 + seed[drawn.rows]
    assert np.unique(cells, return_counts=True)[1].tolist() == [2] * 30
    assert set(drawn.probability) == {30 / 300}
    before = np.isin(np.arange(600), drawn.rows[:1])  # one image of a cell: the whole cell counts
    rest = draw_cells(prompt, seed, 299, labelled=before)
    assert len(rest.rows) == 598
    with pytest.raises(ValueError, match="more than one stratum"):
        draw_cells(prompt, seed, 5, strata=np.arange(600))


def test_the_next_labels_go_where_they_lower_the_variance_most() -> None:
    """By trying every division of 12 labels between two strata."""
    rng = np.random.default_rng(2)
    strata = np.repeat([0.0, 1.0], [100, 200])
    y = np.where(strata == 1, rng.random(300) < 0.95, rng.random(300) < 0.4).astype(float)
    labels = np.full(300, math.nan)
    rows = draw_labels(300, 40, strata=strata).rows
    labels[rows] = y[rows]
    found = allocate_labels(strata, labels, strata, 12)
    assert found.next_labels.sum() == 12

    def variance(first: int) -> float:
        k = found.n_labels + np.array([first, 12 - first])
        return float(((found.n_rows / 300) ** 2 * found.sd**2 / k).sum())

    assert min(range(13), key=variance) == found.next_labels[0]
    one_more = (found.n_rows / 300) ** 2 * found.sd**2 * (1 / found.n_labels - 1 / (found.n_labels + 1))
    assert found.gain == pytest.approx(one_more)
    assert found.probability == pytest.approx((20 + found.next_labels) / found.n_rows)
    assert sum(found.sizes.values()) == 12


def test_first_labels_are_divided_equally_and_no_stratum_is_forgotten() -> None:
    f = np.repeat([0.0, 1.0, 0.0, 1.0], [10, 90, 50, 50])
    model = np.repeat(["a", "b"], 100)
    strata = np.array([f"{m} {v:g}" for m, v in zip(model, f, strict=True)])
    found = allocate_labels(f, np.full(200, math.nan), strata, 40, group=model)
    assert found.strata == ("a 0", "a 1", "b 0", "b 1")
    assert found.next_labels.tolist() == [10, 10, 10, 10]
    labels = np.full(200, math.nan)
    labels[10:40], labels[100:130] = 1.0, 0.0  # nobody looked at "a 0" and "b 1"; people agreed elsewhere
    found = allocate_labels(f, labels, strata, 8, group=model)
    assert found.next_labels[0] >= 2
    assert found.next_labels[3] >= 2
    full = allocate_labels(f, np.where(strata == "a 0", 1.0, labels), strata, 8, group=model)
    assert (full.next_labels[0], full.gain[0]) == (0, 0.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: corrected_mean([1.0, 0.0], [math.nan, math.nan], [0, 1], None),
        lambda: corrected_mean([1.0, math.nan], [1.0, 0.0], [0, 1], None),
        lambda: corrected_mean([1.0, 0.0], [1.0], [0, 1], None),
        lambda: corrected_mean([1.0, 0.0], [1.0, 0.0], [0, 1], None, lam=1.5),
        lambda: corrected_mean([1.0, 0.0], [1.0, 0.0], [0, 1], None, probability=[0.0, 1.0]),
        lambda: corrected_mean([1.0, 0.0], [1.0, 0.0], [0, 1], None, probability=[1.0]),
        lambda: corrected_mean([1.0, 0.0], [2.0, 0.0], [0, 1], None, low=0, high=1),
        lambda: draw_labels(5, 6),
        lambda: draw_labels(5, -1),
        lambda: draw_labels(5, {"a": 1}),
        lambda: draw_labels(2, {"c": 1}, strata=["a", "b"]),
        lambda: draw_labels(2, {"a": 2}, strata=["a", "b"]),
        lambda: allocate_labels([1.0, 0.0], [math.nan] * 2, ["a", "a"], 1, group=[0, 1]),
        lambda: allocate_labels([1.0, 0.0], [1.0, 1.0], ["a", "b"], 1),
        lambda: corrected_statistics(
            lambda w: {"a": 1.0}, lambda w: {"b": 1.0}, [True, True], [0, 1], None, rounds=2
        ),
    ],
)
def test_bad_input_is_rejected(call) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the functions know no other error; wordings may change
        call()


def test_strata_with_a_single_label_are_merged() -> None:
    f, _, _ = world(15, 40)
    strata = np.where(np.arange(ROWS) < 4, "rare", np.where(f == 1, "yes", "no"))
    known = np.zeros(ROWS, bool)
    known[[1, *range(10, 90)]] = True
    design = make_label_design(known, None, strata)
    assert len(design.n_rows) == 2
    assert design.n_rows.sum() == ROWS
    assert np.bincount(design.stratum, design.weight) == pytest.approx(design.n_rows)
    assert design.df == 81 - 2
