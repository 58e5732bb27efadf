"""The oracle's answers to questions about what a picture shows."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import (
    Failure,
    Image,
    Instance,
    ObjectClass,
    QuestionAnswer,
    Relation,
    Scene,
    SceneObject,
    Truth,
    VisualQuestion,
)
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.mask import PackedMask
from t2i_miniworld.options import OracleOptions
from t2i_miniworld.oracle import Oracle

CAR, DOG, HUMAN = (
    ObjectClass(*names) for names in (("car", "car.n.01"), ("dog", "dog.n.01"), ("human", "person.n.01"))
)
LEAF = {"car": "sedan.n.01", "dog": "retriever.n.01", "human": "person.n.01"}


def instance(cls, colour, left, **attributes):
    mask = np.zeros((64, 64), bool)
    mask[:10, left : left + 10] = True
    packed = PackedMask.pack(mask)
    return Instance(cls, colour, packed.box, packed, {"synset": LEAF[cls.name], **attributes})


RED_CAR, BLUE_CAR, DOG_RIGHT = instance(CAR, "red", 0), instance(CAR, "blue", 15), instance(DOG, None, 40)
WOMAN = instance(HUMAN, None, 0, hat="no", hair="long", coat="red")
SCENE = (RED_CAR, BLUE_CAR, DOG_RIGHT)


def ask(question, *shown, digest="0" * 64, **options):
    image = Image(digest, None, Truth((64, 64), shown, None, "x"))
    ((_, answer),) = Oracle(options=OracleOptions(**options)).observe("answer", [question.about(image)])
    return answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Is there a car in this image?", "yes"),  # one or more
        ("Is there at least one red car in this image?", "yes"),
        ("Is there at least one green car in this image?", "no"),
        ("Does this image show a red dog?", "no"),
        ("Are there exactly two cars in this image?", "yes"),
        ("Are there exactly 3 cars?", "no"),
        ("Is there exactly one dog?", "yes"),
        ("Is there an animal and a vehicle?", "yes"),
        ("Is the dog to the right of the red car?", "yes"),
        ("Is there a dog to the left of a car?", "no"),
        ("Is there a car to the left of another car in the picture?", "yes"),
        ("Does the picture show a red car and a dog, with the dog right of the car?", "yes"),
        ("Is the dog red?", "no"),
        ("Are there any giraffes?", "no"),
    ],
)
def test_yes_or_no(text, said):
    answer = ask(VisualQuestion(text, YES_NO), *SCENE)
    assert answer.choice == said
    assert answer.probs.tolist() == [float(said == "yes"), float(said == "no")]


@pytest.mark.parametrize(
    ("text", "choices", "said"),
    [
        ("How many cars are there?", ("0", "1", "2", "3"), "2"),
        ("How many red cars does this image show?", ("none", "one", "two"), "one"),
        ("How many dogs are there?", (), "1"),
        ("How many cars are there?", ("0", "1"), None),
        ("What colour is the dog?", ("red", "none"), "none"),
        ("What color is the red car?", (), "red"),
        ("Which of these does this image show?", ("a red car and a dog", "a green car", "a bird"), None),
    ],
)
def test_numbers_colours_and_descriptions(text, choices, said):
    answer = ask(VisualQuestion(text, choices), RED_CAR, BLUE_CAR, DOG_RIGHT)
    if text.startswith("Which"):
        assert answer.choice == "a red car and a dog"
    else:
        assert (answer.choice if choices else answer.text) == said


def test_people_are_described_by_what_they_wear():
    hats = ("a photo of a human with a hat", "a photo of a human without a hat")
    assert ask(VisualQuestion("Which of these texts describes the image best?", hats), WOMAN).choice == hats[1]
    coats = tuple(f"a photo of a human in a {colour} coat" for colour in ("green", "red"))
    assert ask(VisualQuestion("Which of these texts describes the image best?", coats), WOMAN).choice == coats[1]


@pytest.mark.parametrize(
    "text",
    [
        "Is the dog asleep?",
        "Is there no dog in this image?",
        "Are there at least two cars?",
        "Is there a dog on the left?",
        "Is it a nice picture?",
        "Is there a dog or a cat?",
        "Is the car that is near the dog red and clean?",
    ],
)
def test_a_question_that_it_cannot_read_is_a_failure_that_says_so(text):
    answer = ask(VisualQuestion(text, YES_NO), *SCENE)
    assert isinstance(answer, Failure)
    assert text in answer.reason


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (VisualQuestion("How does it feel?"), SCENE),
        (VisualQuestion("Which of these does this image show?", ("a car", "a dog")), SCENE),  # both are true
        (VisualQuestion("What colour is the car?"), SCENE),  # one is red, one blue
    ],
)
def test_a_question_without_one_true_answer_is_a_failure(question, shown):
    assert isinstance(ask(question, *shown), Failure)


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (Scene((SceneObject(CAR, count=2),)), "yes"),
        (Scene((SceneObject(CAR, count=3),)), "no"),
        (Scene((SceneObject(ObjectClass("automobile", "car.n.01"), "blue"),)), "yes"),
        (Scene((SceneObject(DOG), SceneObject(CAR)), (Relation(0, "right", 1),)), "yes"),
        (Scene((SceneObject(ObjectClass("unicorn", "unicorn.n.01")),)), "no"),
    ],
)
def test_a_scene_is_compared_instead_of_the_words(scene, said):
    assert ask(VisualQuestion("Is all of it there?", YES_NO, scene=scene), *SCENE).choice == said


def test_it_errs_at_the_rate_that_is_set_and_the_same_way_each_time():
    question = VisualQuestion("Is there a car?", YES_NO)

    def wrong():
        return [ask(question, RED_CAR, digest=f"{n:064}", answer_error=0.3).choice == "no" for n in range(1000)]

    assert np.mean(wrong()) == pytest.approx(0.3, abs=0.05)
    assert wrong() == wrong()
    colours = VisualQuestion("What colour is the car?", ("red", "blue", "green"))
    others = {ask(colours, RED_CAR, digest=f"{n:064}", answer_error=1).choice for n in range(50)}
    assert others == {"blue", "green"}


def test_two_images_and_images_without_truth_are_failures():
    image = Image("0" * 64, None)
    question = VisualQuestion("Which image is better?", ("first", "second"))
    ((_, answer),) = Oracle().observe("answer", [question.about(image, image)])
    assert isinstance(answer, Failure)
    ((_, answer),) = Oracle().observe("answer", [VisualQuestion("Is there a car?", YES_NO).about(image)])
    assert isinstance(answer, Failure)
    assert isinstance(ask(VisualQuestion("Is there a car?", YES_NO), RED_CAR), QuestionAnswer)
