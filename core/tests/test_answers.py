"""The capability `answer`: questions, invalid answers to them, and adapters that ask a question."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import ClassScores, Preference, QuestionAnswer, Reward, Scene, SceneObject, VisualQuestion
from t2i_core.api.adapter import combine, expand, find_chain
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.failure import Failure
from t2i_core.api.image import Image
from t2i_core.api.judge import Query
from t2i_core.api.observation_codec import encode
from t2i_core.api.prompt import ObjectClass

CAR = ObjectClass("car", "car.n.01")
IMAGES = tuple(Image(digest, None) for digest in "abcd")


@pytest.mark.parametrize(
    ("question", "images"),
    [
        (VisualQuestion("Is there a car?", YES_NO), 1),
        (VisualQuestion("Is there a car?", YES_NO, scene=Scene((SceneObject(CAR, "red", 2),))), 1),
        (VisualQuestion("How good is it?", tuple("12345"), ordered=True), 1),
        (VisualQuestion("What is this?"), 1),
        (VisualQuestion("Which is better?", ("first", "second")), 2),
        (VisualQuestion("Which group is more diverse?", ("first", "second"), grids=(2, 2)), 4),
    ],
)
def test_a_query_holds_the_whole_question(question, images):
    query = question.about(*IMAGES[:images])
    assert VisualQuestion.of(query) == question
    assert query.texts == (question.text, *question.choices)
    with pytest.raises(ValueError, match="it must be about"):
        question.about(*IMAGES[:3])


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": " "},
        {"text": "x", "choices": ("yes",)},
        {"text": "x", "choices": ("yes", "yes")},
        {"text": "x", "scene": Scene((SceneObject(CAR),))},
    ],
)
def test_questions_that_nobody_can_answer_are_refused(wrong):
    with pytest.raises(ValueError, match="question"):
        VisualQuestion(**wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (QuestionAnswer(("no", "yes"), 0), "other choices than yes, no"),
        (QuestionAnswer(YES_NO, 2), "the choice 2 of 2"),
        (QuestionAnswer(YES_NO, True), "of type bool; it must be an index"),
        (QuestionAnswer(YES_NO, 0, np.array([0.5])), r"probs of shape \(1,\)"),
        (QuestionAnswer(YES_NO, 0, np.array([0.9, 0.9])), "whose sum is 1.8"),
        (QuestionAnswer(YES_NO, 0, np.array([1.1, -0.1])), "a probability of -0.1"),
        (QuestionAnswer(YES_NO, 0, np.array([np.nan, 0])), "not numbers"),
        (QuestionAnswer(YES_NO, 0, text=3), "of type int; it must be a text"),
    ],
)
def test_what_is_no_answer_is_not_kept(wrong, said):
    with pytest.raises((TypeError, ValueError), match=said):
        encode(wrong, "answer", None, VisualQuestion("?", YES_NO).about(IMAGES[0]))


def test_free_text_must_be_there():
    with pytest.raises(ValueError, match="gave no text"):
        encode(QuestionAnswer(text=" "), "answer", None, VisualQuestion("?").about(IMAGES[0]))


def test_the_expected_value_of_a_rating():
    rated = QuestionAnswer(tuple("123"), 2, np.array([0.0, 0.2, 0.6]))
    assert rated.expected_value((1, 2, 3)) == pytest.approx(2.75)
    assert QuestionAnswer(tuple("123"), 0).expected_value((1, 2, 3)) == 1
    assert QuestionAnswer(tuple("123"), None).expected_value((1, 2, 3)) is None


def ask_through(wanted, query, *answers):
    chain = find_chain(wanted, {"answer"})
    assert len(expand(chain, query)) == len(answers)
    return combine(chain, query, answers)


def test_a_reward_is_the_weight_of_a_yes():
    query = Query(IMAGES[:1], ("a red car",))
    (asked,) = expand(find_chain("reward", {"answer"}), query)
    assert asked.texts == ('Does this image show "a red car"?', "yes", "no")
    assert ask_through("reward", query, QuestionAnswer(YES_NO, 0, np.array([0.5, 0.5]))) == Reward(0.5)
    assert ask_through("reward", query, QuestionAnswer(YES_NO, 1)) == Reward(0)
    assert isinstance(ask_through("reward", query, QuestionAnswer(YES_NO, None)), Failure)


def test_classes_are_chosen_among_those_that_the_query_names():
    query = Query(IMAGES[:1], ("dog", "cat"))
    found = ask_through("classify", query, QuestionAnswer(query.texts, 1, np.array([0.2, 0.6])))
    assert isinstance(found, ClassScores)
    assert found.labels == (ObjectClass("dog"), ObjectClass("cat"))
    weights = np.exp(found.logits) / np.exp(found.logits).sum()
    np.testing.assert_allclose(weights, [0.25, 0.75], rtol=1e-5)
    assert isinstance(ask_through("classify", query, QuestionAnswer(query.texts, None)), Failure)
    assert isinstance(ask_through("classify", Query(IMAGES[:1])), Failure)


@pytest.mark.parametrize(
    ("chosen", "verdict"), [(0, "first"), (1, "second"), (2, "tie"), (3, "both_bad"), (None, "unparsable")]
)
def test_preferences_are_asked_about_both_images_at_once(chosen, verdict):
    query = Query(IMAGES[:2], ("a dog",))
    (asked,) = expand(find_chain("prefer", {"answer"}), query)
    assert asked.images == query.images
    found = ask_through("prefer", query, QuestionAnswer(asked.texts[1:], chosen, text="words"))
    assert found == Preference(verdict, None, "words")
