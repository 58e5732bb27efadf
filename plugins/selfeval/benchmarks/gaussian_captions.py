"""Two captions whose images are Gaussians, with a closed form for the accuracy of `selfeval`.

An image is one grey level, N(mean, sigma^2); the captions' means lie `delta` sigmas apart, around 128. The model
returns an image's exact log-likelihood under each caption plus an estimator's noise. `docs/validation.py` compares
the metric with the closed form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.stats import norm
from t2i_core import Run, evaluate
from t2i_core.api import (
    Generated,
    LikelihoodTerms,
    Prompt,
    PromptSourceInfo,
    Query,
    SelfJudgingInfo,
)
from t2i_core.testing import StaticResolver
from t2i_selfeval.plugin import t2i_metrics
from t2i_selfeval.samples import choice

SIGMA = 20.0
"""Standard deviation of grey levels, on the scale 0 to 255."""

CAPTIONS = ("dark", "light")


@dataclass(frozen=True)
class GaussianWorld:
    """Two captions and a model.

    Attributes:
        delta: Distance between the captions' means, in sigmas.
        tau: Standard deviation of the noise in one trial's difference of the two log-likelihoods.
        trials: N: number of trials to average.
    """

    delta: float
    tau: float
    trials: int

    @property
    def accuracy(self) -> float:
        """Probability that the right caption has the higher estimate."""
        noise = np.sqrt(self.delta**2 + self.tau**2 / self.trials)
        return float(norm.cdf(self.delta**2 / 2 / noise))

    def mean(self, caption: str) -> float:
        """Return the mean grey level of a caption's images."""
        return 128 + SIGMA * self.delta / 2 * (1 if caption == "light" else -1)

    def samples(self, count: int, salt: int, folder: Path) -> Iterator[Prompt]:
        """Draw images of the two captions in turn, and yield a sample for each."""
        rng = np.random.default_rng([salt, 1])
        for n in range(count):
            right, wrong = CAPTIONS[n % 2], CAPTIONS[1 - n % 2]
            whole, part = divmod(self.mean(right) + rng.normal(0, SIGMA), 1)
            # The second channel holds the fraction of the grey level; the third makes the images distinct.
            pixel = [int(whole), int(part * 256), n % 256]
            path = folder / f"{n}.png"
            Image.fromarray(np.full((2 + n // 256, 2, 3), pixel, np.uint8)).save(path)
            yield choice(f"s{n}", str(path), right, [wrong], "colour", "gaussians")

    def evaluated(self, count: int, salt: int, out: Path) -> Run:
        """Evaluate the model with `selfeval`, on images drawn by the salt."""
        folder = out / "images"
        folder.mkdir(parents=True, exist_ok=True)
        found = list(self.samples(count, salt, folder))
        model = SelfJudgingInfo(
            name=f"gaussians-{self.delta}-{self.tau}-{self.trials}-{salt}",
            summary="Gaussians.",
            create=lambda setup: CaptionModel(self, salt),
            capabilities=frozenset({"likelihood"}),
        )
        source = PromptSourceInfo(name="levels", summary="Levels.", prompts=lambda setup: found)
        (metric,) = [info for info in t2i_metrics() if info.name == "selfeval"]
        return evaluate(
            metric,
            model,
            prompts="levels",
            out=out / "run",
            resolver=StaticResolver(source),
            options={"selfeval": {"trials": self.trials, "steps": 2, "exact": True}},
        )


class CaptionModel:
    """Model that returns an image's exact log-likelihood under each caption plus noise."""

    def __init__(self, world: GaussianWorld, salt: int) -> None:
        self.world, self.salt = world, salt

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        """Yield grey images."""
        for request in requests:
            yield request, Generated(np.full((8, 8, 3), 90, np.uint8))

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        """Yield the terms of each query."""
        for query in queries:
            level = query.images[0].pixels[0, 0].astype(float) @ [1, 1 / 256, 0]
            means = np.array([self.world.mean(text) for text in query.texts])
            exact = -0.5 * ((level - means) / SIGMA) ** 2
            rng = np.random.default_rng([int(query.images[0].digest[:12], 16), query.params["seed"], self.salt])
            noise = rng.normal(0, self.world.tau / np.sqrt(2), size=(query.params["trials"], 1, 2))
            # A chain has at least two steps: the terms of the first are 0, the second's hold the log-likelihood.
            log_p = np.concatenate([np.zeros_like(noise), exact + noise], axis=1)
            yield query, LikelihoodTerms({"log_p": log_p, "log_prior": np.zeros((len(log_p), 2))}, log_p.size)
