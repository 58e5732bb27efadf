"""Bradley-Terry ratings of battles on the Elo scale, with intervals and ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, stdtrit
from t2i_core.statistics.design import Design

from .battles import Battles, Verdict
from .clusters import design_of
from .fit import DecidedBattles, Fit, Floats, groups, has_order_term, maximise
from .resampling import bootstrap, sandwich

POINTS = 400 / np.log(10)
"""Elo points per unit of log-odds."""
MEAN = 1000.0
"""Mean rating of the models."""
PRIOR = 1.0
"""Number of draws against a model of mean rating added for each model if there is no maximum otherwise."""
REGULARISED = "regularised: each model gets one added draw against a model of mean rating"

UNEQUAL = (
    "battles weigh inversely to the probability that they were drawn, and all intervals are sandwich intervals"
)

Ties = Literal["half", "omit"]
_SCORE = np.array([1.0, 0.0, 0.5, 0.5])


@dataclass(frozen=True)
class PositionEffect:
    """Advantage of being shown first (on the left).

    Attributes:
        points: Advantage in Elo points.
        low: Lower end of its interval.
        high: Upper end of its interval.
        share: Expected share of wins of the first of two equal models, from 0 to 1.
    """

    points: float
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class Ratings:
    """Ratings of models, with intervals and ranks.

    Attributes:
        table: A row for each model, the best first, with the columns model; rating; low and high (95 % bootstrap
            interval, or the sandwich interval if battles have unequal weights); sandwich_low and sandwich_high;
            rank; rank_low and rank_high (possible ranks, from the models that differ significantly); regularised
            (whether draws were added, because there is no maximum likelihood estimate); battles; wins; losses;
            ties; both_bad. NaN for models without a decided battle.
        position: The advantage of being shown first; None if it was not requested or cannot be estimated.
        counts: Number of battles by verdict, including those that do not decide.
        clusters: The resampling units, in words.
        notes: Notes for the reader.
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

    Intervals resample prompts and, if people judged, annotators crossed with prompts. Each battle without a known
    prompt is resampled on its own. The result is deterministic for a given `rng_seed`.

    Args:
        battles: The battles.
        ties: `half`: a tie, or both bad, counts as half a win for each model. `omit`: such battles are dropped.
        order: Whether to fit the advantage of being shown first.
        rounds: Number of bootstrap rounds.
        rng_seed: Seed of the bootstrap.
        level: Level of the intervals, between 0 and 1.
    """
    data, which, present = decided_battles(battles, ties)
    table = _counted(battles)
    if not len(present):
        return Ratings(_ranked(table), None, battles.counts(), "", ("no battle was decided",))
    model_fit = fit_ratings(data, tuple(battles.models[i] for i in present), order)
    fit, order, prior = model_fit.fit, model_fit.order, model_fit.prior
    design, clusters, notes = design_of(battles, which, data)
    if min(each.count for each in clusters) < 2:
        clusters = []
    robust = [sandwich(data, each, fit, order=order, prior=prior) for each in clusters]
    resampled = robust
    if data.weight is None:
        resampled = [
            bootstrap(data, each, fit, order=order, prior=prior, rounds=rounds, rng_seed=rng_seed + number)
            for number, each in enumerate(clusters)
        ]
    else:
        notes = (*notes, UNEQUAL)
    covariances = [resampled, robust]
    rating = MEAN + POINTS * fit.theta
    own = np.eye(len(present) + 1)[:-1]
    halves = [POINTS * _half_width(design, terms, own, level) for terms in covariances]
    if clusters and not halves[0].any():
        notes = (*notes, f"no variation among {design.clusters}, so intervals cannot be computed")
        halves = [np.full(len(present), np.nan)] * 2
    columns: dict[str, Floats] = {"rating": rating}
    for prefix, half in zip(("", "sandwich_"), halves, strict=True):
        columns |= {f"{prefix}low": rating - half, f"{prefix}high": rating + half}
    gaps = own[:, None] - own[None, :]
    apart = rating[:, None] - rating[None, :]
    sure = np.abs(apart) > POINTS * _half_width(design, covariances[0], gaps, level)
    columns["rank"] = (apart < 0).sum(axis=1) + 1.0
    columns["rank_low"] = (sure & (apart < 0)).sum(axis=1) + 1.0
    columns["rank_high"] = len(present) - (sure & (apart > 0)).sum(axis=1).astype(np.float64)
    for name, values in columns.items():
        table.loc[present, name] = values
    table = table.astype(dict.fromkeys(("rank", "rank_low", "rank_high"), "Int64"))
    table.loc[present, "regularised"] = model_fit.regularised
    position = None
    if order:
        points = in_points(fit.gamma)
        half = float(POINTS * _half_width(design, covariances[0], np.eye(len(present) + 1)[-1], level))
        position = PositionEffect(points, points - half, points + half, float(expit(fit.gamma)))
    notes = (*model_fit.notes, *notes, *design.notes)
    return Ratings(_ranked(table), position, battles.counts(), design.clusters, notes)


def in_points(gamma: Floats) -> float:
    """Return an order term in Elo points, rounded to nine decimals so that rounding errors around 0 become 0."""
    return round(float(POINTS * gamma), 9) + 0.0


@dataclass(frozen=True)
class ModelFit:
    """A fit, and the model that was fitted.

    Attributes:
        fit: The strengths.
        order: Whether the order term was fitted.
        prior: Number of draws added for each model.
        notes: Why draws were added or the order term was left out.
        groups: The models; several groups if strengths have a maximum only within each of these.
    """

    fit: Fit
    order: bool
    prior: float
    notes: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]

    @property
    def regularised(self) -> bool:
        """True if draws were added."""
        return self.prior > 0


def fit_ratings(data: DecidedBattles, models: tuple[str, ...], order: bool) -> ModelFit:
    """Fit strengths, adding draws if there is no maximum, and leaving out an order term without a maximum.

    Args:
        data: The battles.
        models: Names of the models, for notes.
        order: Whether to fit the order term.
    """
    found, with_order = find_maxima(data)
    notes: list[str] = []
    named = tuple(tuple(models[i] for i in group) for group in found)
    if len(found) > 1:
        notes.append(
            "there is no maximum likelihood estimate, because one of these groups of models never lost to "
            f"another, or never met it: {list_groups(named)}. Ratings are {REGULARISED}"
        )
    if order and not with_order:
        notes.append("the advantage of being shown first cannot be estimated from these battles and is left out")
    order, prior = order and with_order, PRIOR if len(found) > 1 else 0.0
    return ModelFit(maximise(data.tally(), order=order, prior=prior), order, prior, tuple(notes), named)


def list_groups(named: Iterable[Iterable[str]]) -> str:
    """Return groups of models as text."""
    return " | ".join(map(", ".join, named))


def find_maxima(data: DecidedBattles) -> tuple[list[list[int]], bool]:
    """Return the groups of models within which strengths have a maximum, and whether the order term has one.

    There is a single group if all strengths have a maximum.
    """
    won, lost = np.zeros((2, data.models, data.models), bool)
    won[data.left[data.score > 0], data.right[data.score > 0]] = True
    lost[data.left[data.score < 1], data.right[data.score < 1]] = True
    found = groups(won | lost.T)
    if len(found) > 1:  # with added draws strengths are finite, and the term is if both sides have ever won
        return found, bool(won.any() and lost.any())
    return found, has_order_term(won, lost)


def decided_battles(battles: Battles, ties: Ties) -> tuple[DecidedBattles, NDArray[np.intp], NDArray[np.intp]]:
    """Return the decided battles as arrays, their indices among all battles, and the indices of their models."""
    most = 4 if ties == "half" else 2
    which = np.flatnonzero(battles.verdict < most)
    left, right = battles.left[which], battles.right[which]
    present = np.flatnonzero(np.bincount(np.concatenate([left, right]), minlength=1))
    place = np.full(len(battles.models), -1, np.int32)
    place[present] = np.arange(len(present), dtype=np.int32)
    data = DecidedBattles(
        len(present), place[left], place[right], _SCORE[battles.verdict[which]], _weigh(battles.propensity[which])
    )
    return data, which, present


def _weigh(propensity: Floats) -> Floats | None:
    """Return weights of mean 1 inverse to probabilities; None if these are equal."""
    if not len(propensity) or (propensity == propensity[0]).all():
        return None
    weight: Floats = 1 / propensity / (1 / propensity).mean()
    return weight


def _half_width(design: Design, covariances: list[Floats], contrasts: Floats, level: float) -> Floats:
    """Return half the width of the t interval of each contrast, (..., K+1); NaN without covariances."""
    if not covariances:
        return np.full(contrasts.shape[:-1], np.nan)
    each = np.stack([np.einsum("...i,ij,...j->...", contrasts, one, contrasts) for one in covariances], axis=-1)
    found = np.empty(contrasts.shape[:-1])
    for place in np.ndindex(found.shape):
        variance, df = design.combine(np.maximum(each[place], 0.0).tolist())
        found[place] = np.sqrt(variance) * stdtrit(df, 0.5 + level / 2)
    return found


def _counted(battles: Battles) -> pd.DataFrame:
    """Return a table with the outcomes of each model's decided battles, and empty columns for ratings."""
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
