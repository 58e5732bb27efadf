"""`t2i people agree`: how far people agree with each other on each question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from t2i_core.io.answers import BOTH_BAD, CANNOT_TELL, PREFERENCE, TIE, AnswerFile
from t2i_core.statistics import Estimate, cohen_kappa, fleiss_kappa, krippendorff_alpha
from t2i_core.statistics.agreement import QUESTIONS, Measurement, Raters

from .answer_groups import ItemAnswer, group_by_question, list_item_answers, weigh_answers
from .tally import describe_interval, is_rating


def measure_agreement(file: AnswerFile, raters: Raters = "fixed") -> dict[str, Any]:
    """Return the agreement of raters on each question.

    `cannot-tell` counts as a missing answer.

    Args:
        file: The answers.
        raters: "fixed" for intervals about these raters; "new" for others too. Cohen's kappa of two raters is
            always about these two.

    Returns:
        Plain data: `questions`, one entry per question and coefficient, and `interval`, the question that the
        intervals answer.
    """
    lines = []
    for question, answers in group_by_question(file.answers).items():
        items = [each for each in list_item_answers(answers) if each.answer != CANNOT_TELL]
        shared = sum(count > 1 for count in Counter(each.item for each in items).values())
        head = {"question": question, "items": shared, "raters": len({each.rater for each in items})}
        notes = weigh_answers(answers)[1]
        for name, one in _estimate(items, question == PREFERENCE, is_rating(answers), raters):
            found = one.with_notes(*notes)
            value = None if math.isnan(found.value) else found.value
            lines.append({**head, "coefficient": name, "value": value, **describe_interval(found)})
    return {"file": str(file.path), "interval": QUESTIONS[raters], "questions": lines}


def _estimate(
    items: Sequence[ItemAnswer], preference: bool, rating: bool, raters: Raters
) -> Iterator[tuple[str, Estimate]]:
    """Yield each coefficient that fits the answers to a question, with its name."""
    item, rater, answer, cluster, weight = _list_columns(items)
    of = partial(krippendorff_alpha, item, rater, cluster=cluster, raters=raters, weight=weight)
    yield "alpha (nominal)", of(answer)
    if preference:
        decided = of(answer, excluded=(TIE, BOTH_BAD))
        yield "alpha (nominal) without ties", decided
    if rating:
        numbers = [float(each) for each in answer]
        ordered: tuple[Measurement, ...] = ("ordinal", "interval")
        for measurement in ordered:
            found = of(numbers, measurement=measurement)
            yield f"alpha ({measurement})", found
    yield from _estimate_kappas(items, raters)


def _list_columns(items: Sequence[ItemAnswer]) -> tuple[Sequence[Any], ...]:
    return tuple(zip(*items, strict=True)) or ((), (), (), (), ())


def _estimate_kappas(items: Sequence[ItemAnswer], raters: Raters) -> Iterator[tuple[str, Estimate]]:
    """Yield Cohen's kappa of two raters, or Fleiss' kappa if all shared items have as many answers."""
    by_item: dict[Any, dict[str, ItemAnswer]] = {}
    for each in items:
        by_item.setdefault(each.item, {})[each.rater] = each
    shared = [own for own in by_item.values() if len(own) > 1]
    people = sorted({each.rater for each in items})
    if shared and len(people) == 2:
        a, b = ([own[name].answer for own in shared] for name in people)
        first = [own[people[0]] for own in shared]
        weights = [each.weight for each in first]
        yield "kappa (Cohen)", cohen_kappa(a, b, [each.cluster for each in first], weight=weights)
    elif shared and len({len(own) for own in shared}) == 1:
        every = [each for own in shared for each in own.values()]
        item, rater, answer, cluster, weight = _list_columns(every)
        yield "kappa (Fleiss)", fleiss_kappa(item, rater, answer, cluster, raters=raters, weight=weight)
