"""How often do the 95 % intervals of MAD hold the truth? Of simulated models, whose prompts vote by known shares.

    python plugins/bias/benchmarks/coverage.py

Prints the table of the README, a minute or two on one core: of 2,000 models each with two categories, of 500 with
more, on the 145 prompts of the paper and the 30 of the mini world, in their categories. The seed is fixed.
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


def votes(rng: np.random.Generator, shares: Floats, prompts: tuple[int, ...]) -> pd.DataFrame:
    """One model's votes, as rows of a table of measurements."""
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
    """The interval of a share in a run: over prompts, within their category."""
    return mean_interval(
        rows["value"], rows["prompt"], None, level=level, low=0, high=1, strata=rows["category"].to_numpy(object)
    )


def coverage(shares: Floats, prompts: tuple[int, ...], models: int) -> float:
    """How often the interval of MAD holds that of the shares."""
    rng, truth = np.random.default_rng(0), float(mad(shares))
    held = 0
    for _ in range(models):
        (found,) = estimate_shares(votes(rng, shares, prompts), "vote-share", mean, together=True)
        low, high = mad_range(found.lo, found.hi)
        held += low - 1e-12 <= truth <= high + 1e-12
    return held / models


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=2000, help="with two categories; a quarter with more")
    asked = parser.parse_args()
    print("\n".join(["| shares | MAD | " + " | ".join(LISTS) + " |", "|---|---|---|---|"]))
    for name, parts in SHARES.items():
        shares = np.array(parts)
        of = partial(coverage, shares, models=asked.models if len(parts) == 2 else max(asked.models // 4, 1))
        cells = [name, f"{float(mad(shares)):.3g}", *(f"{100 * of(prompts):.1f} %" for prompts in LISTS.values())]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
