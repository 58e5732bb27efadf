"""Ratings from battles: Bradley-Terry on the Elo scale, with intervals and ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, stdtrit
from t2i_core.statistics.design import Design

from .battles import Battles, Verdict
from .clusters import design_of
from .fit import Fit, Floats, Fought, groups, has_order_term, maximise
from .resampling import resampled, sandwich

POINTS = 400 / np.log(10)
"""Elo points of one unit of log-odds."""
MEAN = 1000.0
"""Mean rating of the models."""
PRIOR = 1.0
"""Draws against a model of mean rating that each model is given where there is no maximum without them."""
REGULARISED = "regularised, as if each model had also drawn once with one of the mean rating"

Ties = Literal["half", "omit"]
_SCORE = np.array([1.0, 0.0, 0.5, 0.5])


@dataclass(frozen=True)
class PositionEffect:
    """What it is worth to be shown first (on the left).

    points: on the Elo scale, with its interval
    share:  of wins against an equal model
    """

    points: float
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class Ratings:
    """Ratings with all that must be known of them.

    table:     a row for each model, the best first: model, rating, low, high (95 % interval, resampled),
               sandwich_low, sandwich_high, rank, rank_low, rank_high (below those that are surely better, above
               those that are surely worse), regularised (whether the rating rests on added draws, for there is no
               greatest likelihood), battles, wins, losses, ties, both_bad. NaN: in no decided battle
    position:  None where it was not asked for or cannot be told
    counts:    battles by verdict, those that do not decide among them
    clusters:  what the intervals resample, in words
    notes:     sentences
    """

    table: pd.DataFrame
    position: PositionEffect | None
    counts: dict[Verdict, int]
    clusters: str
    notes: tuple[str, ...]


def rate(
    battles: Battles,
    *,
    ties: Ties = "half",
    order: bool = True,
    rounds: int = 1000,
    rng_seed: int = 0,
    level: float = 0.95,
) -> Ratings:
    """Rate models by their battles.

    ties:      `half`: a tie, and both bad, is half a win for each. `omit`: such battles are left out
    order:     fit what it is worth to be shown first
    rounds:    of the bootstrap

    Prompts are resampled, and where people judged, they too, crossed; battles whose prompt is not known are each
    their own. Deterministic for one `rng_seed`.
    """
    data, which, present = fought(battles, ties)
    table = _counted(battles)
    if not len(present):
        return Ratings(_ranked(table), None, battles.counts(), "", ("no battle was decided",))
    settled = settle(data, tuple(battles.models[i] for i in present), order)
    design, clusters, notes = design_of(battles, which, data)
    if min(each.count for each in clusters) < 2:
        clusters = []
    covariances = [
        [
            resampled(data, each, settled.fit, order=settled.order, prior=settled.prior, rounds=rounds,
                      rng_seed=rng_seed + number)
            for number, each in enumerate(clusters)
        ],
        [sandwich(data, each, settled.fit, order=settled.order, prior=settled.prior) for each in clusters],
    ]  # fmt: skip
    rating = MEAN + POINTS * settled.fit.theta
    own = np.eye(len(present) + 1)[:-1]
    halves = [POINTS * _half(design, terms, own, level) for terms in covariances]
    if clusters and not halves[0].any():
        notes = (*notes, f"no variation among {design.clusters}: the intervals have no width")
    columns: dict[str, Floats] = {"rating": rating}
    for prefix, half in zip(("", "sandwich_"), halves, strict=True):
        columns |= {f"{prefix}low": rating - half, f"{prefix}high": rating + half}
    gaps = own[:, None] - own[None, :]
    apart = rating[:, None] - rating[None, :]
    sure = np.abs(apart) > POINTS * _half(design, covariances[0], gaps, level)
    columns["rank"] = (apart < 0).sum(axis=1) + 1.0
    columns["rank_low"] = (sure & (apart < 0)).sum(axis=1) + 1.0
    columns["rank_high"] = len(present) - (sure & (apart > 0)).sum(axis=1).astype(np.float64)
    for name, values in columns.items():
        table.loc[present, name] = values
    table = table.astype(dict.fromkeys(("rank", "rank_low", "rank_high"), "Int64"))
    table.loc[present, "regularised"] = settled.regularised
    position = None
    if settled.order:
        points = in_points(settled.fit.gamma)
        half = float(POINTS * _half(design, covariances[0], np.eye(len(present) + 1)[-1], level))
        position = PositionEffect(points, points - half, points + half, float(expit(settled.fit.gamma)))
    return Ratings(
        _ranked(table), position, battles.counts(), design.clusters, (*settled.notes, *notes, *design.notes)
    )


def in_points(gamma: Floats) -> float:
    """Return an order term on the Elo scale, without the last digits, which are rounding: 0 is 0."""
    return round(float(POINTS * gamma), 9) + 0.0


@dataclass(frozen=True)
class Settled:
    """A fit, and how it could be made: with the order term or without, with draws added or without, and why."""

    fit: Fit
    order: bool
    prior: float
    notes: tuple[str, ...]

    @property
    def regularised(self) -> bool:
        """Whether draws are added."""
        return self.prior > 0


def settle(data: Fought, models: tuple[str, ...], order: bool) -> Settled:
    """Fit strengths; regularised where there is no maximum, without the order term where that has none."""
    found, with_order = existing(data)
    notes: list[str] = []
    if len(found) > 1:
        said = " | ".join(", ".join(models[i] for i in group) for group in found)
        notes.append(
            f"no greatest likelihood: one of these groups never lost to another, or never met it: {said}. "
            f"Ratings are {REGULARISED}"
        )
    if order and not with_order:
        notes.append("what it is worth to be shown first cannot be told from these battles, and is left out")
    order, prior = order and with_order, PRIOR if len(found) > 1 else 0.0
    return Settled(maximise(data.tally(), order=order, prior=prior), order, prior, tuple(notes))


def existing(data: Fought) -> tuple[list[list[int]], bool]:
    """Return the groups within which strengths have a maximum (one, if all do), and whether the order term has."""
    won, lost = np.zeros((2, data.models, data.models), bool)
    won[data.left[data.score > 0], data.right[data.score > 0]] = True
    lost[data.left[data.score < 1], data.right[data.score < 1]] = True
    found = groups(won | lost.T)
    if len(found) > 1:  # draws are added, strengths stay finite, and the term does where either side has ever won
        return found, bool(won.any() and lost.any())
    return found, has_order_term(won, lost)


def fought(battles: Battles, ties: Ties) -> tuple[Fought, NDArray[np.intp], NDArray[np.intp]]:
    """Return the battles that count as numbers, which of all they are, and which models are in them."""
    most = 4 if ties == "half" else 2
    which = np.flatnonzero(battles.verdict < most)
    left, right = battles.left[which], battles.right[which]
    present = np.flatnonzero(np.bincount(np.concatenate([left, right]), minlength=1))
    place = np.full(len(battles.models), -1, np.int32)
    place[present] = np.arange(len(present), dtype=np.int32)
    return Fought(len(present), place[left], place[right], _SCORE[battles.verdict[which]]), which, present


def _half(design: Design, covariances: list[Floats], contrasts: Floats, level: float) -> Floats:
    """Half the width of each contrast's interval, (..., K+1): t over clusters; NaN without covariances."""
    if not covariances:
        return np.full(contrasts.shape[:-1], np.nan)
    each = np.stack([np.einsum("...i,ij,...j->...", contrasts, one, contrasts) for one in covariances], axis=-1)
    found = np.empty(contrasts.shape[:-1])
    for place in np.ndindex(found.shape):
        variance, df = design.combine(np.maximum(each[place], 0.0).tolist())
        found[place] = np.sqrt(variance) * stdtrit(df, 0.5 + level / 2)
    return found


def _counted(battles: Battles) -> pd.DataFrame:
    """How each model's battles ended, those that were decided."""
    models = len(battles.models)
    ended = np.zeros((models, 4), np.int64)  # by verdict as the model saw it
    decided = battles.decided
    for side, seen in ((battles.left, (0, 1, 2, 3)), (battles.right, (1, 0, 2, 3))):
        np.add.at(ended, (side[decided], np.array(seen)[battles.verdict[decided]]), 1)
    table = pd.DataFrame({"model": battles.models})
    for name in ("rating", "low", "high", "sandwich_low", "sandwich_high", "rank", "rank_low", "rank_high"):
        table[name] = np.nan
    table["regularised"] = False
    table["battles"] = ended.sum(axis=1)
    for name, column in zip(("wins", "losses", "ties", "both_bad"), ended.T, strict=True):
        table[name] = column
    return table


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values("rating", ascending=False, kind="stable", na_position="last").reset_index(drop=True)
