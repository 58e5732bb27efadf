"""Cost and benefit of the elimination of captions: denoiser calls against agreement with all terms.

    python plugins/selfeval/benchmarks/elimination.py                 # on a world of Gaussians
    python plugins/selfeval/benchmarks/elimination.py --model mini    # on a model's terms; stored ones are reused
    python plugins/selfeval/benchmarks/elimination.py --model mini --write    # also update docs/elimination.*

Elimination depends only on the terms, so the decisions at any error rate can be computed from all terms. The world
of Gaussians has an exact denoiser; an image is drawn around the mean of the right caption, and the other captions'
means lie at various distances. z is the mean difference between the terms of the best two captions over its
standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from t2i_core import evaluate
from t2i_core.api.figure import ScatterPlot
from t2i_core.results.figures import convert_to_png, draw_svg
from t2i_core.statistics import wilson
from t2i_diffusers.arithmetic import draw_noise, forward, mean_before
from t2i_diffusers.elimination import find_survivors, list_looks, order
from t2i_diffusers.likelihood_params import LikelihoodParams
from t2i_diffusers.schedules import Steps, respace
from t2i_selfeval.estimators import certainty, score_remaining, share
from t2i_selfeval.metrics import SelfEval
from t2i_selfeval.plugin import t2i_metrics
from t2i_selfeval.queries import NEED

Floats = NDArray[np.float64]
SURE = 10.0
RATES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2)
DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class CaptionWorld:
    """Images that are Gaussians around their captions' means.

    Attributes:
        means: float64 of shape (captions, coordinates).
        sd: Standard deviation of an image's coordinates around its caption's mean.
    """

    means: torch.Tensor
    sd: float

    @classmethod
    def of(
        cls, captions: int, distance: float, coordinates: int = 64, sd: float = 1.0, seed: int = 0
    ) -> CaptionWorld:
        """Return a world whose captions' means lie about a given distance apart."""
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
        """Return E[x_0 | x_t, caption] of each caption, the exact prediction: shape (captions, coordinates)."""
        gain = self.sd**2 * signal.sqrt() / (self.sd**2 * signal + 1 - signal)
        return self.means + gain * (x - signal.sqrt() * self.means)

    def noise_in(self, x: torch.Tensor, signal: torch.Tensor) -> torch.Tensor:
        """Return the exact prediction of the noise in x_t under each caption."""
        return (x - signal.sqrt() * self.image_behind(x, signal)) / (1 - signal).sqrt()


def betas() -> torch.Tensor:
    """Return the betas of Stable Diffusion."""
    return torch.linspace(0.00085**0.5, 0.012**0.5, 1000, dtype=torch.float64) ** 2


def all_terms(world: CaptionWorld, x0: torch.Tensor, want: LikelihoodParams) -> Floats:
    """Return log p(x_t-1 | x_t, caption) in the generator's chain: shape (trials, steps, captions)."""
    steps: Steps = respace(betas(), want.steps)
    wide = Steps(steps.timesteps, *(of[:, None, None] for of in (steps.beta, steps.signal, steps.before)))
    posterior = steps.posterior[:, None, None]
    found = []
    for trial in range(want.trials):
        xs = forward(x0, steps, draw_noise(want.seed, trial, want.steps, x0.shape), "step")[:, None]
        # of all steps at once
        means = mean_before(xs[1:], world.image_behind(xs[1:], wide.signal), wide, slice(None))
        squares = (xs[:-1] - means) ** 2 / posterior + torch.log(2 * torch.pi * posterior)
        found.append(-0.5 * squares.sum(dim=-1))
    return torch.stack(found).numpy()


def eliminate(terms: Floats, want: LikelihoodParams) -> tuple[Floats, int]:
    """Return the terms that elimination leaves, with NaN in place of the others, and their number."""
    flat = terms.reshape(-1, terms.shape[-1])
    seen = np.full_like(flat, np.nan)
    left, places, done = list(range(flat.shape[1])), order(want), 0
    for look, until in enumerate(list_looks(want)):
        fresh = np.ix_(places[done:until], left)
        seen[fresh] = flat[fresh]
        done = until
        if done == len(places):
            break
        left = [left[i] for i in find_survivors(flat[places[:done]][:, left], want, look, flat.shape[1])]
        if len(left) == 1:
            break
    return seen.reshape(terms.shape), int(np.isfinite(seen).sum())


@dataclass(frozen=True)
class Point:
    """Result at one error rate.

    Attributes:
        error_rate: The error rate.
        samples: Number of samples.
        calls: Share of the denoiser calls that are made.
        same: Share of the samples with the same decision as by all terms.
        same_low: Lower end of its Wilson interval over samples.
        same_high: Upper end.
        accuracy: Accuracy with elimination.
        accuracy_by_all_terms: Accuracy by all terms.
    """

    error_rate: float
    samples: int
    calls: float
    same: float
    same_low: float
    same_high: float
    accuracy: float
    accuracy_by_all_terms: float


Samples = list[tuple[Floats, int]]
"""All terms of each sample, of shape (trials, steps, captions), and the index of the right caption."""


def curve(samples: Samples, rates: Iterable[float] = RATES) -> list[Point]:
    """Return a point for each error rate."""
    return [_point(samples, rate) for rate in rates]


def _point(samples: Samples, rate: float) -> Point:
    calls = every = same = 0
    accuracy = exact = 0.0
    for terms, answer in samples:
        want = LikelihoodParams(trials=terms.shape[0], steps=terms.shape[1], error_rate=rate)
        seen, evaluated = eliminate(terms, want)
        calls += evaluated
        every += terms.size
        few, whole = score_remaining(seen), score_remaining(terms)
        same += int(few.argmax() == whole.argmax())
        accuracy += share(few, answer)
        exact += share(whole, answer)
    n = len(samples)
    return Point(rate, n, calls / every, same / n, *wilson(same, n), accuracy / n, exact / n)


def sure(samples: Samples, most: int = 300) -> Samples:
    """Return the first samples whose z is at least `SURE`."""
    return [(terms, answer) for terms, answer in samples if certainty(terms) >= SURE][:most]


def toy(count: int, trials: int, steps: int, nearest: float = 0.3) -> Iterator[tuple[Floats, int]]:
    """Yield terms and right captions of samples with two to five captions at distances from `nearest` to 30."""
    want = LikelihoodParams(trials=trials, steps=steps)
    for n in range(count):
        rng = np.random.default_rng(n)
        captions = int(rng.integers(2, 6))
        answer = int(rng.integers(captions))
        world = CaptionWorld.of(captions, float(np.exp(rng.uniform(np.log(nearest), np.log(30)))), seed=n)
        yield all_terms(world, world.image(answer, n + 1_000_000), want), answer


def of_model(model: str, prompts: str, count: int | None, trials: int, steps: int) -> Samples:
    """Return the samples of a prompt source with all terms of a model; terms in the cache are reused.

    Args:
        model: Name of the model.
        prompts: Name of the prompt source.
        count: Maximum number of samples, as in `--limit`.
        trials: Number of trials.
        steps: Number of steps.
    """
    found: Samples = []

    class Keeping(SelfEval):
        def measure(self, unit: Any) -> Iterator[Any]:
            observed = unit.one()
            found.append((observed.one(NEED).terms["log_p"], observed.prompt.answer))
            yield from super().measure(unit)

    (info,) = (info for info in t2i_metrics() if info.name == "selfeval")
    options = {"trials": trials, "steps": steps, "exact": True}
    with TemporaryDirectory() as folder:
        evaluate(
            replace(info, create=Keeping), model, prompts=prompts, limit=count, out=Path(folder) / "run",
            options={"selfeval": options},
        )  # fmt: skip
    return found


def table(name: str, samples: Samples) -> pd.DataFrame:
    """Return the curves of all samples, and of those with a z of at least `SURE`."""
    parts = {"all": samples, f"z at least {SURE:g}": sure(samples)}
    lines = [
        {"of": name, "which": which, **asdict(point)}
        for which, part in parts.items()
        if part
        for point in curve(part)
    ]
    return pd.DataFrame(lines)


def write(found: pd.DataFrame) -> None:
    """Replace the curves of the same name in docs/elimination.csv, and draw all curves of the file."""
    file = DOCS / "elimination.csv"
    if file.exists():
        kept = pd.read_csv(file)
        found = pd.concat([kept[~kept["of"].isin(found["of"])], found])
    found = found.sort_values(["of", "which", "error_rate"])
    found.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
    (DOCS / "elimination.png").write_bytes(convert_to_png(draw_svg(plot(found), found)))


def plot(found: pd.DataFrame) -> ScatterPlot:
    """Return a curve for each set of samples, with error rates beside its ends and middle."""
    percent = found.assign(
        samples_of=[f"{line.of}, {line.which} ({line.samples:,} samples)" for line in found.itertuples()],
        rate=[f"{rate:g}" if rate in (RATES[0], 0.05, RATES[-1]) else "" for rate in found["error_rate"]],
        **{name: 100 * found[name] for name in ("calls", "same", "same_low", "same_high")},
    )
    return ScatterPlot(
        x="calls", y="same", interval=("same_low", "same_high"), label="rate", colour="samples_of",
        curve="samples_of",
        reference=99, at=20, data=percent, hover=["error_rate"],
        x_title="calls of the denoiser, per cent of those that all terms take (error rates beside)",
        y_title="same decision as by all terms, per cent",
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--prompts", default="selfeval-mini")
    parser.add_argument("--count", type=int, help="maximum number of samples; default for Gaussians: 1300")
    parser.add_argument("--trials", type=int, help="default: 10 for Gaussians, 2 for a model")
    parser.add_argument("--steps", type=int, help="default: 100 for Gaussians, 25 for a model")
    parser.add_argument("--write", action="store_true", help="update docs/elimination.csv and .png")
    given = parser.parse_args()
    if given.model:
        size = given.count, given.trials or 2, given.steps or 25
        name, samples = given.model, of_model(given.model, given.prompts, *size)
    else:
        size = given.count or 1300, given.trials or 10, given.steps or 100
        name, samples = "Gaussians", list(toy(*size))
    of_all = table(name, samples)
    print(of_all.to_string(index=False, float_format="%.4g"))
    print(f"{len(sure(samples, len(samples)))} of {len(samples)} samples have a z of at least {SURE:g}")
    if given.write:
        write(of_all)
