"""Answers grouped by question, as tally and agreement need them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from t2i_core.io.answer_meaning import fold_words
from t2i_core.io.answers import LEFT, PREFERENCE, RIGHT, HumanAnswer


class ItemAnswer(NamedTuple):
    """One person's answer about one item: what was shown, with its prompt.

    Attributes:
        item: The images, the same in whichever order two sides were shown.
        rater: Name of the person.
        answer: The answer; of a preference, the label of the better model (`better: sdxl`), tie or both-bad.
        cluster: The prompt, or the item itself if its prompt is not known.
        weight: Weight of the item.
    """

    item: Hashable
    rater: str
    answer: str
    cluster: Hashable
    weight: float = 1.0


def group_by_question(answers: Iterable[HumanAnswer]) -> dict[str, list[HumanAnswer]]:
    """Return answers by question.

    If a person answered twice about the same images, the last answer counts. Answers that differ only in case and
    blanks are one, as for the judge, and get the first spelling.
    """
    last: dict[tuple[Hashable, ...], HumanAnswer] = {}
    for answer in answers:
        last[answer.question, answer.rater, _identify(answer)] = answer
    found: dict[str, list[HumanAnswer]] = {}
    spelling: dict[tuple[str, str], str] = {}
    for answer in last.values():
        words = spelling.setdefault((answer.question, fold_words(answer.answer)), answer.answer)
        found.setdefault(answer.question, []).append(replace(answer, answer=words))
    return found


def list_item_answers(answers: Iterable[HumanAnswer]) -> list[ItemAnswer]:
    """Return answers to one question by item. If the answers on an item differ in weight, the last counts."""
    given = list(answers)
    items = [_identify(answer) for answer in given]
    weights = dict(zip(items, weigh_answers(given)[0] or [1.0] * len(given), strict=True))
    return [
        ItemAnswer(item, answer.rater, _name_answer(answer), answer.prompt or item, weights[item])
        for item, answer in zip(items, given, strict=True)
    ]


WEIGHTED = "images weigh 1 / the probability with which they were drawn"


def weigh_answers(answers: Sequence[HumanAnswer]) -> tuple[list[float] | None, tuple[str, ...]]:
    """Return a weight for each answer, so that they stand for all images from which those shown were drawn.

    Returns:
        1 over the probabilities with which the images were drawn, and a note; None if all images count alike,
        because none was drawn, all with one probability, or some with an unknown one.
    """
    drawn = [answer.probability for answer in answers if answer.probability is not None]
    if len(set(drawn)) < 2 and len(drawn) in (0, len(answers)):
        return None, ()
    if len(drawn) < len(answers):
        lacking = len(answers) - len(drawn)
        return None, (f"{lacking} of {len(answers)} answers name no probability of their draw: all count alike",)
    return [1 / probability for probability in drawn], (WEIGHTED,)


def read_rating(answer: str) -> float | None:
    """Return the number that an answer is; None if it is none."""
    try:
        number = float(answer)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


Scale = tuple[float | None, float | None]
"""Ends of a rating scale; None for unknown ones."""


def find_scale(answers: Iterable[HumanAnswer]) -> Scale:
    """Return the smallest and the largest number that people could choose; unknown without the choices."""
    ends: list[float] = []
    for answer in answers:
        offered = [number for choice in answer.choices if (number := read_rating(choice)) is not None]
        if not offered:
            return None, None
        ends += [min(offered), max(offered)]
    return (min(ends), max(ends)) if ends else (None, None)


def _identify(answer: HumanAnswer) -> Hashable:
    """Return what was shown. Images without seeds and digests are told apart by their task, if one is named."""
    known = any(side.seeds or side.digests for side in answer.shown)
    return answer.prompt, frozenset(answer.shown), "" if known or len(answer.shown) < 2 else answer.task


def _name_answer(answer: HumanAnswer) -> str:
    if answer.question != PREFERENCE or answer.answer not in (LEFT, RIGHT):
        return answer.answer
    side = answer.shown[answer.answer == RIGHT]
    return f"better: {side.model or ' '.join(side.digests)}"
