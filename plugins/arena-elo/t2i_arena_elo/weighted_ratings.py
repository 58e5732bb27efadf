"""Ratings of a run's rows as a function of the rows' weights, which core varies to form intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from .battle_looks import LEVEL, widen
from .fit import LEAST, DecidedBattles, Fit, Floats, maximise
from .options import EloOptions
from .ratings import MEAN, POINTS, ModelFit, decided_battles, find_maxima, fit_ratings, in_points
from .resampling import find_freedom, find_influence
from .rows import LOOK, battles_of

POSITION = "position"


@dataclass(frozen=True)
class WeightedRatings:
    """Decided battles of a table with the fit to them.

    Attributes:
        data: The battles as arrays.
        rows: Their row numbers in the table.
        models: The models that took part.
        model_fit: The fit to all of them, with equal weights of rows.
        influence: float (n, K+1), by how much each battle moves the strengths, if pairs were drawn in rounds or
            with different probabilities.
    """

    data: DecidedBattles
    rows: NDArray[np.intp]
    models: tuple[str, ...]
    model_fit: ModelFit
    influence: Floats | None = None

    def rate(self, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return each model's rating and, if it can be estimated, the advantage of being shown first.

        Battles that were drawn in rounds are not fitted again under other weights, because other answers would
        have drawn other battles. Nor are those of a file that were drawn with different probabilities, because
        answers may have chosen these. Ratings then move linearly, by the scores of battles, so that core's
        variance is the sandwich of the prompts' scores, which are increments of a martingale.

        Args:
            weights: Weight of each row, float (n,).

        Returns:
            Ratings by model, and the advantage in Elo points as `position`; all NaN if no maximum exists under
            these weights.
        """
        names = [*self.models, POSITION] if self.model_fit.order else self.models
        own = weights[self.rows]
        if self.influence is not None:
            moved = (own - 1) @ self.influence
            fit = Fit(self.model_fit.fit.theta + moved[:-1], self.model_fit.fit.gamma + moved[-1])
        elif self._has_maximum(own):
            order, prior = self.model_fit.order, self.model_fit.prior
            fit = maximise(self.data.tally(own), order=order, prior=prior, start=self.model_fit.fit)
        else:
            return dict.fromkeys(names, nan)
        values = [*(MEAN + POINTS * fit.theta).tolist(), in_points(fit.gamma)]
        return dict(zip(names, values, strict=False))

    def _has_maximum(self, weights: NDArray[np.float64]) -> bool:
        """Return whether the likelihood still has a maximum under weights, some of which may be almost 0."""
        part = weights > LEAST
        if part.all():
            return True
        data = self.data
        found, with_order = find_maxima(
            DecidedBattles(data.models, data.left[part], data.right[part], data.score[part])
        )
        return (len(found) == 1 or self.model_fit.regularised) and (with_order or not self.model_fit.order)


def weigh_ratings(table: pd.DataFrame, options: EloOptions) -> WeightedRatings | None:
    """Return the decided battles of a table; None if it has none.

    Args:
        table: The rows. If they were drawn until a goal was reached, intervals are repeated confidence intervals.
        options: Options of the metric.
    """
    battles = battles_of(table)
    data, rows, present = decided_battles(battles, options.ties)
    if not len(rows):
        return None
    models = tuple(battles.models[i] for i in present)
    model_fit = fit_ratings(data, models, options.position)
    influence = None
    if LOOK in table or data.weight is not None:
        influence = find_influence(data, model_fit.fit, order=model_fit.order, prior=model_fit.prior)
        if data.weight is not None:
            influence *= _widen_by_freedom(influence, pd.factorize(table["cluster"].iloc[rows])[0])
        if LOOK in table and options.until is not None:
            influence *= widen(sorted(table[LOOK].astype(float).unique()))
    return WeightedRatings(data, rows, models, model_fit, influence)


def _widen_by_freedom(influence: Floats, codes: NDArray[np.intp]) -> Floats:
    """Return by what factor each strength's interval is wider than with as many degrees of freedom as clusters.

    Core multiplies standard errors by the quantile of Student's t for the number of clusters; few of these may
    carry the variance of a strength.

    Args:
        influence: By how much each battle moves the strengths and the order term, float (n, K+1).
        codes: The cluster of each battle, (n,).
    """
    upper = 0.5 + LEVEL / 2
    count = max(int(codes.max()), 1)
    found: Floats = stdtrit(np.diag(find_freedom(influence, codes)), upper) / stdtrit(count, upper)
    return found
