"""Simulated coverage of scores that people's labels correct, on judges with known errors.

The short form runs with every test run; the long form (`-m slow`) takes 4,000 worlds for each line of the section
of docs/coverage.md that this file prints when run as a script:

    python core/tests/statistics/test_correction_coverage.py >> docs/coverage.md
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from t2i_core.statistics import (
    CorrectedEstimate,
    Estimate,
    PairedDifference,
    allocate_labels,
    corrected_difference,
    corrected_mean,
    corrected_statistic_differences,
    corrected_statistics,
    draw_labels,
    power_tuning,
)

LONG, SHORT, REWEIGHTED = 4000, 300, 400
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
LOWER = 0.08  # how far the second model's score lies below the first one's
Found = tuple[CorrectedEstimate[Estimate] | CorrectedEstimate[PairedDifference], float]


@dataclass(frozen=True)
class World:
    """Logit-normal prompt and seed effects around a true score, a judge that errs, and people who do not."""

    prompts: int
    seeds: int
    score: float
    labels: int
    prompt_sd: float = 1.0
    seed_sd: float = 0.5
    drawing: str = "simple"  # or by the judge's "outcome", or in two "waves", the second by allocate_labels
    false_positive: float = 0.1
    false_negative: float = 0.15
    shape: str = "mean"

    @property
    def effect(self) -> bool:
        return bool(self.prompt_sd or self.seed_sd)

    @property
    def line(self) -> str:
        score = "" if math.isnan(self.score) else f"{self.score:g}"
        return f"{self.prompts} x {self.seeds} | {self.prompt_sd:g}, {self.seed_sd:g} | {score} | {self.labels}"


@cache
def centre(score: float, sd: float) -> float:
    """The logit at which a logit-normal with this sd has this mean."""
    return float(brentq(lambda mu: WEIGHTS @ expit(mu + sd * NODES) - score, -40, 40))


def judge(y: np.ndarray, false_positive: float, false_negative: float, rng: np.random.Generator) -> np.ndarray:
    u = rng.random(y.shape)
    return np.where(y == 1, u >= false_negative, u < false_positive).astype(float)


def draw(world: World, stratum: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, dict]:
    """Which rows are labelled, and the arguments that say how they were drawn."""
    key, n = int(rng.integers(2**31)), len(y)
    known = np.zeros(n, bool)
    if world.drawing == "simple":
        known[draw_labels(n, world.labels, rng_seed=key).rows] = True
        return known, {}
    first = world.labels if world.drawing == "outcome" else world.labels // 2
    known[draw_labels(n, first, strata=stratum, rng_seed=key).rows] = True
    if world.drawing == "waves":
        labels = np.where(known, y, np.nan)
        sizes = allocate_labels(stratum, labels, stratum, world.labels - first).sizes
        known[draw_labels(n, sizes, strata=stratum, labelled=known, rng_seed=key).rows] = True
    return known, {"label_strata": stratum}


def mean(world: World, rng: np.random.Generator) -> Found:
    shape = (world.prompts, world.seeds)
    mu = centre(world.score, math.hypot(world.prompt_sd, world.seed_sd))
    a = world.prompt_sd * rng.standard_normal((world.prompts, 1))
    b = world.seed_sd * rng.standard_normal((1, world.seeds))
    y = (rng.random(shape) < expit(mu + a + b)).astype(float).ravel()
    f = judge(y, world.false_positive, world.false_negative, rng)
    prompt, seed = (each.ravel() for each in np.indices(shape))
    known, how = draw(world, f, y, rng)
    return corrected_mean(f, np.where(known, y, np.nan), prompt, seed, **how), world.score


def difference(world: World, rng: np.random.Generator) -> Found:
    """Two models that share prompts and seeds; the judge errs on them in opposite ways and ranks them wrongly."""
    own = 0.5
    sd = math.hypot(world.prompt_sd, world.seed_sd, own)
    a = world.prompt_sd * rng.standard_normal((world.prompts, 1))
    b = world.seed_sd * rng.standard_normal((1, world.seeds))
    shape = (world.prompts, world.seeds)
    scores = (world.score, world.score - LOWER)
    y_a, y_b = (
        (rng.random(shape) < expit(centre(score, sd) + a + b + own * rng.standard_normal((world.prompts, 1))))
        .astype(float)
        .ravel()
        for score in scores
    )
    f_a = judge(y_a, world.false_positive, world.false_negative, rng)
    f_b = judge(y_b, world.false_negative, world.false_positive / 4, rng)
    prompt, seed = (each.ravel() for each in np.indices(shape))
    known, how = draw(world, f_a - f_b, y_a - y_b, rng)
    labels = [np.where(known, y, np.nan) for y in (y_a, y_b)]
    return corrected_difference(f_a, f_b, *labels, prompt, seed, **how), LOWER


def ratio(world: World, rng: np.random.Generator) -> Found:
    """The share of found objects that have their colour, true .7; the judge errs on finding and on colour."""
    shape = (world.prompts, world.seeds)
    sd = math.hypot(world.prompt_sd, world.seed_sd)

    def outcome(score: float) -> np.ndarray:
        a = world.prompt_sd * rng.standard_normal((world.prompts, 1))
        b = world.seed_sd * rng.standard_normal((1, world.seeds))
        return (rng.random(shape) < expit(centre(score, sd) + a + b)).astype(float).ravel()

    found, right = outcome(world.score), outcome(0.7)
    right *= found
    f_found = judge(found, world.false_positive, world.false_negative, rng)
    f_right = f_found * judge(right, world.false_positive, world.false_negative, rng)
    prompt, seed = (each.ravel() for each in np.indices(shape))
    known, how = draw(world, f_found + f_right, found + right, rng)

    def share(hits: np.ndarray, of: np.ndarray) -> Callable[[np.ndarray], dict[str, float]]:
        return lambda w: {"binding": float(np.dot(w, hits) / np.dot(w, of)) if np.dot(w, of) > 0 else math.nan}

    corrections = corrected_statistics(
        share(f_right, f_found),
        share(right * known, found * known),
        known,
        prompt,
        seed,
        answers=right,
        ranges={"binding": (0, 1)},
        rounds=200,
        **how,
    )
    return corrections["binding"], 0.7


MODELS = 4
STRENGTHS = np.array([0.9, 0.3, -0.3, -0.9])
LEFT, RIGHT = np.triu_indices(MODELS, 1)
SIGNS = np.eye(MODELS)[LEFT] - np.eye(MODELS)[RIGHT]
OWN = 0.5  # sd of each model's strength by prompt


def fit(fought: np.ndarray, won: np.ndarray) -> np.ndarray:
    """Bradley-Terry strengths of mean 0 from battles and wins of LEFT over RIGHT by Newton; NaN if none."""
    beats = np.zeros((MODELS, MODELS), bool)
    beats[LEFT, RIGHT], beats[RIGHT, LEFT] = won > 0, fought - won > 0
    reach = beats | np.eye(MODELS, dtype=bool)
    for _ in range(2):
        reach = reach @ reach
    if not reach.all():
        return np.full(MODELS, math.nan)
    theta = np.zeros(MODELS)
    for _ in range(50):
        p = expit(theta[LEFT] - theta[RIGHT])
        slope, curve = won - fought * p, fought * p * (1 - p)
        gradient = SIGNS.T @ slope
        hessian = (SIGNS.T * curve) @ SIGNS + fought.sum() / MODELS
        step = np.linalg.solve(hessian, gradient)
        theta = theta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    return theta - theta.mean()


@cache
def true_strength() -> float:
    """What the fit tends to with many battles: strengths of models whose strength varies by prompt."""
    gaps = STRENGTHS[LEFT] - STRENGTHS[RIGHT]
    chance = expit(gaps[:, None] + OWN * math.sqrt(2) * NODES) @ WEIGHTS
    theta = fit(np.ones(len(gaps)), chance)
    return float(theta[0] - theta[1])


def rating(world: World, rng: np.random.Generator) -> Found:
    """The difference of two Bradley-Terry strengths, every pair of four models on every prompt; the judge favours
    the second model in a part of the battles that it lost."""
    strength = STRENGTHS + OWN * rng.standard_normal((world.prompts, MODELS))
    pairs = len(LEFT)
    y = (rng.random((world.prompts, pairs)) < expit(strength[:, LEFT] - strength[:, RIGHT])).astype(float).ravel()
    f = judge(y, world.false_positive, world.false_negative, rng)
    favoured = np.tile(LEFT == 0, world.prompts) & np.tile(RIGHT == 1, world.prompts)
    f = np.where(favoured & (rng.random(len(f)) < 0.5), 0.0, f)
    pair = np.tile(np.arange(pairs), world.prompts)
    prompt = np.repeat(np.arange(world.prompts), pairs)
    known, how = draw(world, f, y, rng)

    def strengths(won: np.ndarray) -> Callable[[np.ndarray], dict[str, float]]:
        def statistic(w: np.ndarray) -> dict[str, float]:
            theta = fit(np.bincount(pair, w, pairs), np.bincount(pair, w * won, pairs))
            return {str(k): float(value) for k, value in enumerate(theta)}

        return statistic

    found = corrected_statistic_differences(
        strengths(f), strengths(y * known), known, [("0", "1")], prompt, None, answers=y, rounds=200, **how
    )
    return found["0", "1"], true_strength()


Simulate = Callable[[World, np.random.Generator], Found]
SHAPES: dict[str, Simulate] = {"mean": mean, "difference": difference, "ratio": ratio, "rating": rating}


@dataclass(frozen=True)
class Coverage:
    """Shares of the worlds, and means over those that were corrected (NaN if none was)."""

    corrected: float
    covered: float  # the reported interval, corrected or the labels' own, holds the truth
    covered_corrected: float
    covered_judge: float
    covered_labels: float
    width: float
    width_labels: float
    worth: float


def holds(estimate: Estimate | PairedDifference, truth: float) -> bool:
    return bool(estimate.lo - 1e-12 <= truth <= estimate.hi + 1e-12)


def coverage(world: World, simulations: int) -> Coverage:
    rng = np.random.default_rng(20250101)
    done, reported, by_judge, by_labels, widths = 0, 0, 0, 0, []
    for _ in range(simulations):
        found, truth = SHAPES[world.shape](world, rng)
        reported += holds(found.best, truth)
        by_judge += holds(found.judge, truth)
        by_labels += holds(found.labels, truth)
        if found.corrected is not None:
            done += holds(found.corrected, truth)
            width = [each.hi - each.lo for each in (found.corrected, found.labels)]
            widths.append([*width, found.gain])
    middle = np.nanmean(widths, axis=0).tolist() if widths else [math.nan] * 3
    share = len(widths) / simulations
    return Coverage(
        share,
        reported / simulations,
        done / len(widths) if widths else math.nan,
        by_judge / simulations,
        by_labels / simulations,
        *middle,
    )


def bars(world: World, simulations: int, corrected: float) -> tuple[float, float]:
    """What coverage must lie between: two Monte-Carlo errors around the bars."""
    slack = 2 * math.sqrt(0.05 * 0.95 / simulations)
    main = world.shape == "mean" and world.prompts < 500 and world.false_positive < 0.4
    return 0.93 - slack, 0.97 + slack if main and world.effect and corrected > 0.9 else 1.0


def _each(*worlds: World) -> list[World]:
    return [
        replace(world, score=score, labels=labels)
        for world in worlds
        for score in (0.6, 0.9, 0.98)
        for labels in (50, 100, 300)
    ]


CROSSED = [World(100, 8, 0, 0), World(100, 8, 0, 0, 0.0, 0.0), World(20, 16, 0, 0)]
SIMPLE = _each(*CROSSED)
OUTCOME = _each(*(replace(world, drawing="outcome") for world in CROSSED))
WAVES = [World(100, 8, 0.9, labels, drawing="waves") for labels in (50, 100, 300)]
ACCURATE = [
    World(500, 16, score, labels, sd, seed_sd, drawing, 0.0, 0.02)
    for sd, seed_sd in ((1.0, 0.5), (0.0, 0.0))
    for drawing, score in (("simple", 0.6), ("outcome", 0.9))
    for labels in (50, 100)
]
POOR = [World(100, 8, 0.6, labels, false_positive=0.45, false_negative=0.45) for labels in (50, 100, 300)]
PAIRED = _each(*(World(100, 8, 0, 0, shape="difference", drawing=how) for how in ("simple", "outcome")))
RATIO = [World(100, 8, 0.8, labels, shape="ratio") for labels in (50, 100, 300)]
RATING = [World(100, 1, math.nan, labels, OWN, 0.0, shape="rating") for labels in (50, 100, 300)]
MAIN = {"Labels drawn simply": SIMPLE, "As many labels where the judge said yes as where it said no": OUTCOME}
OTHERS = {
    "Half of the labels by the judge's outcome, the others where `allocate_labels` puts them": WAVES,
    "A judge that is nearly always right (no false positives, 2 % false negatives); score .9 by outcome": ACCURATE,
    "A judge that tells next to nothing (.45 false positives and negatives)": POOR,
    "Paired difference of two models, the second .08 lower; then drawn by the judge's difference": PAIRED,
    "A ratio by reweighting, 200 rounds (`corrected_statistics`)": RATIO,
    "The difference of two Bradley-Terry strengths, by reweighting (`corrected_statistic_differences`)": RATING,
}


def simulations(world: World) -> int:
    return REWEIGHTED if world.shape in ("ratio", "rating") else LONG


def check(world: World, count: int) -> None:
    found = coverage(world, count)
    least, most = bars(world, count, found.corrected)
    assert least <= found.covered <= most, f"{world}: {found}, must lie in {least:.4f} to {most:.4f}"


@pytest.mark.long
@pytest.mark.parametrize("world", [SIMPLE[0], SIMPLE[5], OUTCOME[4], ACCURATE[4], PAIRED[0]], ids=str)
def test_corrected_intervals_hold(world: World) -> None:
    check(world, SHORT)


def test_the_judge_alone_does_not_hold_and_labels_alone_are_wider() -> None:
    found = coverage(SIMPLE[1], SHORT)
    assert found.covered_judge < 0.85
    assert found.width < 0.9 * found.width_labels
    assert found.worth > 1.5


def test_a_judge_that_tells_nothing_gains_nothing_and_loses_little() -> None:
    found = coverage(POOR[1], 100)
    assert 0.9 < found.worth < 1.1
    assert found.width < 1.05 * found.width_labels


def test_a_ranking_that_the_judge_gets_wrong_is_put_right() -> None:
    rng = np.random.default_rng(1)
    found = [difference(World(100, 8, 0.6, 300, shape="difference"), rng)[0] for _ in range(20)]
    assert sum(each.judge.diff < 0 for each in found) >= 15
    assert all(each.best.diff > 0 for each in found)


@pytest.mark.long
def test_the_simulation_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """If only errors that were seen count, the intervals of a judge that is nearly always right are short."""
    world = ACCURATE[4]
    monkeypatch.setattr(power_tuning, "PSEUDO_ERRORS", 0.0)
    assert coverage(world, SHORT).covered < 0.85


@pytest.mark.slow
@pytest.mark.parametrize(
    "world", [world for group in (*MAIN.values(), *OTHERS.values()) for world in group], ids=str
)
def test_corrected_intervals_hold_long(world: World) -> None:
    check(world, simulations(world))


COLUMNS = (
    "prompts x seeds",
    "sds",
    "score",
    "labels",
    "corrected",
    "covered",
    "of those corrected",
    "labels alone",
    "judge alone",
    "width",
    "labels' width",
    "worth",
)
HEAD = (f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS))


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f}"


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _row(world: World) -> str:
    found = coverage(world, simulations(world))
    least, most = bars(world, simulations(world), found.corrected)
    mark = "" if least <= found.covered <= most else " (outside its bar)"
    cells = [
        world.line,
        _percent(found.corrected),
        _percent(found.covered) + mark,
        _percent(found.covered_corrected),
        _percent(found.covered_labels),
        _percent(found.covered_judge),
        _number(found.width, 3),
        _number(found.width_labels, 3),
        _number(found.worth, 2),
    ]
    line = f"| {' | '.join(cells)} |"
    print(line, file=sys.stderr, flush=True)
    return line


def report() -> Iterator[str]:
    """Yield the lines of the section of docs/coverage.md."""
    yield from INTRODUCTION.strip().splitlines()
    for title, worlds in (*MAIN.items(), *OTHERS.items()):
        yield from ("", f"**{title}**", "", *HEAD)
        yield from map(_row, worlds)


INTRODUCTION = f"""
## Scores that people's labels correct

The same worlds (their prompt and seed sd under "sds"), with a judge that counts .1 of the failures as
successes and .15 of the successes as failures, unless a title says otherwise. People label some of the
images, without error. {LONG:,} worlds a line, {REWEIGHTED} where an interval is found by reweighting. Where
fewer than 10 labels differ from the most frequent one, the correction is refused and the labels' own
interval is reported.

- Corrected: share of the worlds with a corrected interval.
- Covered: the reported interval, corrected or the labels' own, holds the truth. The bar: at least 93 %; for
  means also at most 97 % where prompts and seeds have an effect and nine worlds in ten are corrected; each
  give or take two Monte-Carlo errors. Where few worlds are corrected, they are those whose labels happened
  to show many failures, and "of those corrected" is low for that reason.
- Labels alone, judge alone: coverage of these intervals in all worlds.
- Width, labels' width: means of the corrected interval and of the labels' own, where both exist. Worth: how
  many simply drawn labels without the judge one label with it replaces (`CorrectedEstimate.gain`).

The judge of the paired differences errs on the second model in the opposite way (.15 and .025), so that it
ranks the second one first. The judge of the ratings lets the second model win half of the battles that it
lost to the first.
"""


if __name__ == "__main__":
    started = time.monotonic()
    for text in report():
        print(text, flush=True)
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
