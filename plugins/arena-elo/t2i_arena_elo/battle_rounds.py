"""Rounds of battles: earlier answers choose which pairs the next prompts compare, and when the battles end.

Each prompt belongs to one round, so the draws of a round depend on the answers about other prompts alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from .battle_looks import FEWEST, LEVEL, BattleLook, count_tests, list_boundaries, list_gaps, look_at
from .battles import Battles
from .options import EloOptions
from .propensities import find_propensities, list_pairs
from .ratings import list_groups


@dataclass(frozen=True)
class BattleRound:
    """Battles that are drawn alike.

    Attributes:
        look: Share of the prompts up to the end of this round, in (0, 1].
        propensities: Probability of each pair of models to be drawn.
    """

    look: float
    propensities: Mapping[frozenset[str], float]


@dataclass
class BattleRounds:
    """The rounds of a run. They depend on its prompts, its options and the answers alone.

    Attributes:
        models: The models.
        options: Options of the metric.
        begun: False until the prompts are known.
        verdict: Why the battles ended; empty before they do.
        is_reached: True if they ended because the goal was reached.
    """

    models: tuple[str, ...]
    options: EloOptions
    begun: bool = False
    verdict: str = ""
    is_reached: bool = False
    _number_of: dict[str, int] = field(default_factory=dict)
    _looks: tuple[float, ...] = ()
    _rounds: list[BattleRound] = field(default_factory=list)
    _beaten: set[tuple[int, int]] = field(default_factory=set)

    def begin(self, prompts: Collection[str]) -> None:
        """Deal prompts to rounds, in an order that `draw_seed` draws, and begin the first one.

        Args:
            prompts: The prompts; of prompts that belong together, one name.
        """
        names = sorted(set(prompts), key=self._hash)
        count = max(1, min(self.options.rounds, len(names) // FEWEST))
        ends = [len(names) * (number + 1) // count for number in range(count)]
        self._number_of = {name: sum(place >= end for end in ends) for place, name in enumerate(names)}
        self._looks = tuple(end / len(names) for end in ends)
        self.begun, self.verdict, self.is_reached, self._beaten = True, "", False, set()
        pairs = zip(*list_pairs(len(self.models)), strict=True)
        even = {frozenset((self.models[i], self.models[j])): self.options.share for i, j in pairs}
        self._rounds = [BattleRound(self._looks[0], even)]

    def find(self, prompt: str) -> BattleRound | None:
        """Return the round of a prompt; None if it has not begun."""
        number = self._number_of[prompt]
        return self._rounds[number] if number < len(self._rounds) else None

    def add(self, battles: Battles) -> bool:
        """Look at the battles of all rounds so far; begin the next round, or end.

        Args:
            battles: The battles, whose `models` are those of the run in the same order.

        Returns:
            False if the battles end: the goal is reached, or all prompts were used.
        """
        found = look_at(battles, self.options.ties, self.options.position)
        self.is_reached = found is not None and self._reaches_goal(found)
        if self.is_reached or len(self._rounds) == len(self._looks):
            self.verdict = self._describe_end(found)
            return False
        propensities = self._rounds[0].propensities if found is None else self._choose(found)
        self._rounds.append(BattleRound(self._looks[len(self._rounds)], propensities))
        return True

    def _hash(self, prompt: str) -> tuple[bytes, str]:
        key = f"round {self.options.draw_seed}\n{prompt}"
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest(), prompt

    def _reaches_goal(self, found: BattleLook) -> bool:
        """Note who surely beats whom, and return whether that reaches the goal."""
        goal = self.options.until
        if goal is None or not found.exists or found.clusters < FEWEST:
            return False
        tests = count_tests(goal, len(self.models))
        boundary = list_boundaries(self._looks, tests)[len(self._rounds) - 1]
        self._beaten |= {(int(i), int(j)) for i, j in np.argwhere(found.scores() >= boundary)}
        return self._beaten.issuperset(list_gaps(goal, found.theta))

    def _choose(self, found: BattleLook) -> Mapping[frozenset[str], float]:
        """Return the probability of each pair in the next round.

        With a goal, the differences that it still needs count, more the smaller they are. Without one, all count
        alike.
        """
        if not self.options.active:
            return self._rounds[0].propensities
        models = len(self.models)
        first, second = list_pairs(models)
        if self.options.until is None:
            weights = np.ones(len(first))
        else:
            gaps = [pair for pair in list_gaps(self.options.until, found.theta) if pair not in self._beaten]
            first, second = np.array(gaps, int).reshape(-1, 2).T
            apart = np.abs(found.theta[first] - found.theta[second])
            weights = 1 / np.maximum(np.maximum(apart, found.errors()[first, second]), 1e-6)
        contrasts = (np.eye(models)[first] - np.eye(models)[second]) * weights[:, None]
        chances = find_propensities(found.theta, self.options.share, contrasts).tolist()
        pairs = zip(*list_pairs(models), chances, strict=True)
        return {frozenset((self.models[i], self.models[j])): chance for i, j, chance in pairs}

    def _describe_end(self, found: BattleLook | None) -> str:
        goal, number, count = self.options.until, len(self._rounds), len(self._looks)
        if goal is None:
            return f"pairs were drawn in {count} rounds of prompts"
        after = f"after {self._looks[number - 1]:.0%} of the prompts (look {number} of {count})"
        if not self.is_reached or found is None:
            missing = "no model is surely the best" if goal == "best" else "the ranks are not sure"
            return f"until {goal}: {missing} {after}{_explain_groups(found)}"
        ranked = [self.models[i] for i in np.argsort(-found.theta, kind="stable")]
        said = f"{ranked[0]} is surely the best" if goal == "best" else f"the ranks are sure ({', '.join(ranked)})"
        return f"until {goal}: {said}, with an error of at most {1 - LEVEL:.0%}, {after}"


def _explain_groups(found: BattleLook | None) -> str:
    """Return which models keep every goal from being reached, as the end of a sentence; empty if none does."""
    if found is None or found.exists:
        return ""
    return (
        "; no look can be sure while one of these groups of models never lost to another, or never met it: "
        f"{list_groups(found.groups)}"
    )
