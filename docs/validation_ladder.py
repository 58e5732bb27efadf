"""Ratings where the truth is known: models that lose more and more, by judges that err in known ways."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import log_expit
from t2i_core import ModelRequest
from validation_lines import Line, Rates
from validation_runs import ORACLE, SALTS, Said, kept

#: Models that lose more and more of what is asked, by who has more right of each two.
DROPS = (0.0, 0.2, 0.4, 0.6)


@dataclass(frozen=True)
class Ladder:
    """A judge's rate of wrong verdicts, and how often it takes the first; then each rung's rating is known.

    p = 1/2 + (1 - 2 error) (d_j - d_i) / 2 is the chance of the better one to win, first + (1 - first) p where it
    is shown first, (1 - first) p where it is second.
    """

    error: float = 0.0
    first: float = 0.0

    @property
    def strengths(self) -> np.ndarray:
        """Return the likeliest parameters for these chances: the rungs' ratings, and the advantage of being first.

        All battles of two models in both orders, as many of each; found by a separate search.
        """
        others = ~np.eye(len(DROPS), dtype=bool)
        share = 0.5 + (1 - 2 * self.error) * np.subtract.outer(DROPS, DROPS).T / 2
        won = (self.first + (1 - self.first) * share)[others]

        def unlikely(found: np.ndarray) -> float:
            gap = (np.subtract.outer(found[:-1], found[:-1]) + found[-1])[others]
            loss = -(won * log_expit(gap) + (1 - won) * log_expit(-gap)).sum()
            return float(loss + found[:-1].mean() ** 2)  # strengths are relative: their mean is 0

        *ratings, place = 400 / np.log(10) * minimize(unlikely, np.zeros(len(DROPS) + 1), tol=1e-14).x
        return np.array([*(1000 + rating for rating in ratings), place])

    @property
    def judge(self) -> str:
        """The judge's error, in words."""
        return f"takes the first in {self.first}" if self.first else f"wrong in {self.error}"

    @property
    def lines(self) -> list[Line]:
        """A line for each rung's rating among the four, and one for the place, where the judge favours it."""
        name, found = f"ladder d = {', '.join(map(str, DROPS))}, judge {self.judge}", self.strengths
        rungs = [
            Line(name, "elo", "elo", "tiam-5-2", {"drop": drop}, lambda *_, n=n: float(found[n]))
            for n, drop in enumerate(DROPS)
        ]
        place = Line(f"{name}: what that is worth", "elo", "position", "tiam-5-2", {"prefer_first": self.first},
                     lambda *_: float(found[-1]))  # fmt: skip
        return [*rungs, place] if self.first else rungs


LADDERS = (Ladder(error=0.0), Ladder(error=0.2), Ladder(first=0.2))


def climb(ladder: Ladder, out: Path) -> list[Said]:
    """Draw a ladder's models 20 times, and have the oracle judge each two pictures in both orders."""
    lines = ladder.lines
    values: list[list[tuple[float, float, float]]] = [[] for _ in lines]
    images = 0
    for salt in range(SALTS):
        models = [ModelRequest("simulator", f"drop {d}", {**ORACLE, "drop": d, "salt": salt}) for d in DROPS]
        run = kept(
            "elo", models, prompts="tiam-5-2", seeds=1, judge="oracle", out=out / str(salt),
            options={"oracle": {"prefer_error": ladder.error, "prefer_first": ladder.first}},
        )  # fmt: skip
        images += len(run.samples())
        rungs = run.results
        told = [result.scores["elo"] for result in rungs] + [rungs[0].scores.get("position")]
        for own, score in zip(values, told, strict=False):
            own.append((score.value, *score.ci))
    return [
        Said(line, line.oracle, expected, expected, tuple(own), images // len(DROPS))
        for line, own in zip(lines, values, strict=True)
        for expected in [line.expected(Rates(), pd.DataFrame())]
    ]
