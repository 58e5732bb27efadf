"""Rules for people who answer, and who is careless under them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import HumanAnswer

ENOUGH_CONTROLS, ENOUGH_VOTES = 5, 10
"""Number of controls, and of answers, from which a rater's errors, and speed, are judged."""


@dataclass(frozen=True)
class Rules:
    """Rules for all raters of a study.

    Attributes:
        tasks: Number of tasks per rater; None: until nothing is left.
        training: Number of training tasks before the first one that counts; their known answer is shown after
            each.
        controls: One task in this many is a control, whose known answer is never shown; 0: no controls.
        pass_mark: Share of training tasks that must be right, of controls that must be right, and of answers that
            must not be too fast; from 0 to 1.
        wrong_in_a_row: Number of controls in a row whose wrong answers end a rater's study; 0: any.
        fastest: Seconds below which an answer is too fast and does not count.
        seed: Random seed of sides, order and tasks with a known answer.
    """

    tasks: int | None = None
    training: int = 0
    controls: int = 0
    pass_mark: float = 0.8
    wrong_in_a_row: int = 0
    fastest: float = 1.0
    seed: int = 0


@dataclass
class RaterRecord:
    """Counts of a rater's answers that the rules use.

    Attributes:
        answers: Number of tasks answered, controls among them.
        fast: How many of them too fast.
        controls: Number of controls.
        right: How many of them right.
        wrong: Number of the last controls that were wrong without a right one between them.
        longest: The largest that `wrong` has been.
    """

    answers: int = 0
    fast: int = 0
    controls: int = 0
    right: int = 0
    wrong: int = 0
    longest: int = 0

    def add(self, seconds: float | None, right: bool | None, rules: Rules) -> None:
        """Add a task; `right` is None if it has no known answer."""
        self.answers += 1
        self.fast += seconds is not None and seconds < rules.fastest
        if right is not None:
            self.controls += 1
            self.right += right
            self.wrong = 0 if right else self.wrong + 1
            self.longest = max(self.longest, self.wrong)

    def is_careless(self, rules: Rules) -> bool:
        """Return whether too many controls were wrong, in all or in a row, or too many answers too fast."""
        return (
            (self.controls >= ENOUGH_CONTROLS and self.right < rules.pass_mark * self.controls)
            or (self.answers >= ENOUGH_VOTES and self.answers - self.fast < rules.pass_mark * self.answers)
            or (0 < rules.wrong_in_a_row <= self.longest)
        )


SEVERAL = " | "
"""Joins the right answers to one question, if several are right."""


def are_right(answers: Mapping[str, str], expected: Mapping[str, str]) -> bool:
    """Return whether all answers with a known right answer, by question, are right.

    Args:
        answers: The answers.
        expected: The right answers; several that are right are joined by `SEVERAL`.
    """
    known = ((answer, expected.get(question, "")) for question, answer in answers.items())
    return all(answer in right.split(SEVERAL) for answer, right in known if right)


def find_careless(answers: Iterable[HumanAnswer], rules: Rules) -> frozenset[str]:
    """Return the careless raters.

    Args:
        answers: All answers, controls among them, in the order in which each rater gave them. A task is right if
            all its answers are.
        rules: The rules.
    """
    tasks: dict[tuple[str, str], list[HumanAnswer]] = {}
    for answer in answers:
        if answer.part != "training":
            tasks.setdefault((answer.rater, answer.task), []).append(answer)
    records: dict[str, RaterRecord] = {}
    for (rater, _), own in tasks.items():
        known = own[0].part == "control"
        right = (
            are_right({a.question: a.answer for a in own}, {a.question: a.expected for a in own})
            if known
            else None
        )
        records.setdefault(rater, RaterRecord()).add(own[0].seconds, right, rules)
    return frozenset(rater for rater, record in records.items() if record.is_careless(rules))
