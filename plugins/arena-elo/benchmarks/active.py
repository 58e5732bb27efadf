"""Battles drawn by what they tell, beside battles drawn alike: coverage, battles saved, and errors of verdicts.

    python plugins/arena-elo/benchmarks/active.py draws|verdicts|steep [--tournaments 400]

Models of known strengths fight in the rounds that the metric draws (`BattleRounds`), each drawn pair in both
orders. Each prompt moves every model's strength, so battles of one prompt are far from independent, and the image
shown first has an advantage. The truth is what infinitely many prompts and all pairs would give. Prints a table of
the README, some minutes on one core. The seeds are fixed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, stdtrit
from t2i_arena_elo.battle_looks import BattleLook, Goal, look_at, widen
from t2i_arena_elo.battle_rounds import BattleRounds
from t2i_arena_elo.battles import Battles
from t2i_arena_elo.options import EloOptions
from t2i_arena_elo.ratings import POINTS

FIRST = 0.3
"""Advantage of being shown first, in log-odds."""


@dataclass(frozen=True)
class ActiveWorld:
    """Model from which battles are drawn.

    Attributes:
        strengths: Of each model, in log-odds, the best first.
        prompts: Number of prompts.
        effect: Standard deviation by which a prompt moves each model's strength.
    """

    strengths: tuple[float, ...]
    prompts: int
    effect: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(f"m{i}" for i in range(len(self.strengths)))

    def truth(self) -> NDArray[np.float64]:
        """Return the strengths of greatest likelihood if all pairs fought on infinitely many prompts, mean 0."""
        strengths = np.array(self.strengths)
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        others = ~np.eye(len(strengths), dtype=bool)
        gaps = np.subtract.outer(strengths, strengths)[others] + FIRST
        won = (expit(gaps[:, None] + np.sqrt(2) * self.effect * nodes) * weights).sum(axis=-1) / weights.sum()

        def unlikely(found: NDArray[np.float64]) -> float:
            gap = np.subtract.outer(found[:-1], found[:-1])[others] + found[-1]
            return float(-(won * log_expit(gap) + (1 - won) * log_expit(-gap)).sum() + found[:-1].mean() ** 2)

        found = minimize(unlikely, np.append(strengths, FIRST), tol=1e-12).x[:-1]
        return np.asarray(found - found.mean(), np.float64)


@dataclass(frozen=True)
class Tournament:
    """The end of one tournament.

    Attributes:
        look: The strengths at the end.
        looks: Shares of the prompts up to each look.
        battles: Number of battles.
        is_sure: Whether the goal was reached.
    """

    look: BattleLook
    looks: tuple[float, ...]
    battles: int
    is_sure: bool

    def reach(self, repeated: bool) -> NDArray[np.float64]:
        """Return half the width of 95 % intervals, in standard errors, (K, K): as `BattleLook.freedom`."""
        found: NDArray[np.float64] = stdtrit(self.look.freedom, 0.975) * (widen(self.looks) if repeated else 1.0)
        return found


def fight(world: ActiveWorld, options: EloOptions, rng: np.random.Generator) -> Tournament:
    """Run one tournament."""
    rounds = BattleRounds(world.names, options.model_copy(update={"draw_seed": int(rng.integers(2**31))}))
    ids = [f"p{i}" for i in range(world.prompts)]
    rounds.begin(ids)
    moved = np.array(world.strengths) + world.effect * rng.normal(size=(world.prompts, len(world.strengths)))
    pairs = np.array(list(combinations(range(len(world.strengths)), 2)))
    keys = [frozenset((world.names[i], world.names[j])) for i, j in pairs]
    drawn, asked = rng.random((world.prompts, len(pairs))), np.zeros(world.prompts, bool)
    verdicts = rng.random((world.prompts, len(pairs), 2))
    columns: list[tuple[NDArray[np.float64], ...]] = []
    looks: list[float] = []
    while True:
        found = {
            number: each for number, name in enumerate(ids) if (each := rounds.find(name)) and not asked[number]
        }
        asked[list(found)] = True
        (current,) = {id(each): each for each in found.values()}.values()  # each prompt belongs to one round
        looks.append(current.look)
        chances = np.array([current.propensities[key] for key in keys])
        places = np.array(list(found))
        row, part = np.nonzero(drawn[places] < chances)
        number, (i, j) = places[row], pairs[part].T
        for order, (left, right) in enumerate(((i, j), (j, i))):
            odds = expit(moved[number, left] - moved[number, right] + FIRST)
            lost = (verdicts[number, part, order] >= odds).astype(float)
            columns.append((left, right, number, lost, chances[part]))
        left, right, prompt, lost, chance = map(np.concatenate, zip(*columns, strict=True))
        battles = Battles.coded(
            world.names, ids, left=left, right=right, prompt=prompt, verdict=lost, propensity=chance
        )
        if not rounds.add(battles):
            look = look_at(battles, options.ties, options.position)
            assert look is not None
            return Tournament(look, tuple(looks), len(battles), rounds.is_reached)


@dataclass(frozen=True)
class Summary:
    """Means over many tournaments.

    Attributes:
        ratings: Share of the ratings that plain 95 % intervals cover.
        top: The same for the difference of the first two models.
        repeated: Share of the ratings that repeated intervals cover, which hold however often one looks.
        repeated_top: The same for the difference of the first two models.
        error: Standard error of the difference of the first two models, in log-odds.
        cost: Square of that error times the number of battles, which does not depend on this number.
        battles: Number of battles.
        sure: Share of the tournaments that reached the goal.
        wrong: Share of the tournaments that reached the goal with a wrong verdict.
    """

    ratings: float
    top: float
    repeated: float
    repeated_top: float
    error: float
    cost: float
    battles: float
    sure: float
    wrong: float


def summarize(world: ActiveWorld, options: EloOptions, tournaments: int = 400, seed: int = 0) -> Summary:
    """Run tournaments."""
    truth, strengths, lines = world.truth(), np.array(world.strengths), []
    for number in range(tournaments):
        end = fight(world, options, np.random.default_rng((seed, number)))
        look, off = end.look, end.look.theta - truth
        own, error = np.sqrt(np.diag(look.covariance)), look.errors()[0, 1]
        held: list[float] = []
        for reach in (end.reach(repeated=False), end.reach(repeated=True)):
            held += [
                float(np.mean(np.abs(off) <= np.diag(reach) * own)),
                float(abs(off[0] - off[1]) <= reach[0, 1] * error),
            ]
        ranked = strengths[np.argsort(-look.theta)]
        right = ranked[0] > ranked[1:].max() if options.until == "best" else (np.diff(ranked) < 0).all()
        lines.append((*held, error, error**2 * end.battles, end.battles, end.is_sure, end.is_sure and not right))
    return Summary(*np.mean(np.array(lines, float), axis=0).tolist())


def make_ladder(models: int, top: float, step: float = 0.3) -> tuple[float, ...]:
    """Return strengths: the first `top` above the second, the others in equal steps below."""
    return (top, *(-step * place for place in range(models - 1)))


DRAWN: tuple[tuple[int, int, float, float], ...] = (
    (4, 200, 0.5, 0.3),
    (8, 200, 0.5, 0.1),
    (8, 80, 0.5, 0.2),
)
"""Models, prompts, effect of prompts and share."""


def list_draws(tournaments: int) -> Iterator[str]:
    """Yield the table of battles drawn alike and by what they tell."""
    yield (
        "| models, prompts (sd), share | drawn | battles | ratings covered | top difference covered "
        "| its standard error | battles saved |"
    )
    yield "|---|---|---|---|---|---|---|"
    for models, prompts, effect, share in DRAWN:
        world, alike = ActiveWorld(make_ladder(models, 0.3), prompts, effect), None
        for name, options in (
            ("alike", EloOptions(share=share)),
            ("for all differences", EloOptions(share=share, active=True)),
            ("for the best (`until=best`)", EloOptions(share=share, active=True, until="best")),
        ):
            found = summarize(world, options, tournaments)
            alike = alike or found
            held = (found.ratings, found.top) if options.until is None else (found.repeated, found.repeated_top)
            cells = (
                f"{models}, {prompts} ({effect:g}), {share:g}", name, f"{found.battles:.0f}",
                *(f"{100 * each:.1f}" for each in held), f"{POINTS * found.error:.1f}",
                "" if found is alike else f"{1 - found.cost / alike.cost:.0%}",
            )  # fmt: skip
            yield f"| {' | '.join(cells)} |"


ENDED: tuple[tuple[int, float, Goal], ...] = (
    (8, 0.0, "best"),
    (8, 0.5, "best"),
    (8, 1.0, "best"),
)
"""Models, difference of the first two in log-odds, and goal."""


def list_verdicts(tournaments: int) -> Iterator[str]:
    """Yield the table of battles until a goal is reached, on 300 prompts."""
    yield "| models, top difference, until | drawn | battles | goal reached | wrong | ratings covered |"
    yield "|---|---|---|---|---|---|"
    for models, top, goal in ENDED:
        share = 0.1 if models == 8 else 0.3
        world = ActiveWorld(make_ladder(models, top, 0.5), 300, 0.5)
        for active in (False, True):
            found = summarize(world, EloOptions(share=share, active=active, until=goal), tournaments)
            shares = (found.sure, found.wrong, found.repeated)
            cells = (
                f"{models}, {POINTS * top:.0f}, {goal}", "`active`" if active else "alike",
                f"{found.battles:.0f}", *(f"{100 * each:.1f}" for each in shares),
            )  # fmt: skip
            yield f"| {' | '.join(cells)} |"


STEEP = (0.05, 0.1)
"""Shares, for models that differ much."""


def list_steep(tournaments: int) -> Iterator[str]:
    """Yield the table of battles until the best of eight models is sure that differ much, on 300 prompts."""
    yield "| share | battles | goal reached | wrong | ratings covered | top difference covered |"
    yield "|---|---|---|---|---|---|"
    world = ActiveWorld(make_ladder(8, 0.3, 1.0), 300, 0.5)
    for share in STEEP:
        found = summarize(world, EloOptions(share=share, active=True, until="best"), tournaments)
        shares = (found.sure, found.wrong, found.repeated, found.repeated_top)
        cells = (f"{share:g}", f"{found.battles:.0f}", *(f"{100 * each:.1f}" for each in shares))
        yield f"| {' | '.join(cells)} |"


TABLES = {"draws": list_draws, "verdicts": list_verdicts, "steep": list_steep}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=tuple(TABLES))
    parser.add_argument("--tournaments", type=int, default=400)
    given = parser.parse_args()
    for line in TABLES[given.table](given.tournaments):
        print(line, flush=True)


if __name__ == "__main__":
    main()
