"""How far judges agree: Krippendorff's alpha, for people and models alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import krippendorff
import numpy as np

from .battles import Battle

Said = tuple[Hashable, Hashable, str]
"""Of what (a unit), by whom, and what was said."""


def alpha(said: Iterable[Said]) -> tuple[float, int]:
    """Return Krippendorff's alpha (2004) of nominal answers, and how many units two judges or more have answered.

    NaN where there is no such unit, or all answers are the same. A judge says one thing of a unit.
    """
    units: dict[Hashable, dict[Hashable, str]] = {}
    for unit, judge, value in said:
        units.setdefault(unit, {})[judge] = value
    shared = [list(by_judge.values()) for by_judge in units.values() if len(by_judge) > 1]
    values = sorted({value for unit in shared for value in unit})
    if len(values) < 2:
        return float("nan"), len(shared)
    counts = np.array([[unit.count(value) for value in values] for unit in shared])
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")), len(shared)


def verdicts(battles: Iterable[Battle]) -> list[Said]:
    """What each judge says of each two models' images: the better model's name, `tie` or `both-bad`.

    A judge that was asked several times (in both orders, say) and contradicts itself says `tie`.
    """
    found: dict[tuple[Hashable, Hashable], set[str]] = {}
    for battle in battles:
        meant = {"left": f"better: {battle.left}", "right": f"better: {battle.right}"}
        if battle.verdict in (*meant, "tie", "both-bad"):
            unit = (frozenset((battle.left, battle.right)), battle.prompt, battle.seed)
            judge = (battle.human, battle.judge)  # a person may be called as a model is
            found.setdefault((unit, judge), set()).add(meant.get(battle.verdict, battle.verdict))
    return [(unit, judge, one.pop() if len(one) == 1 else "tie") for (unit, judge), one in found.items()]
