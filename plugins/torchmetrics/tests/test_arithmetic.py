"""The arithmetic against torchmetrics, and against truths that need no reference implementation."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.statistics import block_jackknife
from t2i_torchmetrics.clipscore import clip_score
from t2i_torchmetrics.fid import Gaussian, frechet_distance
from t2i_torchmetrics.inception_score import inception_score
from t2i_torchmetrics.kid import discrepancy
from torchmetrics.functional.multimodal import clip_score as their_clip_score
from torchmetrics.image.fid import FrechetInceptionDistance
from torchmetrics.image.inception import InceptionScore
from torchmetrics.image.kid import KernelInceptionDistance

GOLDEN = "golden/distribution-metrics.json"


class Given(torch.nn.Module):
    """A network whose features are what it is given."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def vectors(n: int, d: int, seed: int, shift: float = 0.0) -> Any:
    """Correlated, skewed and not negative, like Inception's."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n, d)) @ np.random.default_rng(99).normal(size=(d, d)) / math.sqrt(d)
    return np.abs(mixed + 0.3 + shift)


CASES = {case["id"][-2:]: case for case in json.loads((Path(__file__).parent / GOLDEN).read_text())}


@pytest.mark.parametrize("case", ["01", "02"])
def test_golden_distances_of_gaussians(case: str) -> None:
    """The published implementations, with more and with fewer images than features."""
    given = CASES[case]["input"]
    fake, real = (Gaussian.of(np.array(given[side])) for side in ("fake", "real"))
    assert frechet_distance(fake, real) == pytest.approx(CASES[case]["expected"], abs=CASES[case]["tolerance"])


def test_golden_09_kernel_distance_of_one_pair_of_subsets() -> None:
    x, y = (np.array(CASES["09"]["input"][side]) for side in ("x", "y"))
    assert discrepancy(x, y) == pytest.approx(CASES["09"]["expected"], abs=CASES["09"]["tolerance"])


@pytest.mark.parametrize(("n", "d"), [(400, 64), (40, 64)])
def test_fid_is_torchmetrics(n: int, d: int) -> None:
    real, fake = vectors(n + 30, d, 0), vectors(n, d, 1, 0.2)
    theirs = FrechetInceptionDistance(feature=Given(d))
    theirs.update(torch.from_numpy(real), real=True)
    theirs.update(torch.from_numpy(fake), real=False)
    ours = frechet_distance(Gaussian.of(fake), Gaussian.of(real))
    # with fewer images than features their eigenvalues, 0 but for rounding, add roots of that rounding
    assert ours == pytest.approx(float(theirs.compute()), rel=1e-9 if n > d else 1e-5)


@pytest.mark.parametrize(("fake", "real"), [(40, 50), (40, 90), (90, 40), (90, 100)])
def test_fid_is_torchmetrics_however_few_images_either_side_has(fake: int, real: int) -> None:
    """20 features, and the same turned into 64: their distance is one, and theirs of 20 has full rank."""
    a, b = vectors(fake, 20, 1, 0.2), vectors(real, 20, 0)
    theirs = FrechetInceptionDistance(feature=Given(20))
    theirs.update(torch.from_numpy(b), real=True)
    theirs.update(torch.from_numpy(a), real=False)
    expected = float(theirs.compute())
    assert frechet_distance(Gaussian.of(a), Gaussian.of(b)) == pytest.approx(expected, rel=1e-9)
    turned = np.linalg.qr(np.random.default_rng(5).normal(size=(64, 20)))[0].T
    assert frechet_distance(Gaussian.of(a @ turned), Gaussian.of(b @ turned)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("fake", "real"), [(40, 50), (40, 90), (90, 40)])
def test_fid_of_few_images_is_of_the_singular_values(fake: int, real: int) -> None:
    a, b = vectors(fake, 64, 1, 0.2), vectors(real, 64, 0)
    rows = [(x - x.mean(axis=0)) / math.sqrt(len(x) - 1) for x in (a, b)]
    root = np.linalg.svd(rows[0] @ rows[1].T, compute_uv=False).sum()
    shift = np.square(a.mean(axis=0) - b.mean(axis=0)).sum()
    expected = shift + a.var(axis=0, ddof=1).sum() + b.var(axis=0, ddof=1).sum() - 2 * root
    assert frechet_distance(Gaussian.of(a), Gaussian.of(b)) == pytest.approx(expected, rel=1e-8)


def test_constant_features_are_accepted() -> None:
    """A covariance that is not of full rank, with more images than features."""
    a, b = vectors(90, 20, 1, 0.2), vectors(100, 20, 0)
    still = [np.column_stack([x, np.zeros((len(x), 2))]) for x in (a, b)]
    expected = frechet_distance(Gaussian.of(a), Gaussian.of(b))
    assert frechet_distance(*map(Gaussian.of, still)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_a_distance_of_few_images_is_soon_there() -> None:
    """Of 2048 features against torchmetrics' own: what takes it a minute, and an interval wants 21 times."""
    fake, real = vectors(60, 2048, 1, 0.2), vectors(70, 2048, 0)
    theirs = FrechetInceptionDistance(feature=Given(2048))
    theirs.update(torch.from_numpy(real), real=True)
    theirs.update(torch.from_numpy(fake), real=False)
    begun = time.process_time()
    expected = float(theirs.compute())
    theirs_took = time.process_time() - begun
    begun = time.process_time()
    assert frechet_distance(Gaussian.of(fake), Gaussian.of(real)) == pytest.approx(expected, rel=1e-5)
    assert time.process_time() - begun < theirs_took / 50


def test_fid_of_gaussians_is_the_closed_form() -> None:
    """Means and covariances that are met exactly, so the distance is that of the Gaussians themselves."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=(500, 6))
    white = (white - white.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(white.T))).T
    a, b = np.array([1.0, 2, 3, 0.5, 1, 4]), np.array([2.0, 2, 1, 0.5, 3, 0.1])
    mean = np.arange(6.0)
    expected = mean @ mean + ((a - b) ** 2).sum()  # covariances that commute: (sqrt A - sqrt B)^2
    assert frechet_distance(Gaussian.of(white * a), Gaussian.of(white * b + mean)) == pytest.approx(expected)
    assert frechet_distance(Gaussian.of(white * a + 1e4), Gaussian.of(white * b + 1e4 + mean)) == pytest.approx(
        expected
    )
    assert frechet_distance(Gaussian.of(white), Gaussian.of(white)) == pytest.approx(0, abs=1e-9)


@pytest.mark.long
def test_the_jackknife_of_a_distance_covers_the_truth() -> None:
    """With the reference fixed, and where the bias of few images is small beside the spread."""
    rng = np.random.default_rng(0)
    reference = Gaussian(1000, np.zeros(3), np.diag([1.0, 2, 3]))
    truth = frechet_distance(Gaussian(1000, np.full(3, 0.5), np.eye(3)), reference)
    covered = 0
    for _ in range(120):
        x = rng.normal(0.5, 1, (400, 3))
        full = frechet_distance(Gaussian.of(x), reference)
        without = [frechet_distance(Gaussian.of(x[np.arange(400) % 20 != b]), reference) for b in range(20)]
        interval = block_jackknife(full, without, low=0)
        covered += interval.lo <= truth <= interval.hi
    assert 0.91 < covered / 120 < 0.985


def test_a_gaussian_is_the_same_however_many_are_read_at_a_time() -> None:
    x = vectors(2500, 8, 0).astype(np.float32)
    found = Gaussian.of(iter(x))
    np.testing.assert_allclose(found.mean, x.mean(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(x.T.astype(np.float64)), rtol=1e-9)


def test_images_that_count_twice_change_a_covariance_by_its_n_alone() -> None:
    x = vectors(100, 5, 0)
    once, twice = Gaussian.of(x), Gaussian.of(np.concatenate([x, x]))
    np.testing.assert_allclose(twice.mean, once.mean)
    np.testing.assert_allclose(twice.covariance * 199 / 200, once.covariance * 99 / 100)


@pytest.mark.parametrize(("n", "size"), [(60, 60), (80, 40)])
def test_kid_is_torchmetrics(n: int, size: int) -> None:
    """On the subsets that torchmetrics draws."""
    real, fake = vectors(n, 32, 0), vectors(n, 32, 1, 0.3)
    theirs = KernelInceptionDistance(feature=Given(32), subsets=3, subset_size=size)
    theirs.update(torch.from_numpy(real), real=True)
    theirs.update(torch.from_numpy(fake), real=False)
    torch.manual_seed(5)
    expected = float(theirs.compute()[0])
    torch.manual_seed(5)
    drawn = [[torch.randperm(n)[:size].numpy() for _ in range(2)] for _ in range(3)]
    ours = np.mean([discrepancy(fake[b], real[a]) for a, b in drawn])
    assert ours == pytest.approx(expected, rel=1e-9)


def test_kid_of_one_distribution_is_0_on_average() -> None:
    found = [discrepancy(vectors(40, 8, 2 * i), vectors(40, 8, 2 * i + 1)) for i in range(400)]
    assert abs(np.mean(found)) < 3 * np.std(found) / math.sqrt(len(found))
    assert min(found) < 0 < max(found)


@pytest.mark.parametrize("splits", [1, 4])
def test_is_is_torchmetrics(splits: int) -> None:
    logits = np.random.default_rng(0).normal(size=(80, 12)) * 3
    with pytest.warns(UserWarning, match="save all extracted features"):
        theirs = InceptionScore(feature=Given(12), splits=splits)
    theirs.update(torch.from_numpy(logits))
    torch.manual_seed(3)
    expected = float(theirs.compute()[0])
    torch.manual_seed(3)
    log_p = torch.from_numpy(logits)[torch.randperm(80)].log_softmax(dim=1).numpy()
    assert np.mean([inception_score(part) for part in np.split(log_p, splits)]) == pytest.approx(
        expected, rel=1e-9
    )


def test_is_of_certain_and_varied_images_is_the_number_of_classes() -> None:
    certain = np.log(np.tile(np.eye(7), (5, 1)) * (1 - 7e-12) + 1e-12)
    assert inception_score(certain) == pytest.approx(7)
    assert inception_score(np.tile(certain[0], (10, 1))) == pytest.approx(1)
    assert inception_score(np.full((10, 7), -math.log(7))) == pytest.approx(1)


class Embedding:
    """Stands where torchmetrics wants a CLIP: gives the embeddings that it was made with."""

    config = object()

    def __init__(self, image: Any, text: Any) -> None:
        self.image, self.text = torch.from_numpy(image), torch.from_numpy(text)

    def to(self, device: Any) -> Embedding:
        return self

    def get_image_features(self, pixels: Any) -> torch.Tensor:
        return self.image

    def get_text_features(self, tokens: Any, mask: Any) -> torch.Tensor:
        return self.text

    def __call__(self, text: Any = None, images: Any = None, **kwargs: Any) -> dict[str, torch.Tensor]:
        empty = torch.zeros(1)
        return {"pixel_values": empty} if images is not None else {"input_ids": empty, "attention_mask": empty}


@pytest.mark.parametrize("sign", [1, -1])
def test_clipscore_is_torchmetrics(sign: int) -> None:
    rng = np.random.default_rng(0)
    image = rng.normal(size=(1, 512)).astype(np.float32)
    text = (sign * image + rng.normal(size=(1, 512))).astype(np.float32)
    model = Embedding(image, text)
    expected = float(their_clip_score(torch.zeros(3, 8, 8), "a dog", lambda: (model, model)))
    assert clip_score(image[0], text[0], 100) == pytest.approx(expected, rel=1e-6)
    assert clip_score(image[0], text[0], 2.5) == pytest.approx(expected / 40, rel=1e-6)
    assert (expected > 0) == (sign > 0)
