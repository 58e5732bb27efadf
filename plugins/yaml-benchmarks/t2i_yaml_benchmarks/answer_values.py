"""Queries of questions, and what the answers are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from t2i_core.api import (
    ClassScores,
    Detections,
    Evidence,
    Failure,
    ObjectClass,
    Query,
    QuestionAnswer,
    Reward,
    Sample,
    Scene,
    VisualQuestion,
)

from t2i_yaml_benchmarks.question_fields import (
    AskedQuestion,
    ClassifyQuestion,
    DetectQuestion,
    Question,
    RewardQuestion,
)

Observed = QuestionAnswer | Detections | ClassScores | Reward


@dataclass(frozen=True)
class QuestionValue:
    """The value of the answer to one question.

    Attributes:
        value: The value.
        is_right: For questions with right and wrong answers: whether it is right. None for all others.
        because: Why it is not right, in words; empty if it is.
        evidence: The parts of the image that show why.
    """

    value: float
    is_right: bool | None = None
    because: str = ""
    evidence: tuple[Evidence, ...] = ()


def make_query(question: Question, sample: Sample) -> Query:
    """Return the query that asks a question about a sample's image."""
    assert sample.image is not None
    match question:
        case AskedQuestion():
            scene = None if question.scene is None else Scene.from_json(question.scene)
            rating = question.values is not None
            return VisualQuestion(question.text, question.choices, ordered=rating, scene=scene).about(sample.image)
        case DetectQuestion():
            return Query((sample.image,), (question.detect,))
        case ClassifyQuestion():
            return Query((sample.image,), question.classes)
        case RewardQuestion():
            return Query((sample.image,), (question.reward,))


def list_classes(question: Question) -> tuple[ObjectClass, ...]:
    """Return the classes that a judge must know to answer a question; none for questions in words."""
    match question:
        case DetectQuestion():
            return (ObjectClass(question.detect, question.synset),)
        case ClassifyQuestion():
            return tuple(map(ObjectClass, question.classes))
    return ()


def read_answer(question: Question, observed: Observed) -> QuestionValue | Failure:
    """Return what the answer to a question is worth, or why it is worth nothing."""
    match question, observed:
        case AskedQuestion(), QuestionAnswer():
            return _read_choice(question, observed)
        case DetectQuestion(), Detections():
            return _read_detections(question, observed)
        case ClassifyQuestion(), ClassScores():
            return _read_classes(question, observed)
        case RewardQuestion(), Reward():
            return QuestionValue(observed.value)
    raise TypeError(f"a question of the kind {question.kind!r} has an answer of type {type(observed).__name__}")


def _read_choice(question: AskedQuestion, answer: QuestionAnswer) -> QuestionValue | Failure:
    if question.values is not None:
        if question.by == "probability":
            value = answer.expected_value(question.values)
        else:
            value = None if answer.chosen is None else question.values[answer.chosen]
        return answer.explain_no_choice() if value is None else QuestionValue(value)
    right = [choice in question.right for choice in answer.choices]
    if question.by == "probability":
        if answer.probs is None:
            return Failure("the judge gave no probabilities")
        return QuestionValue(float(min(answer.probs[right].sum(), 1)))
    if answer.chosen is None:
        return answer.explain_no_choice()
    if right[answer.chosen]:
        return QuestionValue(1, True)
    return QuestionValue(0, False, f"{question.text} {answer.choice}")


def _read_detections(question: DetectQuestion, found: Detections) -> QuestionValue | Failure:
    (wanted,) = list_classes(question)
    known = [wanted.same_as(label) for label in found.labels]
    if not any(known) and len(found) == 0 and not found.labels:
        known = []
    elif not any(known):
        return Failure(f"the judge does not know {question.detect!r}")
    kept = [
        index
        for index in range(len(found))
        if known[int(found.classes[index])] and found.scores[index] >= question.confidence
    ]
    asked = question.count if question.count is not None else question.at_least or 1
    right = len(kept) == asked if question.count is not None else len(kept) >= asked
    if right:
        return QuestionValue(1, True)
    more = "" if question.count is not None else " or more"
    boxes = tuple(
        Evidence(question.detect, (float(x0), float(y0), float(x1), float(y1)))
        for x0, y0, x1, y1 in found.boxes[kept]
    )
    return QuestionValue(0, False, f"{question.detect}: {len(kept)} found, {asked}{more} asked", boxes)


def _read_classes(question: ClassifyQuestion, scores: ClassScores) -> QuestionValue | Failure:
    places = [_find_class(name, scores.labels) for name in question.classes]
    if None in places:
        return Failure(f"the judge does not know {question.classes[places.index(None)]!r}")
    logits = scores.logits[np.array(places)].astype(np.float64)
    wanted = question.classes.index(question.classify)
    if question.by == "probability":
        weights = np.exp(logits - logits.max())
        return QuestionValue(float(weights[wanted] / weights.sum()))
    chosen = int(logits.argmax())
    if chosen == wanted:
        return QuestionValue(1, True)
    return QuestionValue(0, False, f"{question.classify}: taken for {question.classes[chosen]}")


def _find_class(name: str, labels: Sequence[ObjectClass]) -> int | None:
    return next((number for number, label in enumerate(labels) if label.name == name), None)
