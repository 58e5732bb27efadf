"""Online Elo: ratings that each battle moves in turn, as leaderboards computed them before Bradley-Terry fits.

They depend on the order of the battles, which says nothing about the models. The spread over shuffled orders shows
by how much.

References:
    Elo: The Rating of Chessplayers, Past and Present. 1978.
    Chiang et al.: Chatbot Arena. 2024 (arXiv:2403.04132), whose first leaderboard used a K-factor of 4.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .battles import Battles
from .fit import DecidedBattles, Floats
from .ratings import MEAN, Ties, decided_battles

K_FACTOR = 4.0
"""Points that a battle moves at most."""
_SHUFFLED = 2_000_000
"""Approximate number of battles to run through in all shuffled orders together."""


def rate_online(
    battles: Battles, *, k_factor: float = K_FACTOR, ties: Ties = "half", shuffles: int = 1000, rng_seed: int = 0
) -> pd.DataFrame:
    """Rate models by online Elo, in the order of the battles' times or, without times, in the order given.

    Args:
        battles: The battles.
        k_factor: Points that a battle moves at most.
        ties: How ties count, as in `rate`.
        shuffles: Largest number of shuffled orders; fewer if there are many battles.
        rng_seed: Seed of the shuffles.

    Returns:
        A row for each model with a decided battle, the best first: model; rating; rank; mean, lowest and highest
        (of the rating over shuffled orders), and low and high (the middle 95 % of them, which is not a
        confidence interval); battles.
    """
    battles = battles.take(np.argsort(battles.time, kind="stable"))
    data, _, present = decided_battles(battles, ties)
    if not len(present):
        return pd.DataFrame(
            columns=["model", "rating", "rank", "mean", "low", "high", "lowest", "highest", "battles"]
        )
    count = len(data.left)
    rounds = max(10, min(shuffles, _SHUFFLED // count))
    rng = np.random.default_rng(rng_seed)
    orders = np.stack([np.arange(count), *(rng.permutation(count) for _ in range(rounds))], axis=1)
    each = _play(data, orders, k_factor)
    rating, shuffled = each[0], each[1:]
    low, high = np.quantile(shuffled, [0.025, 0.975], axis=0)
    fought = np.bincount(np.concatenate([data.left, data.right]), minlength=data.models)
    table = pd.DataFrame(
        {
            "model": [battles.models[i] for i in present],
            "rating": rating,
            "rank": (rating[None, :] > rating[:, None]).sum(axis=1) + 1,
            "mean": shuffled.mean(axis=0),
            "low": low,
            "high": high,
            "lowest": shuffled.min(axis=0),
            "highest": shuffled.max(axis=0),
            "battles": fought,
        }
    )
    return table.sort_values("rating", ascending=False, kind="stable").reset_index(drop=True)


def _play(data: DecidedBattles, orders: np.ndarray, k_factor: float) -> Floats:
    """Return the ratings after all battles, (orders, models), for each column of orders, (battles, orders)."""
    rating = np.full((orders.shape[1], data.models), MEAN)
    every = np.arange(orders.shape[1])
    for battle in orders:
        left, right = data.left[battle], data.right[battle]
        expected = 1 / (1 + 10 ** ((rating[every, right] - rating[every, left]) / 400))
        moved = k_factor * (data.score[battle] - expected)
        rating[every, left] += moved
        rating[every, right] -= moved
    return rating
