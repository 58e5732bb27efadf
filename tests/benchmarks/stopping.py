"""Errors, coverage and images of runs that stop by themselves, in simulated worlds.

    python tests/benchmarks/stopping.py [--runs 4000] [--looks 5] [--widths]

Two models draw right and wrong images of the same prompts under the same seeds. Prompts and, where seeds have an
effect, seeds differ in how easy they are, for both models and for each. The design's difference is what the whole
run, without looks, shows with power .9; it is the margin within which models count as close. Prints a line of a
Markdown table for each cell; with `--widths` the coverage of intervals of runs that stop for their width. Takes
about an hour of one core; the seeds are fixed.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, stdtrit
from t2i_core.statistics.interval_width import follow_width
from t2i_core.statistics.looks import LOOKS, plan_looks
from t2i_core.statistics.power import find_power
from t2i_core.statistics.variance_components import Components, analyze_mean_squares
from t2i_core.statistics.verdicts import ALPHA, follow_pairs

Floats = NDArray[np.float64]

SEEDS = 16
POWER = 0.9
"""Power of the whole run, without looks, at the design's difference, which is the margin, too."""

SHARES = (0.0, 0.5, 1.0, 1.5)
"""True differences, as shares of the design's."""

PAIR = ("a", "b")

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class World:
    """Two models and a design.

    Attributes:
        score: Score of the first model, in (0, 1).
        prompts: Number of prompts of the whole run.
        seed_sd: Standard deviation of the effect of seeds on both models, in logits.
        difference: How far the second model's score lies below the first one's.
    """

    score: float
    prompts: int
    seed_sd: float = 0.5
    difference: float = 0.0

    def draw(self, runs: int, rng_seed: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield values of both models, shape (prompts, seeds) each, for each run."""
        own = 0.5
        common_sd, other_sd = math.hypot(1, self.seed_sd), math.hypot(1, self.seed_sd, own, own * self.seed_sd)
        ease = find_logit(self.score, common_sd)
        loss = ease - find_logit(self.score - self.difference, other_sd)
        rng, shape = np.random.default_rng(rng_seed), (self.prompts, SEEDS)
        for _ in range(runs):
            common = ease + rng.normal(0, 1, (self.prompts, 1)) + self.seed_sd * rng.normal(0, 1, (1, SEEDS))
            other = rng.normal(0, own, (self.prompts, 1)) + own * self.seed_sd * rng.normal(0, 1, (1, SEEDS))
            first, second = rng.random(shape) < expit(common), rng.random(shape) < expit(common - loss + other)
            yield first.astype(np.float64), second.astype(np.float64)


@cache
def find_logit(score: float, sd: float) -> float:
    """Return the mean of normal logits whose images are right in this share."""
    return float(brentq(lambda mean: float(WEIGHTS @ expit(mean + sd * NODES)) - score, -20, 20))


def find_mean_squares(table: Floats) -> tuple[float, float, float]:
    """Return the mean squares of prompts, of seeds and of what is left."""
    prompts, seeds = table.shape
    by_prompt, by_seed, mean = table.mean(1), table.mean(0), table.mean()
    rest = table - by_prompt[:, None] - by_seed + mean
    return (
        seeds * float(np.square(by_prompt - mean).sum()) / (prompts - 1),
        prompts * float(np.square(by_seed - mean).sum()) / (seeds - 1),
        float(np.square(rest).sum()) / ((prompts - 1) * (seeds - 1)),
    )


def find_components(world: World, runs: int = 400) -> Components:
    """Return the variance components of the paired differences of a world."""
    squares = np.mean([find_mean_squares(a - b) for a, b in world.draw(runs, 1)], axis=0)
    return analyze_mean_squares(*map(float, squares), world.prompts, SEEDS, crossed=True)


def find_design_difference(world: World) -> tuple[float, Components]:
    """Return the difference that the whole run shows with power .9, and the components under it."""
    difference = 0.0
    for _ in range(4):
        components = find_components(replace(world, difference=difference))
        most = min(0.5, world.score - 0.01)

        def miss(margin: float, found: Components = components) -> float:
            return find_power(found, world.prompts, SEEDS, margin) - POWER

        difference = float(brentq(miss, 1e-4, most)) if miss(most) > 0 else most
    return difference, components


def find_fixed_images(components: Components, difference: float, power: float) -> int:
    """Return the images of the smallest run without looks that has this power."""
    prompts = next(n for n in range(5, 10_000) if find_power(components, n, SEEDS, difference) >= power)
    return prompts * SEEDS


@dataclass(frozen=True)
class Outcome:
    """Shares and means over the runs of one cell.

    Attributes:
        decided: Share of runs in which one model is higher.
        close: Share of runs in which they are closer than the margin.
        fixed: Share that the whole run's plain test decides.
        told: Coverage of the interval that is told at the stop.
        repeated: Share of runs whose repeated intervals all cover the difference.
        images: Mean number of images of each model.
    """

    decided: float
    close: float
    fixed: float
    told: float
    repeated: float
    images: float


def simulate(world: World, margin: float, runs: int, count: int = LOOKS, rng_seed: int = 2) -> Outcome:
    """Follow runs from look to look."""
    looks, truth = plan_looks(world.prompts, SEEDS, count), world.difference
    found = []
    for first, second in world.draw(runs, rng_seed):
        table = first - second
        family = follow_pairs(
            lambda pair, look, table=table: table, PAIR, looks, looks[-1], bounds=(-1, 1), margin=margin
        )
        seen = [look.pairs[PAIR] for look in family.looks]
        found.append(
            (
                seen[-1].decision in ("higher", "lower"),
                seen[-1].decision == "close",
                test_whole(table),
                family.tests[PAIR].covers(truth, ALPHA),
                all(look.lo <= truth <= look.hi for look in seen),
                seen[-1].look.images,
            )
        )
    return Outcome(*(float(each) for each in np.mean(found, axis=0)))


def test_whole(table: Floats) -> bool:
    """Return whether the plain paired test of a full rectangle finds a difference."""
    prompts, seeds = table.shape
    images, (of_prompts, of_seeds, rest) = table.size, find_mean_squares(table)
    total = (prompts - 1) * of_prompts + (seeds - 1) * of_seeds + (prompts - 1) * (seeds - 1) * rest
    terms = of_prompts / images, of_seeds / images, total / (images - 1) / images
    variance = max(terms[0] + terms[1] - terms[2], terms[0], terms[1])
    if variance == 0:
        return False
    spread = sum(each**2 / df for each, df in zip(terms, (prompts - 1, seeds - 1, images - 1), strict=True))
    df = max(variance**2 / spread, min(prompts, seeds) - 1)
    return bool(abs(table.mean()) > stdtrit(df, 0.975) * math.sqrt(variance))


def list_worlds() -> Iterator[World]:
    """Yield the worlds of the table."""
    for score in (0.6, 0.9, 0.98):
        yield World(score, 100)
    for prompts in (20, 500):
        yield World(0.9, prompts)
    for score in (0.6, 0.9, 0.98):
        yield World(score, 100, seed_sd=0.0)


def print_stops(runs: int, count: int) -> None:
    """Print the table of tests that may stop early."""
    print(f"{runs:,} runs a cell; {SEEDS} seeds; {count} looks", flush=True)
    print(
        "| score | seed sd | prompts | true difference | decided | close | whole run | told | repeated | images "
        "| saved |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for world in list_worlds():
        difference, components = find_design_difference(world)
        outcomes = {
            share: simulate(replace(world, difference=share * difference), difference, runs, count)
            for share in SHARES
        }
        equal = POWER + outcomes[1.0].decided - outcomes[1.0].fixed
        fixed = find_fixed_images(components, difference, equal)
        for share, own in outcomes.items():
            cells = (
                f"{world.score:g}", f"{world.seed_sd:g}", f"{world.prompts}",
                f"{share:g} ({share * difference:.3f})", f"{own.decided:.3f}", f"{own.close:.3f}",
                f"{own.fixed:.3f}",
                f"{own.told:.3f}", f"{own.repeated:.3f}", f"{own.images:.0f}", f"{1 - own.images / fixed:.0%}",
            )  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


def simulate_widths(world: World, width: float, runs: int) -> tuple[float, float, float]:
    """Return the coverage of runs that stop for their width, that of whole runs, and the mean images."""
    looks, score = plan_looks(world.prompts, SEEDS), world.score
    found = []
    for table, _ in world.draw(runs, 3):
        estimates = follow_width(table, looks, width, bounds=(0, 1))
        last, whole = estimates[-1], follow_width(table, looks[-1:], width, bounds=(0, 1))[-1]
        images = looks[len(estimates) - 1].images
        found.append((last.lo <= score <= last.hi, whole.lo <= score <= whole.hi, images))
    covered, fixed, images = map(float, np.mean(found, axis=0))
    return covered, fixed, images


def print_widths(runs: int) -> None:
    """Print the coverage of intervals of runs that stop for their width."""
    print(f"{runs:,} runs a cell; {SEEDS} seeds", flush=True)
    print("| score | seed sd | prompts | width | coverage | whole run | images |", flush=True)
    print("|---|---|---|---|---|---|---|", flush=True)
    for prompts, width in ((100, 0.1), (500, 0.05), (100, 0.2), (500, 0.1)):
        for score in (0.02, 0.1, 0.6, 0.9, 0.98):
            for seed_sd in (0.5, 0.0):
                covered, fixed, images = simulate_widths(World(score, prompts, seed_sd), width, runs)
                cells = f"{score:g}", f"{seed_sd:g}", f"{prompts}", f"{width:g}", f"{covered:.3f}", f"{fixed:.3f}"
                print(f"| {' | '.join(cells)} | {images:.0f} of {prompts * SEEDS} |", flush=True)


def main() -> None:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000, help="runs of each cell")
    parser.add_argument("--looks", type=int, default=LOOKS, help="number of looks")
    parser.add_argument("--widths", action="store_true", help="runs that stop for their width")
    given = parser.parse_args()
    if given.widths:
        print_widths(given.runs)
    else:
        print_stops(given.runs, given.looks)


if __name__ == "__main__":
    main()
