"""Agreement between judges, people or models: Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from typing import NamedTuple

from t2i_core.statistics import Estimate, krippendorff_alpha

from .battles import Battle


class GivenAnswer(NamedTuple):
    """A judge's answer.

    Attributes:
        unit: What was judged, such as a pair of images.
        judge: Who judged.
        value: The answer.
        prompt: The prompt of the unit.
    """

    unit: Hashable
    judge: Hashable
    value: str
    prompt: str


def alpha(answers: Collection[GivenAnswer], excluded: Collection[str] = ()) -> tuple[Estimate, int]:
    """Return Krippendorff's alpha of nominal answers, with its interval over prompts for these judges.

    Args:
        answers: Answers, at most one for each unit and judge.
        excluded: Answers that count as missing.

    Returns:
        Alpha, NaN if no unit has two answers or all answers are equal; and the number of units with two or more
        answers.
    """
    counted = [answer for answer in answers if answer.value not in excluded]
    units, judges, values, prompts = zip(*counted, strict=True) if counted else ((), (), (), ())
    shared = sum(count > 1 for count in Counter(units).values())
    return krippendorff_alpha(units, judges, values, prompts), shared


def verdicts(battles: Iterable[Battle]) -> list[GivenAnswer]:
    """Return each judge's verdict on each pair of images: the better model's name, `tie` or `both-bad`.

    If a judge answered several times, for example in both orders, and contradicts itself, its verdict is `tie`.
    """
    found: dict[tuple[tuple[frozenset[str], str, int | None], Hashable], set[str]] = {}
    for battle in battles:
        meant = {"left": f"better: {battle.left}", "right": f"better: {battle.right}"}
        if battle.verdict in (*meant, "tie", "both-bad"):
            unit = (frozenset((battle.left, battle.right)), battle.prompt, battle.seed)
            judge = (battle.human, battle.judge)  # a person and a model may have the same name
            found.setdefault((unit, judge), set()).add(meant.get(battle.verdict, battle.verdict))
    return [
        GivenAnswer(unit, judge, one.pop() if len(one) == 1 else "tie", unit[1])
        for (unit, judge), one in found.items()
    ]
