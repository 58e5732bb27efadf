"""Values of answers, parents, and rules for the score, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import ClassScores, Detections, Failure, ObjectClass, QuestionAnswer, Reward
from t2i_yaml_benchmarks.answer_values import QuestionValue, read_answer
from t2i_yaml_benchmarks.benchmark import ScoreRule
from t2i_yaml_benchmarks.question_fields import AskedQuestion, ClassifyQuestion, DetectQuestion, RewardQuestion
from t2i_yaml_benchmarks.scoring import apply_parents, score_categories, score_image

CAR, DOG = ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01")
SEEN = Detections(
    size=(8, 8),
    boxes=np.array([[0, 0, 1, 1], [1, 1, 2, 2], [2, 2, 3, 3]], np.float32),
    scores=np.array([0.9, 0.8, 0.4], np.float32),
    classes=np.array([0, 0, 1], np.int16),
    labels=(CAR, DOG),
)


def asked(**fields: object) -> AskedQuestion:
    return AskedQuestion.model_validate({"text": "t?", **fields})


def value_of(question: object, observed: object) -> float | str:
    """Return the value of an answer, or why it has none."""
    found = read_answer(question, observed)  # type: ignore[arg-type]
    return found.reason if isinstance(found, Failure) else found.value


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [
        (asked(), QuestionAnswer(("yes", "no"), 0), 1),
        (asked(), QuestionAnswer(("yes", "no"), 1), 0),
        (asked(answer="no"), QuestionAnswer(("yes", "no"), 1), 1),
        (asked(), QuestionAnswer(("yes", "no")), "the judge answered neither yes nor no"),
        (asked(by="probability"), QuestionAnswer(("yes", "no"), 0, np.array([0.6, 0.1])), 0.6),
        (asked(by="probability"), QuestionAnswer(("yes", "no"), 0), "the judge gave no probabilities"),
        (
            asked(choices=["a", "b", "c"], answers=["a", "c"], by="probability"),
            QuestionAnswer(("a", "b", "c"), 0, np.array([0.5, 0.25, 0.125])),
            0.625,
        ),
        (asked(choices=[0, 1, 2], values=[0, 0.5, 1]), QuestionAnswer(("0", "1", "2"), 1), 0.5),
        (
            asked(choices=[0, 1, 2], values=[0, 0.5, 1], by="probability"),
            QuestionAnswer(("0", "1", "2"), 1, np.array([0.0, 0.25, 0.25])),
            0.75,
        ),
        (DetectQuestion(detect="car"), SEEN, 1),
        (DetectQuestion(detect="auto", synset="car.n.01", count=2), SEEN, 1),
        (DetectQuestion(detect="car", count=1), SEEN, 0),
        (DetectQuestion(detect="car", at_least=3), SEEN, 0),
        (DetectQuestion(detect="dog"), SEEN, 0),
        (DetectQuestion(detect="dog", confidence=0.3), SEEN, 1),
        (DetectQuestion(detect="cow"), SEEN, "the judge does not know 'cow'"),
        (
            ClassifyQuestion(classify="dog", classes=("dog", "car")),
            ClassScores(np.array([0, 1], np.float32), (CAR, DOG)),
            1,
        ),
        (
            ClassifyQuestion(classify="car", classes=("dog", "car")),
            ClassScores(np.array([0, 1], np.float32), (CAR, DOG)),
            0,
        ),
        (
            ClassifyQuestion(classify="car", classes=("dog", "car"), by="probability"),
            ClassScores(np.log(np.array([1, 3], np.float32)), (CAR, DOG)),
            0.25,
        ),
        (
            ClassifyQuestion(classify="cow", classes=("dog", "cow")),
            ClassScores(np.array([0, 1], np.float32), (CAR, DOG)),
            "the judge does not know 'cow'",
        ),
        (RewardQuestion(reward="t"), Reward(-2.5), -2.5),
    ],
)
def test_value_of_an_answer(question: object, answer: object, value: float | str) -> None:
    found = value_of(question, answer)
    assert found == (value if isinstance(value, str) else pytest.approx(value))


def test_a_wrong_answer_says_why() -> None:
    found = read_answer(DetectQuestion(detect="car", count=1), SEEN)
    assert isinstance(found, QuestionValue)
    assert found.because == "car: 2 found, 1 asked"
    assert [each.box for each in found.evidence] == [(0, 0, 1, 1), (1, 1, 2, 2)]


def test_a_wrong_parent_makes_its_children_0_and_no_grandchildren() -> None:
    questions = [asked(id="1"), asked(id="2", parents=["1"]), asked(id="3", parents=["2"])]
    values = apply_parents(
        questions, [QuestionValue(0, False, "t? no"), QuestionValue(1, True), QuestionValue(1, True)]
    )
    assert [each.value for each in values] == [0, 0, 1]
    assert values[1].because == "question 2: its parent 1 is answered wrong"


def test_a_wrong_parent_gives_a_rating_its_lowest_value() -> None:
    rating = asked(id="2", parents=["1"], choices=[1, 2, 3], values=[1, 2, 3])
    values = apply_parents([asked(id="1"), rating], [QuestionValue(0, False, "t? no"), QuestionValue(3)])
    assert [each.value for each in values] == [0, 1]


QUESTIONS = [asked(category="a", weight=3), asked(category="a"), asked(category="b")]
VALUES = [QuestionValue(1, True), QuestionValue(0, False), QuestionValue(0.5)]


@pytest.mark.parametrize(
    ("rule", "score"),
    [
        ({"rule": "mean"}, 3.5 / 5),
        ({"rule": "product"}, 0),
        ({"weights": {"a": 3, "b": 1}}, (3 * 0.75 + 0.5) / 4),
        ({"at_least": 0.7}, 1),
        ({"at_least": 0.71}, 0),
    ],
)
def test_rules_of_the_score(rule: dict[str, object], score: float) -> None:
    assert score_image(ScoreRule.model_validate(rule), QUESTIONS, VALUES) == pytest.approx(score)


def test_all_and_any() -> None:
    decided = VALUES[:2]
    assert score_image(ScoreRule(rule="all"), QUESTIONS[:2], decided) == 0
    assert score_image(ScoreRule(rule="any"), QUESTIONS[:2], decided) == 1


def test_weights_hold_for_the_categories_that_a_prompt_has() -> None:
    rule = ScoreRule(weights={"a": 3, "b": 1})
    assert score_image(rule, QUESTIONS[2:], VALUES[2:]) == 0.5
    assert score_categories(QUESTIONS, VALUES) == {"a": 0.75, "b": 0.5}
