"""Coverage of the 95 % intervals of MAD, for simulated models whose prompts vote with known shares.

    python plugins/bias/benchmarks/coverage.py

Prints the table of the README in a minute or two on one core: 2,000 models with two categories and 500 with more,
on the 145 prompts of the paper and the 30 of the mini world, with their categories. The seed is fixed.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import pandas as pd
from t2i_bias.shares import LEVEL, estimate_shares
from t2i_bias.spread import Floats, mad, mad_range
from t2i_core.statistics import Estimate, mean_interval

LISTS = {"145 prompts": (85, 6, 39, 15), "30 prompts": (5, 6, 19)}
"""Prompts by category, of `bias-145` and of `bias-mini`."""

SHARES = {
    ".5, .5": (0.5, 0.5),
    ".6, .4": (0.6, 0.4),
    ".8, .2": (0.8, 0.2),
    ".98, .02": (0.98, 0.02),
    "four alike": (0.25,) * 4,
    ".14, .1, .58, .18": (0.14, 0.1, 0.58, 0.18),
    "eight alike": (0.125,) * 8,
    ".3, seven of .1": (0.3, *[0.1] * 7),
}


def draw_votes(rng: np.random.Generator, shares: Floats, prompts: tuple[int, ...]) -> pd.DataFrame:
    """Draw one model's votes, as rows of a table of measurements."""
    total, answers = sum(prompts), len(shares)
    voted = rng.choice(answers, total, p=shares)
    return pd.DataFrame(
        {
            "measure": "vote-share",
            "group": "g",
            "answer": np.tile([f"g: {answer}" for answer in range(answers)], total),
            "prompt": np.repeat(np.arange(total), answers),
            "category": np.repeat(np.repeat(np.arange(len(prompts)), prompts), answers),
            "value": (voted[:, None] == np.arange(answers)).ravel().astype(np.float64),
        }
    )


def mean(rows: pd.DataFrame, level: float = LEVEL) -> Estimate:
    """Return a share with its interval over prompts within their categories, as a run computes it."""
    return mean_interval(
        rows["value"], rows["prompt"], None, level=level, low=0, high=1, strata=rows["category"].to_numpy(object)
    )


def coverage(shares: Floats, prompts: tuple[int, ...], models: int) -> float:
    """Return how often the interval of MAD contains the true MAD of the shares."""
    rng, truth = np.random.default_rng(0), float(mad(shares))
    held = 0
    for _ in range(models):
        (found,) = estimate_shares(draw_votes(rng, shares, prompts), "vote-share", mean, together=True)
        low, high = mad_range(found.lo, found.hi)
        held += low - 1e-12 <= truth <= high + 1e-12
    return held / models


def main() -> None:
    """Simulate models and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", type=int, default=2000, help="models with two categories; a quarter of it with more"
    )
    arguments = parser.parse_args()
    print("\n".join(["| shares | MAD | " + " | ".join(LISTS) + " |", "|---|---|---|---|"]))
    for name, parts in SHARES.items():
        shares = np.array(parts)
        models = arguments.models if len(parts) == 2 else max(arguments.models // 4, 1)
        covered = partial(coverage, shares, models=models)
        cells = [
            name, f"{float(mad(shares)):.3g}", *(f"{100 * covered(prompts):.1f} %" for prompts in LISTS.values())
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
