"""Two captions whose images are Gaussians: accuracy has a closed form, and intervals hold it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.stats import norm
from t2i_core import Generated, GeneratorInfo, LikelihoodTerms, PromptSourceInfo, Query
from t2i_core.evaluation import evaluate
from t2i_core.testing import StaticResolver
from t2i_selfeval.samples import choice

SIGMA, SAMPLES = 20.0, 300
CAPTIONS = ("dark", "light")


class Gaussians:
    """Knows an image's log-likelihood under either caption, but for an estimator's noise of each trial.

    An image is one grey level, N(128 -+ distance / 2, SIGMA^2). tau: the sd of a trial's difference of both.
    """

    def __init__(self, distance: float, tau: float) -> None:
        self.distance, self.tau = distance, tau

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request in requests:
            yield request, Generated(np.full((8, 8, 3), 90, np.uint8))

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            level = query.images[0].pixels[0, 0].astype(float) @ [1, 1 / 256, 0]
            means = [128 + (self.distance / 2) * (1 if text == "light" else -1) for text in query.texts]
            exact = -0.5 * ((level - np.array(means)) / SIGMA) ** 2
            rng = np.random.default_rng([int(query.images[0].digest[:12], 16), query.params["seed"]])
            noise = rng.normal(0, self.tau / np.sqrt(2), size=(query.params["trials"], 1, 2))
            # a chain has two steps at least: of the second one all is said, of the first nothing
            log_p = np.concatenate([np.zeros_like(noise), exact + noise], axis=1)
            yield query, LikelihoodTerms({"log_p": log_p, "log_prior": np.zeros((len(log_p), 2))}, log_p.size)


@pytest.mark.parametrize(("distance", "tau", "trials"), [(20, 0.0, 1), (40, 4.0, 4)])
def test_accuracy_is_what_distance_and_noise_make_of_it(
    distance: float, tau: float, trials: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    rng = np.random.default_rng(1)
    found = []
    for n in range(SAMPLES):
        right = CAPTIONS[n % 2]
        level = 128 + (distance / 2) * (1 if right == "light" else -1) + rng.normal(0, SIGMA)
        whole, part = divmod(level, 1)
        # further digits in the second channel: levels are no whole numbers; and the number, so that none is equal
        pixel = [int(whole), int(part * 256), n % 256]
        path = tmp_path / f"{n}.png"
        Image.fromarray(np.full((2 + n // 256, 2, 3), pixel, np.uint8)).save(path)
        wrong = [caption for caption in CAPTIONS if caption != right]
        found.append(choice(f"s{n}", str(path), right, wrong, "colour", "test"))
    model = GeneratorInfo(
        name="gaussians",
        summary="Gaussians.",
        create=lambda setup: Gaussians(distance, tau),
        capabilities=frozenset({"likelihood"}),
    )
    source = PromptSourceInfo(name="levels", summary="Levels.", prompts=lambda setup: found)
    from t2i_selfeval.plugin import t2i_metrics

    (metric,) = [info for info in t2i_metrics() if info.name == "selfeval"]
    run = evaluate(
        metric,
        model,
        prompts="levels",
        out=tmp_path / "run",
        resolver=StaticResolver(source),
        options={"selfeval": {"trials": trials, "steps": 2, "exact": True}},
    )
    (result,) = run.results["results"]
    mean = distance**2 / (2 * SIGMA**2)
    truth = norm.cdf(mean / np.sqrt(distance**2 / SIGMA**2 + tau**2 / trials))
    low, high = result["scores"]["accuracy"]["ci"]
    assert low <= truth <= high
    assert result["score"] == pytest.approx(result["scores"]["accuracy"]["value"] - 0.5)
    assert high - low < 0.13
