"""Precision, recall, density, coverage, CMMD, Vendi and FD-infinity: golden cases, truths, and parts of a set."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies
from t2i_core.api import Prompt, Sample
from t2i_torchmetrics import blocks, neighbourhoods
from t2i_torchmetrics.blocks import iterate_distances
from t2i_torchmetrics.cmmd import KernelSums, normalise, sum_kernel
from t2i_torchmetrics.fd_infinity import extrapolate, list_sizes
from t2i_torchmetrics.neighbourhoods import PrdcScores, find_neighbourhoods, find_radii, score_images
from t2i_torchmetrics.subsets import WholeSets
from t2i_torchmetrics.vectors import Floats
from t2i_torchmetrics.vendi import vendi_score

CASES = {
    case["id"][-2:]: case
    for case in json.loads((Path(__file__).parent / "golden/distribution-metrics.json").read_text())
}


def read_vectors(case: str, side: str) -> Floats:
    given = np.array(CASES[case]["input"][side], np.float64)
    return given[:, None] if given.ndim == 1 else given


def expect(case: str) -> Any:
    tolerance = CASES[case]["tolerance"]
    return pytest.approx(CASES[case]["expected"], abs=tolerance)


def measure_cmmd(x: Floats, y: Floats, kept: Any = None) -> float:
    within = float(sum_kernel(y, y, 10).mean()) / len(y)
    sums = KernelSums(x, sum_kernel(x, x, 10), sum_kernel(x, y, 10), within, len(y), 10)
    return sums.measure(np.ones(len(x), np.bool_) if kept is None else kept)


def score_set(real: Floats, generated: Floats, k: int) -> PrdcScores:
    """Return the scores of a whole set, which both ways give."""
    sides = real, find_radii(real, k), generated, k
    found = find_neighbourhoods(*sides)
    assert found is not None
    scores = found.score(np.ones(len(generated), np.bool_))
    assert scores == score_images(*sides)
    return scores


def score_naively(real: Floats, generated: Floats, k: int) -> tuple[float, float, float, float]:
    """Return precision, recall, density and coverage by their definitions."""

    def distances(x: Floats, y: Floats) -> Floats:
        return np.asarray(np.sqrt(((x[:, None] - y) ** 2).sum(-1)))

    crossed = distances(real, generated)
    of_real, of_generated = (np.sort(distances(each, each), axis=1)[:, k] for each in (real, generated))
    within = crossed < of_real[:, None]
    return (
        float(within.any(axis=0).mean()),
        float((crossed < of_generated).any(axis=1).mean()),
        float(within.sum(axis=0).mean() / k),
        float((crossed.min(axis=1) < of_real).mean()),
    )


@pytest.mark.parametrize("case", ["05", "06"])
def test_golden_precision_recall_density_coverage(case: str) -> None:
    real, generated, k = read_vectors(case, "real"), read_vectors(case, "fake"), CASES[case]["input"]["k"]
    assert score_set(real, generated, k)._asdict() == expect(case)


def test_golden_04_cmmd() -> None:
    assert measure_cmmd(read_vectors("04", "x"), read_vectors("04", "y")) == expect("04")


def test_golden_vendi_scores() -> None:
    assert vendi_score(read_vectors("07", "features")) == expect("07")
    assert [vendi_score(read_vectors("08", "features"), order) for order in (2, math.inf)] == expect("08")


def test_golden_03_fd_infinity() -> None:
    case = CASES["03"]
    sizes = list_sizes(case["input"]["n_generated"])
    assert sizes.tolist() == case["expected"]["sizes"]
    assert extrapolate(sizes, case["input"]["fd"]) == pytest.approx(case["expected"]["fd_infinity"], abs=1e-6)


@given(
    seed=strategies.integers(0, 10**6),
    reals=strategies.integers(8, 40),
    count=strategies.integers(8, 40),
    k=strategies.integers(1, 5),
    share=strategies.floats(0, 0.6),
)
def test_a_part_of_a_set_has_the_scores_of_its_definition(
    seed: int, reals: int, count: int, k: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    real = (3 * rng.normal(size=(reals, 3))).round()  # whole numbers, so that distances tie exactly
    generated = (rng.uniform(0.5, 4) * rng.normal(size=(count, 3))).round()
    found = find_neighbourhoods(real, find_radii(real, k), generated, k)
    assert found is not None
    kept = rng.random(count) >= share
    scores = found.score(kept)
    if scores is None:
        assert kept.sum() <= k or len(found.near[0]) < count
    elif kept.sum() > k:
        assert scores == pytest.approx(score_naively(real, generated[kept], k))


def test_too_many_pairs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    real, generated = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    monkeypatch.setattr(neighbourhoods, "_MOST_PAIRS", 50)
    assert find_neighbourhoods(real, find_radii(real, 3), generated, 3) is None


def test_blocks_have_the_distances_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_NUMBERS", 50)
    x, y = (np.random.default_rng(seed).normal(size=(23, 4)) for seed in (0, 1))
    found = np.concatenate([squares for _, squares in iterate_distances(x, y)])
    assert found == pytest.approx(((x[:, None] - y) ** 2).sum(-1))
    assert len(list(iterate_distances(x, y))) == 12


def test_copies_are_near_nobody() -> None:
    """A radius of 0 holds nothing, also where rounding would make a distance of copies differ from 0."""
    copies = np.repeat(np.random.default_rng(0).normal(size=(1, 500)) * 1000, 10, axis=0)
    assert score_set(copies, copies, 3) == (0, 0, 0, 0)


def test_one_mode_of_two_has_half_the_recall_and_coverage() -> None:
    rng = np.random.default_rng(0)
    both = rng.normal(size=(400, 8)) + np.repeat([[0.0], [100.0]], 200, axis=0)
    precision, recall, _, coverage = score_set(both, rng.normal(size=(400, 8)), 5)
    assert recall == pytest.approx(0.5, abs=0.1)
    assert coverage == pytest.approx(0.5, abs=0.02)
    assert precision > 0.9


@given(seed=strategies.integers(0, 10**6), share=strategies.floats(0, 0.5))
def test_the_discrepancy_of_a_part_is_that_of_its_images(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = normalise(rng.normal(size=(20, 4))), normalise(rng.normal(size=(15, 4)))
    kept = rng.random(20) >= share
    if kept.any():
        assert measure_cmmd(x, y, kept) == pytest.approx(measure_cmmd(x[kept], y), abs=1e-9)


def test_equal_sets_have_no_discrepancy() -> None:
    x = normalise(np.random.default_rng(0).normal(size=(30, 4)))
    assert measure_cmmd(x, x) == pytest.approx(0, abs=1e-9)
    assert measure_cmmd(x, x) >= 0


@pytest.mark.parametrize(
    ("modes", "order"), [(1, 1.0), (4, 1.0), (4, 2.0), (7, math.inf), (7, 0.5), (4, 0.0), (4, 0.1), (4, 1000.0)]
)
def test_the_vendi_score_of_equal_modes_is_their_number(modes: int, order: float) -> None:
    """Modes are orthogonal; with more images than features, and with fewer."""
    images = np.repeat(np.eye(modes, 20), 5, axis=0) * 3
    assert vendi_score(images, order) == pytest.approx(modes)
    assert vendi_score(images[:, :modes], order) == pytest.approx(modes)


def test_a_rare_mode_counts_less() -> None:
    images = np.repeat(np.eye(2), [99, 1], axis=0)
    assert 1 < vendi_score(images) < 1.1
    assert vendi_score(images, math.inf) == pytest.approx(1 / 0.99)


def test_an_extrapolated_line_is_found_again() -> None:
    sizes = list_sizes(1000)
    assert (sizes[0], sizes[-1], len(sizes)) == (100, 1000, 15)
    assert extrapolate(sizes, [7 + 300 / size for size in sizes]) == pytest.approx(7)


def test_a_subset_uses_what_its_whole_set_computed() -> None:
    def samples(model: str, seeds: range) -> list[Sample]:
        return [Sample(model, Prompt("a", "a"), seed) for seed in seeds]

    computed: list[str] = []

    def compute(name: str) -> str:
        computed.append(name)
        return name

    wholes = WholeSets[str]()
    for model, seeds, expected in (
        ("a", range(20), "whole"),
        ("a", range(1, 20), "whole"),
        ("b", range(20), "other"),
        ("a", range(5), "small"),  # a level of a facet is measured anew, and the whole set stays known
        ("a", range(19), "whole"),
        ("a", range(10, 40), "larger"),
    ):
        found, kept = wholes.find(samples(model, seeds), lambda expected=expected: compute(expected))  # type: ignore[misc]
        assert (found, kept.sum()) == (expected, len(seeds))
    assert computed == ["whole", "other", "small", "larger"]


@pytest.mark.parametrize("law", ["uniform", "skewed", "one"])
def test_known_modes(law: str) -> None:
    """Modes far apart: images of a mode cover its reference images as if it were alone, and density is 1."""
    rng, k, of_mode, count, images = np.random.default_rng(0), 3, 10, 4, 40
    zipf = 1 / np.arange(1, count + 1)
    shares = {"uniform": np.full(count, 0.25), "skewed": zipf / zipf.sum(), "one": np.eye(count)[0]}[law]
    centres = 1000 * np.eye(count, 6)
    found, expected = [], []
    for _ in range(400):
        modes = rng.choice(count, images, p=shares)
        real = np.repeat(centres, of_mode, axis=0) + rng.normal(size=(count * of_mode, 6))
        scores = score_set(real, centres[modes] + rng.normal(size=(images, 6)), k)
        found.append((scores.density, scores.coverage))
        ranks = np.arange(k)[:, None]
        own = np.bincount(modes, minlength=count)
        # a reference image is not covered if the k nearest images of its mode are all of the reference
        uncovered = np.prod((of_mode - 1 - ranks) / (of_mode - 1 + own - ranks), axis=0)
        expected.append(1 - uncovered.mean())
    density, coverage = np.mean(found, axis=0)
    assert density == pytest.approx(1, abs=0.03)
    assert coverage == pytest.approx(np.mean(expected), abs=0.01)
