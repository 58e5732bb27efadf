"""Coefficients held to the literature and to counting by hand; intervals held to their range and to simulation."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from t2i_core.statistics import cohen_kappa, fleiss_kappa, krippendorff_alpha, phi

# what the literature gives ---------------------------------------------------------------------------------------

NOMINAL = {
    "A": "1 2 3 3 2 1 4 1 2 * * *",
    "B": "1 2 3 3 2 2 4 1 2 5 * 3",
    "C": "* 3 3 3 2 3 4 2 2 5 1 *",
    "D": "1 2 3 3 2 4 4 1 2 5 1 *",
}
BINARY = {"Meg": "0 1 0 0 0 0 0 0 1 0", "Owen": "1 1 1 0 0 1 0 0 0 0"}
PAIR = {"Ben": "a a b b d c c c e d d a", "Gerry": "b a b b b c c c e d d d"}

FLEISS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""


def columns(said):
    """Return items, raters and answers of rows of answers by rater, `*` for a missing answer."""
    rows = [(i, who, v) for who, row in said.items() for i, v in enumerate(row.split()) if v != "*"]
    return tuple(zip(*rows, strict=True))


@pytest.mark.parametrize(("said", "value"), [(BINARY, 0.095), (PAIR, 0.692), (NOMINAL, 0.743)])
def test_alpha_is_krippendorffs(said, value) -> None:
    """Krippendorff, Computing Krippendorff's alpha-reliability (2011), examples A, B and C."""
    assert krippendorff_alpha(*columns(said)).value == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize(("measurement", "value"), [("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_ordered_answers_is_krippendorffs(measurement, value) -> None:
    """The same source, example E, whose answers are those of example C."""
    items, raters, answers = columns(NOMINAL)
    numbers = [int(answer) for answer in answers]
    found = krippendorff_alpha(items, raters, numbers, measurement=measurement)
    assert found.value == pytest.approx(value, abs=5e-4)
    assert found.lo < found.value < found.hi < 1


def alpha_by_definition(answers: dict[tuple[int, int], float], measurement: str) -> float:
    """Return alpha from its definition: squared distances of all pairs of answers, within items and in all."""
    items = sorted({item for item, _ in answers})
    own = {item: [answers[key] for key in answers if key[0] == item] for item in items}
    own = {item: values for item, values in own.items() if len(values) > 1}
    every = [value for values in own.values() for value in values]

    def distance(a: float, b: float) -> float:
        if measurement == "interval":
            return (a - b) ** 2
        low, high = sorted((a, b))
        between = sum(low <= value <= high for value in every)
        return (between - (every.count(a) + every.count(b)) / 2) ** 2 if a != b else 0.0

    observed = sum(
        distance(a, b) / (len(values) - 1) for values in own.values() for a, b in permutations(values, 2)
    ) / len(every)
    expected = sum(distance(a, b) for a, b in permutations(every, 2)) / (len(every) * (len(every) - 1))
    return 1 - observed / expected if expected else math.nan


@pytest.mark.long
@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.integers(0, 3)), st.integers(-2, 3).map(float), min_size=2, max_size=18
    ),
    st.sampled_from(["ordinal", "interval"]),
)
def test_alpha_of_ordered_answers_is_its_definition(answers, measurement) -> None:
    assume(max(Counter(item for item, _ in answers).values()) > 1)
    items, raters = zip(*answers, strict=True)
    found = krippendorff_alpha(items, raters, answers.values(), measurement=measurement)
    expected = alpha_by_definition(answers, measurement)
    assert found.value == pytest.approx(max(expected, -1), nan_ok=True)


def test_ordinal_alpha_knows_only_the_order() -> None:
    items, raters, answers = columns(NOMINAL)
    ratings = [int(answer) for answer in answers]
    cubes = [rating**3 for rating in ratings]
    ordinal = [krippendorff_alpha(items, raters, each, measurement="ordinal").value for each in (ratings, cubes)]
    assert ordinal[0] == ordinal[1]
    interval = [krippendorff_alpha(items, raters, each, measurement="interval").value for each in (ratings, cubes)]
    assert interval[0] != interval[1]


def fleiss_answers():
    return [
        (item, rater, answer)
        for item, row in enumerate(FLEISS.split("\n")[1:-1])
        for rater, answer in enumerate(a for a, n in enumerate(row.split()) for _ in range(int(n)))
    ]


def test_kappa_is_fleiss() -> None:
    """The example of Wikipedia's article: 14 raters, 10 items, 5 answers."""
    found = fleiss_kappa(*zip(*fleiss_answers(), strict=True))
    assert found.value == pytest.approx(0.210, abs=5e-4)
    assert found.lo < found.value < found.hi
    assert (found.n_clusters, found.question) == (10, "new items of this kind, these raters")


def spread_out(table):
    """Return the two raters' answers of a table of counts."""
    pairs = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return tuple(zip(*pairs, strict=True))


def test_kappa_is_cohens() -> None:
    """Cohen (1960), the table of 200 cases with kappa .492."""
    assert cohen_kappa(*spread_out([[88, 10, 2], [14, 40, 6], [18, 10, 12]])).value == pytest.approx(
        0.4915, abs=1e-4
    )
    assert cohen_kappa(*spread_out([[20, 5], [10, 15]])).value == pytest.approx(0.4)


def test_phi_is_that_of_the_table_of_four() -> None:
    assert phi(*spread_out([[20, 5], [10, 15]])).value == pytest.approx(250 / np.sqrt(25 * 25 * 30 * 20))


# counted by hand -------------------------------------------------------------------------------------------------

ANSWERS = st.dictionaries(
    st.tuples(st.integers(0, 7), st.sampled_from("ABCD")), st.sampled_from(["a", "b", "tie"]), max_size=32
)


def count_alpha(said):
    """Krippendorff's alpha from the list of all pairs of answers."""
    units = [[v for (unit, _), v in said.items() if unit == u] for u in {u for u, _ in said}]
    units = [unit for unit in units if len(unit) > 1]
    values = [v for unit in units for v in unit]
    chance = [x != y for x, y in permutations(values, 2)]
    if not any(chance):
        return math.nan
    found = sum(sum(x != y for x, y in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / len(values)
    return 1 - found / (sum(chance) / len(chance))


def of(said, **options):
    items, raters = [item for item, _ in said], [rater for _, rater in said]
    return krippendorff_alpha(items, raters, said.values(), **options)


@given(ANSWERS)
def test_alpha_is_that_of_all_pairs(said) -> None:
    assert of(said).value == pytest.approx(count_alpha(said), abs=1e-12, nan_ok=True)
    decided = {key: v for key, v in said.items() if v != "tie"}
    assert of(said, excluded=("tie",)).value == pytest.approx(count_alpha(decided), abs=1e-12, nan_ok=True)


CELLS = st.integers(0, 9)
TABLES = (
    st.integers(2, 4)
    .flatmap(lambda k: st.lists(st.lists(CELLS, min_size=k, max_size=k), min_size=k, max_size=k))
    .filter(lambda table: any(map(any, table)))
)


@pytest.mark.long
@settings(max_examples=12)  # each takes 1,000 rounds four times
@given(TABLES, st.randoms())
def test_pairs_are_counted_whatever_their_order_and_names(table, random) -> None:
    a, b = spread_out(table)
    n, first, second = len(a), Counter(a), Counter(b)
    agreed = sum(x == y for x, y in zip(a, b, strict=True)) / n
    chance = sum(first[k] * second[k] for k in first) / n**2
    kappa = math.nan if chance == 1 else (agreed - chance) / (1 - chance)
    found = {cohen_kappa: cohen_kappa(a, b).value, phi: phi(a, b).value}
    assert found[cohen_kappa] == pytest.approx(kappa, abs=1e-9, nan_ok=True)
    spreads = math.sqrt(
        (1 - sum(v**2 for v in first.values()) / n**2) * (1 - sum(v**2 for v in second.values()) / n**2)
    )
    correlation = math.nan if spreads < 1e-9 else (agreed - chance) / spreads
    assert found[phi] == pytest.approx(correlation, abs=1e-9, nan_ok=True)
    order = random.sample(range(n), n)
    for coefficient, value in found.items():
        moved = coefficient([f"x{b[i]}" for i in order], [f"x{a[i]}" for i in order])
        assert moved.value == pytest.approx(value, abs=1e-9, nan_ok=True)


# intervals -------------------------------------------------------------------------------------------------------


def check(found) -> None:
    """Check that an interval holds its value, stays in [-1, 1] and has a width."""
    if math.isnan(found.lo):
        assert math.isnan(found.hi)
        return
    assert -1 <= found.lo <= found.value <= found.hi <= 1
    assert found.lo < found.hi


@pytest.mark.long
@given(ANSWERS)
def test_intervals_of_alpha_stay_in_their_range(said) -> None:
    for options in ({}, {"raters": "new"}, {"excluded": ("tie",)}):
        check(of(said, **options))


@pytest.mark.long
@settings(max_examples=30)
@given(TABLES)
def test_intervals_of_pairs_stay_in_their_range(table) -> None:
    for coefficient in (cohen_kappa, phi):
        check(coefficient(*spread_out(table)))


@pytest.mark.parametrize("n", [4, 20, 200])
def test_where_all_agree_clopper_and_pearson_bound_the_items(n) -> None:
    answers = list("ab" * (n // 2))
    disagree = 1 - 0.025 ** (1 / n)
    for coefficient in (cohen_kappa, phi):
        found = coefficient(answers, answers)
        assert (found.value, found.hi) == (1, 1)
        assert found.lo == pytest.approx(max(-1, 1 - disagree / 0.5))  # by chance half of the answers differ
        assert found.method == f"Clopper-Pearson, n = {n} items"
    three = [(i, r, a) for i, a in enumerate(answers) for r in range(3)]
    for coefficient in (krippendorff_alpha, fleiss_kappa):
        found = coefficient(*zip(*three, strict=True))
        assert found.value == 1
        assert found.lo == pytest.approx(max(-1, 1 - disagree / 0.5), abs=disagree / n)
    everybody = krippendorff_alpha(*zip(*three, strict=True), raters="new")
    assert everybody.lo == krippendorff_alpha(*zip(*three, strict=True)).lo
    assert everybody.question == "new items of this kind and new raters"


def test_the_opposite_of_agreement_has_an_interval_too() -> None:
    a, b = list("ab" * 10), list("ba" * 10)
    for coefficient in (cohen_kappa, phi):
        found = coefficient(a, b)
        assert found.value == found.lo == pytest.approx(-1)
        assert -1 < found.hi < 0


def test_items_of_one_cluster_count_once() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 40)
    b = np.where(rng.random(40) < 0.8, a, 1 - a)
    alone, tenfold = (
        cohen_kappa(a, b),
        cohen_kappa(np.repeat(a, 10), np.repeat(b, 10), np.repeat(np.arange(40), 10)),
    )
    assert (tenfold.lo, tenfold.hi, tenfold.n_clusters) == (pytest.approx(alone.lo), pytest.approx(alone.hi), 40)
    items, raters, answers = np.tile(np.arange(40), 2), np.repeat([0, 1], 40), np.concatenate([a, b])
    pairs = krippendorff_alpha(items, raters, answers, items // 2)
    assert pairs.n_clusters == 20
    assert pairs.value == krippendorff_alpha(items, raters, answers).value


def test_other_raters_widen_the_interval() -> None:
    said = {(i, r): "ab"[(i + (i % 9 < r)) % 2] for i in range(60) for r in range(4)}
    fixed, new = of(said), of(said, raters="new")
    assert new.lo < fixed.lo < fixed.value == new.value < fixed.hi < new.hi
    assert (fixed.n_clusters, new.n_clusters) == (60, 4)
    assert "4 raters: with fewer than 10 the interval is rough" in new.notes


def test_two_raters_say_nothing_of_others() -> None:
    found = of({(i, r): "ab"[(i + (i < 3) * r) % 2] for i in range(20) for r in range(2)}, raters="new")
    assert math.isnan(found.lo)
    assert found.notes[-1] == "2 raters: too few to say what others would answer"


def test_nothing_to_compare_has_no_value() -> None:
    for found in (of({}), of({(0, "A"): "a", (1, "B"): "b"}), cohen_kappa([], []), phi([], [])):
        assert math.isnan(found.value)
        assert math.isnan(found.lo)
        assert found.method == "none (no items)"
    for found in (of({(0, "A"): "a", (0, "B"): "a"}), cohen_kappa("aa", "aa"), phi("aa", "ab")):
        assert math.isnan(found.value)
        assert found.method == "none (no value)"


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: cohen_kappa("ab", "a"), "must pair up"),
        (lambda: phi("ab", "ab", "x"), "one label for each of 2 items"),
        (lambda: cohen_kappa("ab", "ab", level=95), "level must lie between 0 and 1"),
        (lambda: krippendorff_alpha([0, 0], "AB", "a"), "answer: 1"),
        (lambda: krippendorff_alpha([0, 0], "AA", "ab"), "answers twice"),
        (lambda: krippendorff_alpha([0, 0], "AB", "ab", "xy"), "more than one cluster"),
        (lambda: krippendorff_alpha([0, 0], "AB", "ab", raters="some"), "raters must be one of fixed, new"),
        (
            lambda: krippendorff_alpha([0, 0], "AB", "ab", measurement="ratio"),
            "measurement must be one of nominal",
        ),
        (lambda: krippendorff_alpha([0, 0], "AB", "ab", measurement="ordinal"), "must be numbers"),
        (lambda: krippendorff_alpha([0, 0], "AB", [1, math.inf], measurement="interval"), "must be finite"),
        (lambda: fleiss_kappa([0, 0, 1], "ABA", "aba"), "use krippendorff_alpha"),
    ],
)
def test_bad_arguments_are_refused(call, fault) -> None:
    with pytest.raises(ValueError, match=fault):
        call()


# do the intervals hold? ------------------------------------------------------------------------------------------

WORLDS = 400
BAR = 0.93 - 2 * math.sqrt(0.05 * 0.95 / WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("items", [50, 200])
@pytest.mark.parametrize("right", [0.7, 0.9])
def test_intervals_over_items_hold(items, right) -> None:
    """Two or three raters are right with one chance about items that are a or b: all coefficients are equal."""
    rng, truth, held = np.random.default_rng(0), (2 * right - 1) ** 2, Counter()
    for _ in range(WORLDS):
        fact = rng.integers(0, 2, items)
        said = np.array([np.where(rng.random(items) < right, fact, 1 - fact) for _ in range(3)])
        item, rater = np.tile(np.arange(items), 3), np.repeat(np.arange(3), items)
        found = {
            "kappa": cohen_kappa(said[0], said[1]),
            "phi": phi(said[0], said[1]),
            "alpha": krippendorff_alpha(item, rater, said.ravel()),
        }
        held.update(name for name, one in found.items() if one.lo <= truth <= one.hi)
    assert {name: count for name, count in held.items() if count < BAR * WORLDS} == {}
    assert len(held) == 3


@pytest.mark.slow
@pytest.mark.parametrize("items", [50, 200])
@pytest.mark.parametrize("right", [0.5, 0.8])
def test_intervals_of_ratings_hold(items, right) -> None:
    """Three raters give an item's rating, or one beside it; alpha in the population follows from the chances."""
    chances = np.zeros((5, 5))
    for rating in range(5):
        for step, chance in ((0, right), (-1, (1 - right) / 2), (1, (1 - right) / 2)):
            chances[rating, min(max(rating + step, 0), 4)] += chance
    shares = chances.mean(axis=0)
    truth = {}
    for measurement, scale in (("interval", np.arange(5.0)), ("ordinal", np.cumsum(shares) - shares / 2)):
        apart = np.square(scale[:, None] - scale)
        within = np.einsum("cx,cy,xy->", chances, chances, apart) / 5
        truth[measurement] = 1 - within / np.einsum("x,y,xy->", shares, shares, apart)
    rng, held = np.random.default_rng(2), Counter()
    item, rater = np.tile(np.arange(items), 3), np.repeat(np.arange(3), items)
    for _ in range(WORLDS):
        facts = rng.integers(0, 5, items)
        said = np.array([[rng.choice(5, p=chances[fact]) for fact in facts] for _ in range(3)])
        for measurement, value in truth.items():
            found = krippendorff_alpha(item, rater, said.ravel().tolist(), measurement=measurement)
            held[measurement] += found.lo <= value <= found.hi
    assert {name: count for name, count in held.items() if count < BAR * WORLDS} == {}


@pytest.mark.slow
@pytest.mark.parametrize("raters", [3, 6, 12])
def test_intervals_over_raters_hold(raters) -> None:
    """Raters differ in how often they are right; the truth is about all that might have been asked."""
    rng, held, items = np.random.default_rng(1), Counter(), 100
    truth = (2 * 0.8 - 1) ** 2
    for _ in range(WORLDS):
        fact, right = rng.integers(0, 2, items), rng.uniform(0.6, 1, raters)
        said = np.array([np.where(rng.random(items) < chance, fact, 1 - fact) for chance in right])
        item, rater = np.tile(np.arange(items), raters), np.repeat(np.arange(raters), items)
        for kind in ("fixed", "new"):
            found = krippendorff_alpha(item, rater, said.ravel(), raters=kind)
            held[kind] += found.lo <= truth <= found.hi
    assert held["new"] >= BAR * WORLDS
    assert held["fixed"] < 0.85 * WORLDS  # these raters are not all raters


@pytest.mark.long
def test_an_item_of_weight_two_counts_as_two_items():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 120)
    a, b = (np.where(rng.random(120) < 0.3, rng.integers(0, 3, 120), truth) for _ in range(2))
    weight = rng.integers(1, 4, 120)
    twice = np.repeat(np.arange(120), weight)
    assert cohen_kappa(a, b, weight=weight).value == pytest.approx(cohen_kappa(a[twice], b[twice]).value)

    def rate(rows, of, **how):
        n = len(rows)
        both = [*a[rows], *b[rows]]
        return float(of([*range(n)] * 2, ["a"] * n + ["b"] * n, both, **how).value)

    every, own = np.arange(120), [*weight] * 2
    assert rate(every, fleiss_kappa, weight=own) == pytest.approx(rate(twice, fleiss_kappa))
    for measurement in ("nominal", "ordinal", "interval"):
        # alpha also corrects for the number of answers, which weights do not change
        found = rate(every, krippendorff_alpha, weight=own, measurement=measurement)
        assert found == pytest.approx(rate(twice, krippendorff_alpha, measurement=measurement), abs=0.003)
        alike = rate(every, krippendorff_alpha, weight=[7.0] * 240, measurement=measurement)
        assert alike == pytest.approx(rate(every, krippendorff_alpha, measurement=measurement))


@pytest.mark.parametrize("weight", [[1.0, 2.0], [0.0, 0.0], [float("nan")] * 2])
def test_weights_that_cannot_be(weight):
    with pytest.raises(ValueError, match="weight"):
        krippendorff_alpha(["x", "x"], ["a", "b"], [1, 2], weight=weight)
