"""What giving captions up saves and what it costs: calls of the denoiser against agreement with all terms.

    python plugins/selfeval/benchmarks/elimination.py                              # on a world of Gaussians
    python plugins/selfeval/benchmarks/elimination.py --model mini --prompts selfeval-mini

Captions are given up by arithmetic on terms, so that the decisions at any error rate follow from all terms. The
world of Gaussians has a denoiser that is exact: an image is drawn around the right caption's mean,
which lies at various distances from the others'. z is the mean over its standard error of the best caption's terms
minus the second's.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from t2i_diffusers.arithmetic import forward, mean_before, noises
from t2i_diffusers.asking import Asked
from t2i_diffusers.giving_up import looks, order, stay
from t2i_diffusers.schedules import Steps, respaced
from t2i_selfeval.estimators import certainty, share, standing

Floats = NDArray[np.float64]
SURE = 10.0
RATES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class World:
    """Images around captions' means.

    means:  float64 (captions, coordinates)
    sd:     of an image's coordinates around its caption's mean
    """

    means: torch.Tensor
    sd: float

    @classmethod
    def of(cls, captions: int, distance: float, coordinates: int = 64, sd: float = 1.0, seed: int = 0) -> World:
        """Return a world whose captions' means lie so far from each other, about."""
        generator = torch.Generator().manual_seed(seed)
        means = torch.randn(captions, coordinates, generator=generator, dtype=torch.float64)
        return cls(distance * means / (2 * coordinates) ** 0.5, sd)

    def image(self, caption: int, seed: int) -> torch.Tensor:
        """Draw an image of a caption."""
        generator = torch.Generator().manual_seed(seed)
        return self.means[caption] + self.sd * torch.randn(
            self.means.shape[1], generator=generator, dtype=torch.float64
        )

    def image_behind(self, x: torch.Tensor, signal: torch.Tensor) -> torch.Tensor:
        """Return E[x_0 | x_t, caption] of each caption, (captions, coordinates): what a perfect model sees."""
        gain = self.sd**2 * signal.sqrt() / (self.sd**2 * signal + 1 - signal)
        return self.means + gain * (x - signal.sqrt() * self.means)

    def noise_in(self, x: torch.Tensor, signal: torch.Tensor) -> torch.Tensor:
        """Return the noise that a perfect denoiser finds in x_t under each caption."""
        return (x - signal.sqrt() * self.image_behind(x, signal)) / (1 - signal).sqrt()


def betas() -> torch.Tensor:
    """Return those of Stable Diffusion."""
    return torch.linspace(0.00085**0.5, 0.012**0.5, 1000, dtype=torch.float64) ** 2


def all_terms(world: World, x0: torch.Tensor, want: Asked) -> Floats:
    """Return log p(x_t-1 | x_t, caption), (trials, steps, captions), as the generator's own chain has it."""
    steps: Steps = respaced(betas(), want.steps)
    wide = Steps(steps.timesteps, *(of[:, None, None] for of in (steps.beta, steps.signal, steps.before)))
    posterior = steps.posterior[:, None, None]
    found = []
    for trial in range(want.trials):
        xs = forward(x0, steps, noises(want.seed, trial, want.steps, x0.shape), "step")[:, None]
        # of all steps at once
        means = mean_before(xs[1:], world.image_behind(xs[1:], wide.signal), wide, slice(None))
        squares = (xs[:-1] - means) ** 2 / posterior + torch.log(2 * torch.pi * posterior)
        found.append(-0.5 * squares.sum(dim=-1))
    return torch.stack(found).numpy()


def given_up(terms: Floats, want: Asked) -> tuple[Floats, int]:
    """Return the terms that would have been asked for, NaN in place of the others, and how many those are."""
    flat = terms.reshape(-1, terms.shape[-1])
    seen = np.full_like(flat, np.nan)
    left, places, done = list(range(flat.shape[1])), order(want), 0
    for look, until in enumerate(looks(want)):
        fresh = np.ix_(places[done:until], left)
        seen[fresh] = flat[fresh]
        done = until
        if done == len(places):
            break
        left = [left[i] for i in stay(flat[places[:done]][:, left], want, look)]
        if len(left) == 1:
            break
    return seen.reshape(terms.shape), int(np.isfinite(seen).sum())


@dataclass(frozen=True)
class Curve:
    """At one error rate: the share of calls, of decisions that are the same, and accuracies, of some samples."""

    rate: float
    samples: int
    calls: float
    same: float
    accuracy: float
    exact: float


def curve(samples: Iterable[tuple[Floats, int]], rates: Iterable[float] = RATES) -> list[Curve]:
    """Return a point for each error rate, of samples' terms and right captions."""
    listed = list(samples)
    return [_point(listed, rate) for rate in rates]


def _point(samples: list[tuple[Floats, int]], rate: float) -> Curve:
    calls = every = same = 0
    accuracy = exact = 0.0
    for terms, answer in samples:
        want = Asked(trials=terms.shape[0], steps=terms.shape[1], error_rate=rate)
        seen, asked = given_up(terms, want)
        calls += asked
        every += terms.size
        few, whole = standing(seen), standing(terms)
        same += int(few.argmax() == whole.argmax())
        accuracy += share(few, answer)
        exact += share(whole, answer)
    n = len(samples)
    return Curve(rate, n, calls / every, same / n, accuracy / n, exact / n)


def toy(count: int, trials: int, steps: int, nearest: float = 0.3) -> Iterator[tuple[Floats, int]]:
    """Yield terms and right captions of samples with two to five captions at distances from `nearest` to 30."""
    want = Asked(trials=trials, steps=steps)
    for n in range(count):
        rng = np.random.default_rng(n)
        captions = int(rng.integers(2, 6))
        answer = int(rng.integers(captions))
        world = World.of(captions, float(np.exp(rng.uniform(np.log(nearest), np.log(30)))), seed=n)
        yield all_terms(world, world.image(answer, n + 1_000_000), want), answer


def of_model(model: str, prompts: str, count: int, trials: int, steps: int) -> Iterator[tuple[Floats, int]]:
    """Yield terms and right captions of a prompt source's samples, all of which a generator is asked for."""
    from t2i_core import Failure, Query
    from t2i_core.images import image_file
    from t2i_core.prompt_files import is_prompt_file, read_prompts
    from t2i_registry import Registry

    source = None if is_prompt_file(prompts) else Registry().component("prompt_source", prompts, {})
    samples = read_prompts(prompts) if source is None else list(source.info.prompts(source.setup()))
    generator = Registry().component("generator", model, {})
    asked = generator.info.create(generator.setup())
    params = {"trials": trials, "steps": steps}
    for sample in random.Random(0).sample(samples, min(count, len(samples))):
        query = Query((image_file(Path(sample.images[0])),), sample.texts, params)
        ((_, answer),) = asked.observe("likelihood", [query])
        if isinstance(answer, Failure):
            raise SystemExit(f"{sample.id}: {answer.reason}")
        yield answer.terms["log_p"], sample.answer


def report(name: str, samples: list[tuple[Floats, int]]) -> None:
    """Print the curve of some samples."""
    print(f"{name}: {len(samples)} samples")
    print("error rate   calls   same decision   accuracy (all terms)")
    for point in curve(samples):
        print(
            f"{point.rate:10g}  {point.calls:6.1%}  {point.same:13.1%}   {point.accuracy:.3f} ({point.exact:.3f})"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--prompts", default="selfeval-mini")
    parser.add_argument("--count", type=int, default=1300)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    size = (given.count, given.trials, given.steps)
    found = list(of_model(given.model, given.prompts, *size) if given.model else toy(*size))
    report("all", found)
    sure = [(terms, answer) for terms, answer in found if certainty(terms) >= SURE][:300]
    if sure:
        report(f"z of at least {SURE:g}", sure)
