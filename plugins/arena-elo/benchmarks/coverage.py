"""Coverage of 95 % intervals of ratings: 300 simulated tournaments, for each way to them.

    python plugins/arena-elo/benchmarks/coverage.py [--tournaments 300] [--rounds 1000]

Four models of known strengths fight on every prompt, each two in both orders; who is shown first has an advantage.
Battles of one prompt are far from independent: each prompt moves every model's strength, and where people vote,
the taste of each does so too. The truth is what infinitely many prompts and people would give. Prints the table of
the README, in percent but the widths, some minutes on one core. The seeds are fixed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from t2i_arena_elo.battles import Battles
from t2i_arena_elo.metric import Elo
from t2i_arena_elo.options import EloOptions
from t2i_arena_elo.ratings import MEAN, POINTS, rate
from t2i_arena_elo.weighted_ratings import POSITION
from t2i_core.api import Setup
from t2i_core.statistics import Crossing, statistic_intervals

STRENGTHS = np.array([-0.6, -0.1, 0.2, 0.5])
FIRST = 0.3
"""Advantage of being shown first, in log-odds."""

Ends = dict[str, tuple[float, float]]
"""The interval of each model's rating, and of the position."""


@dataclass(frozen=True)
class BattleWorld:
    """Model from which battles are drawn.

    prompts:   how many; each moves every model's strength, normally with the sd `effect`
    people:    how many judge every two images, each with tastes of the sd `taste`; 0: one judge without any
    """

    prompts: int
    effect: float
    people: int = 0
    taste: float = 0.0

    def truth(self) -> dict[str, float]:
        """Ratings and position where the likelihood is greatest of what infinitely many prompts and people say."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        others = ~np.eye(len(STRENGTHS), dtype=bool)
        gaps = np.subtract.outer(STRENGTHS, STRENGTHS)[others] + FIRST
        moved = gaps[:, None] + np.sqrt(2) * np.hypot(self.effect, self.taste) * nodes
        won = (expit(moved) * weights).sum(axis=-1) / weights.sum()

        def unlikely(found: np.ndarray) -> float:
            gap = np.subtract.outer(found[:-1], found[:-1])[others] + found[-1]
            return float(-(won * log_expit(gap) + (1 - won) * log_expit(-gap)).sum() + found[:-1].mean() ** 2)

        *ratings, first = POINTS * minimize(unlikely, np.append(STRENGTHS, FIRST), tol=1e-12).x
        return {f"m{i}": MEAN + rating for i, rating in enumerate(ratings)} | {POSITION: first}

    def drawn(self, rng: np.random.Generator) -> Battles:
        """One tournament."""
        models, judges = len(STRENGTHS), max(self.people, 1)
        a, b = np.triu_indices(models, 1)
        left, right = np.concatenate([a, b]), np.concatenate([b, a])
        pair, judge, prompt = np.meshgrid(range(len(left)), range(judges), range(self.prompts), indexing="ij")
        left, right, judge, prompt = left[pair.ravel()], right[pair.ravel()], judge.ravel(), prompt.ravel()
        moved = STRENGTHS + rng.normal(0, 1, (self.prompts, models)) * self.effect
        taste = rng.normal(0, 1, (judges, models)) * self.taste
        gap = moved[prompt, left] - moved[prompt, right] + taste[judge, left] - taste[judge, right]
        verdict = np.where(rng.random(len(left)) < expit(gap + FIRST), 0, 1)
        return Battles.coded(
            [f"m{i}" for i in range(models)], [f"p{i}" for i in range(self.prompts)],
            left=left, right=right, prompt=prompt, verdict=verdict,
            people=[f"j{i}" for i in range(self.people)], judge=judge,
        )  # fmt: skip


def in_runs(battles: Battles, rounds: int) -> Ends:
    """The intervals that `t2i eval --metric elo` prints: prompts, and people if they voted, reweighted by core."""
    turned = battles.left > battles.right
    names = np.array(battles.models)
    table = pd.DataFrame(
        {
            "model_a": names[np.where(turned, battles.right, battles.left)],
            "model_b": names[np.where(turned, battles.left, battles.right)],
            "prompt": battles.prompt,
            "shown": np.where(turned, "second", "first"),
            "verdict": np.where(battles.verdict == 0, "left", "right"),
        }
    )
    metric = Elo(Setup(None, EloOptions()))
    read = metric.prepare(table)
    people = battles.judge if battles.human.any() else None
    crossed: Crossing = False if people is None else "annotators"
    found = statistic_intervals(
        partial(metric.aggregate, read), table["prompt"], people, crossed=crossed, rounds=rounds
    )
    return {name: (one.lo, one.hi) for name, one in found.items()}


def resampled(battles: Battles, rounds: int) -> Ends:
    """The intervals of `t2i arena tally` and the analyses."""
    return _ends(battles, rounds, "low", "high")


def sandwich(battles: Battles, _: int) -> Ends:
    """The sandwich intervals beside them."""
    return _ends(battles, 2, "sandwich_low", "sandwich_high")


def _ends(battles: Battles, rounds: int, low: str, high: str) -> Ends:
    found = rate(battles, rounds=rounds)
    ends = dict(zip(found.table["model"], zip(found.table[low], found.table[high], strict=True), strict=True))
    if low == "low" and found.position is not None:
        ends[POSITION] = (found.position.low, found.position.high)
    return ends


How = Callable[[Battles, int], Ends]


def coverage(
    world: BattleWorld, how: How, tournaments: int = 300, rounds: int = 1000
) -> tuple[float, float, float]:
    """Return intervals' coverage of ratings and of the position (NaN: none), and ratings' mean width in points."""
    truth = world.truth()
    held: dict[str, list[bool]] = {}
    widths = []
    for seed in range(tournaments):
        for name, (low, high) in how(world.drawn(np.random.default_rng(seed)), rounds).items():
            held.setdefault(name, []).append(low <= truth[name] <= high)
            widths += [high - low] * (name != POSITION)
    position = float(np.mean(held.pop(POSITION))) if POSITION in held else float("nan")
    return float(np.mean(list(held.values()))), position, float(np.mean(widths))


LINES: tuple[tuple[str, BattleWorld, How], ...] = (
    ("`t2i eval`", BattleWorld(40, 1.0), in_runs),
    ("`t2i arena tally`", BattleWorld(40, 1.0), resampled),
    ("the sandwich", BattleWorld(40, 1.0), sandwich),
    ("`t2i eval`, people", BattleWorld(40, 0.5, 12, 0.5), in_runs),
    ("`t2i arena tally`, people", BattleWorld(40, 0.5, 12, 0.5), resampled),
    ("the sandwich, people", BattleWorld(40, 0.5, 12, 0.5), sandwich),
)


def lines(tournaments: int, rounds: int) -> Iterator[str]:
    """The table, line by line."""
    yield "| intervals of | prompts (sd) | people (sd) | ratings held | position held | mean width |"
    yield "|---|---|---|---|---|---|"
    for name, world, how in LINES:
        ratings, position, width = coverage(world, how, tournaments, rounds)
        people = f"{world.people} ({world.taste})" if world.people else ""
        place = "" if np.isnan(position) else f"{100 * position:.1f}"
        cells = (name, f"{world.prompts} ({world.effect})", people, f"{100 * ratings:.1f}", place, f"{width:.0f}")
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tournaments", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=1000)
    asked = parser.parse_args()
    for line in lines(asked.tournaments, asked.rounds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
