"""Two captions whose images are Gaussians: how often the right one is picked has a closed form.

An image is one grey level, N(mean, sigma^2), and the captions' means lie `delta` apart around 128. The model knows
an image's log-likelihood under either caption, but for an estimator's noise. `docs/validation.py` holds the metric
to it.
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
"""Of grey levels, 0 to 255."""

CAPTIONS = ("dark", "light")


@dataclass(frozen=True)
class GaussianWorld:
    """Two captions and a model.

    delta:   how far their means lie from each other, in sigmas
    tau:     the standard deviation of the noise in one trial's difference of both log-likelihoods
    trials:  N, so many are averaged
    """

    delta: float
    tau: float
    trials: int

    @property
    def accuracy(self) -> float:
        """How often the right caption is the likelier one."""
        noise = np.sqrt(self.delta**2 + self.tau**2 / self.trials)
        return float(norm.cdf(self.delta**2 / 2 / noise))

    def mean(self, caption: str) -> float:
        """Return the mean grey level of a caption's images."""
        return 128 + SIGMA * self.delta / 2 * (1 if caption == "light" else -1)

    def samples(self, count: int, salt: int, folder: Path) -> Iterator[Prompt]:
        """Draw images, and yield a sample of each, both captions in turn."""
        rng = np.random.default_rng([salt, 1])
        for n in range(count):
            right, wrong = CAPTIONS[n % 2], CAPTIONS[1 - n % 2]
            whole, part = divmod(self.mean(right) + rng.normal(0, SIGMA), 1)
            # levels are no whole numbers, so the second channel has further digits; the third makes each its own
            pixel = [int(whole), int(part * 256), n % 256]
            path = folder / f"{n}.png"
            Image.fromarray(np.full((2 + n // 256, 2, 3), pixel, np.uint8)).save(path)
            yield choice(f"s{n}", str(path), right, [wrong], "colour", "gaussians")

    def evaluated(self, count: int, salt: int, out: Path) -> Run:
        """Have `selfeval` judge a model that knows all this, on images drawn anew with each salt."""
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
    """Knows an image's log-likelihood under either caption, but for noise."""

    def __init__(self, world: GaussianWorld, salt: int) -> None:
        self.world, self.salt = world, salt

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        """Draw all images grey."""
        for request in requests:
            yield request, Generated(np.full((8, 8, 3), 90, np.uint8))

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        """Answer with terms."""
        for query in queries:
            level = query.images[0].pixels[0, 0].astype(float) @ [1, 1 / 256, 0]
            means = np.array([self.world.mean(text) for text in query.texts])
            exact = -0.5 * ((level - means) / SIGMA) ** 2
            rng = np.random.default_rng([int(query.images[0].digest[:12], 16), query.params["seed"], self.salt])
            noise = rng.normal(0, self.world.tau / np.sqrt(2), size=(query.params["trials"], 1, 2))
            # a chain has two steps at least: of the second one all is said, of the first nothing
            log_p = np.concatenate([np.zeros_like(noise), exact + noise], axis=1)
            yield query, LikelihoodTerms({"log_p": log_p, "log_prior": np.zeros((len(log_p), 2))}, log_p.size)
