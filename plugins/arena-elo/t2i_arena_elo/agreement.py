"""Agreement between judges, people or models: Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import krippendorff
import numpy as np

from .battles import Battle

Answer = tuple[Hashable, Hashable, str]
"""Unit, judge, and the judge's answer for this unit."""


def alpha(answers: Iterable[Answer]) -> tuple[float, int]:
    """Return Krippendorff's alpha of nominal answers.

    Args:
        answers: Answers, at most one for each unit and judge.

    Returns:
        Alpha, NaN if no unit has two answers or all answers are equal; and the number of units with two or more
        answers.

    References:
        Krippendorff: Content Analysis, 2nd edition. 2004.
    """
    units: dict[Hashable, dict[Hashable, str]] = {}
    for unit, judge, value in answers:
        units.setdefault(unit, {})[judge] = value
    shared = [list(by_judge.values()) for by_judge in units.values() if len(by_judge) > 1]
    values = sorted({value for unit in shared for value in unit})
    if len(values) < 2:
        return float("nan"), len(shared)
    counts = np.array([[unit.count(value) for value in values] for unit in shared])
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")), len(shared)


def verdicts(battles: Iterable[Battle]) -> list[Answer]:
    """Return each judge's verdict on each pair of images: the better model's name, `tie` or `both-bad`.

    If a judge answered several times, for example in both orders, and contradicts itself, its verdict is `tie`.
    """
    found: dict[tuple[Hashable, Hashable], set[str]] = {}
    for battle in battles:
        meant = {"left": f"better: {battle.left}", "right": f"better: {battle.right}"}
        if battle.verdict in (*meant, "tie", "both-bad"):
            unit = (frozenset((battle.left, battle.right)), battle.prompt, battle.seed)
            judge = (battle.human, battle.judge)  # a person and a model may have the same name
            found.setdefault((unit, judge), set()).add(meant.get(battle.verdict, battle.verdict))
    return [(unit, judge, one.pop() if len(one) == 1 else "tie") for (unit, judge), one in found.items()]
