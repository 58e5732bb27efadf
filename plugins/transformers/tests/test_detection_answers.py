"""Answers to questions by what a detector finds: the reading of questions, and probabilities computed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    Detections,
    Failure,
    JudgeInfo,
    ObjectClass,
    Query,
    QuestionAnswer,
    Relation,
    Scene,
    SceneObject,
    VisualQuestion,
)
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.image import Image
from t2i_core.io.scene_grammar import UnreadText
from t2i_core.io.vocabulary import Vocabulary
from t2i_core.testing import JudgeContract
from t2i_transformers import detection_answers
from t2i_transformers.detection_answers import (
    UnansweredQuestion,
    answer_by_detections,
    compute_fits,
    compute_scene_probability,
)
from t2i_transformers.scene_questions import (
    Asked,
    AskedChoice,
    AskedColour,
    AskedNumber,
    AskedScene,
    read_question,
)

DOG, CAT, BUS = LABELS = tuple(map(ObjectClass, ("dog", "cat", "bus")))
COLOURS = ("red", "blue", "natural")
VOCABULARY = Vocabulary("the test", LABELS)
Thing = tuple[str, float, Sequence[float], str]
LEFT, RIGHT, BELOW = (0, 0, 8, 8), (17, 4, 25, 12), (0, 20, 8, 28)


def see(*things: Thing) -> Detections:
    """Return detections: names, confidences, boxes and colours."""
    return Detections(
        size=(32, 32),
        boxes=np.array([box for _, _, box, _ in things], np.float32).reshape(-1, 4),
        scores=np.array([score for _, score, _, _ in things], np.float32),
        classes=np.array([[each.name for each in LABELS].index(name) for name, *_ in things], np.int16),
        labels=LABELS,
        colours=np.array(
            [[0.8 if colour == each else 0.1 for each in COLOURS] for *_, colour in things], np.float32
        ).reshape(-1, 3),
        colour_names=COLOURS,
    )


SEEN = see(
    ("dog", 0.9, LEFT, "red"), ("dog", 0.8, RIGHT, "blue"), ("dog", 0.3, BELOW, "red"), ("cat", 0.6, BELOW, "red")
)
"""Dogs with .9, .8 and .3, of which a red one with .72, .08 and .24; a cat with .6."""


def scene(*objects: SceneObject, relations: Sequence[Relation] = ()) -> Scene:
    return Scene(objects, tuple(relations))


READ: tuple[tuple[str, tuple[str, ...], Asked], ...] = (
    ("Is there a dog?", YES_NO, AskedScene(scene(SceneObject(DOG)))),
    ("Is there a red bus in this image?", YES_NO, AskedScene(scene(SceneObject(BUS, "red")))),
    ("Are there two dogs?", YES_NO, AskedScene(scene(SceneObject(DOG, count=2)), frozenset({0}))),
    ("Is there exactly one dog?", YES_NO, AskedScene(scene(SceneObject(DOG)), frozenset({0}))),
    ("Are there at least two dogs?", YES_NO, AskedScene(scene(SceneObject(DOG, count=2)))),
    ("Are there more than two blue buses?", YES_NO, AskedScene(scene(SceneObject(BUS, "blue", 3)))),
    ("Is the dog red?", ("No", "Yes"), AskedScene(scene(SceneObject(DOG, "red")))),
    ("Are the dogs grey?", YES_NO, AskedScene(scene(SceneObject(DOG, "gray")))),
    (
        "Is the red dog to the left of the cat?",
        YES_NO,
        AskedScene(scene(SceneObject(DOG, "red"), SceneObject(CAT), relations=[Relation(0, "left", 1)])),
    ),
    (
        'Does this figure show "a photo of two dogs and a cat"?',
        YES_NO,
        AskedScene(scene(SceneObject(DOG, count=2), SceneObject(CAT)), frozenset({0})),
    ),
    ("Does this image show a dog above a cat?", YES_NO,
     AskedScene(scene(SceneObject(DOG), SceneObject(CAT), relations=[Relation(0, "above", 1)]))),
    ("a red dog?", YES_NO, AskedScene(scene(SceneObject(DOG, "red")))),
    ("How many dogs are there?", ("0", "1"), AskedNumber(SceneObject(DOG))),
    ("How many red buses are there in the picture?", (), AskedNumber(SceneObject(BUS, "red"))),
    ("What colour is the bus?", ("red", "blue"), AskedColour(SceneObject(BUS))),
    ("Which color are the dogs?", (), AskedColour(SceneObject(DOG))),
    (
        "Which of these does the picture show?",
        ("a dog", "one cat"),
        AskedChoice((AskedScene(scene(SceneObject(DOG))), AskedScene(scene(SceneObject(CAT)), frozenset({0})))),
    ),
)  # fmt: skip


@pytest.mark.parametrize(("text", "choices", "asked"), READ, ids=[text for text, _, _ in READ])
def test_questions_are_read(text: str, choices: tuple[str, ...], asked: Asked) -> None:
    assert read_question(VisualQuestion(text, choices), VOCABULARY) == asked


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("Is there a giraffe?", YES_NO),
        ("Is there no dog?", YES_NO),
        ("Is the dog happy?", YES_NO),
        ("Is the red dog blue?", YES_NO),
        ("What is the dog doing?", ("sleeping", "eating")),
        ("How many dogs and cats are there?", ("1", "2")),
        ("Is this a good photo?", YES_NO),
        ("Who is there?", YES_NO),
        ("Which dog is larger?", ("the left one", "the right one")),
    ],
)
def test_other_questions_are_not_read(text: str, choices: tuple[str, ...]) -> None:
    with pytest.raises(UnreadText):
        read_question(VisualQuestion(text, choices), VOCABULARY)


def test_a_scene_takes_the_place_of_words() -> None:
    asked = read_question(VisualQuestion("Wuff?", YES_NO, scene=scene(SceneObject(DOG, count=2))), VOCABULARY)
    assert asked == AskedScene(scene(SceneObject(DOG, count=2)))


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("Is there a dog?", 0.9),
        ("Is there a cat?", 0.6),
        ("Is there a bus?", 0),
        ("Are there at least two dogs?", 0.9 * 0.8),
        ("Are there exactly two dogs?", 0.9 * 0.8 * (1 - 0.3)),
        ("Are there more than two dogs?", 0.9 * 0.8 * 0.3),
        ("Are there more than three dogs?", 0),
        ("Is there one dog?", 0.9 * (1 - 0.8)),
        ("Is the dog red?", 0.72),
        ("Is there a red dog and a blue dog?", 0.72 * 0.64),
        ("Is the dog to the left of the cat?", 0.8 * 0 + 0),
        ("Is the dog above the cat?", 0.9 * 0.6),
        ("Is the red dog to the right of the cat?", 0.08 * 0.6),
        ('Does this figure show "a photo of two dogs and a cat"?', 0.9 * 0.8 * 0.6 * (1 - 0.3)),
    ],
)
def test_the_probability_of_yes(text: str, yes: float) -> None:
    question = VisualQuestion(text, YES_NO)
    found = answer_by_detections(question, read_question(question, VOCABULARY), SEEN)
    assert found.probs is not None
    assert found.probs == pytest.approx([yes, 1 - yes], abs=1e-6)
    assert found.choice == ("yes" if yes > 0.5 else "no")


def test_numbers_and_colours() -> None:
    numbers = [0.1, 0.9 * 0.2, 0.72 * 0.7, 0.72 * 0.3]
    question = VisualQuestion("How many dogs are there?", ("zero", "one", "two", "four"))
    found = answer_by_detections(question, AskedNumber(SceneObject(DOG)), SEEN)
    assert found.probs == pytest.approx([*numbers[:3], 0], abs=1e-6)
    assert found.choice == "two"
    assert sum(numbers) == pytest.approx(1)
    assert answer_by_detections(VisualQuestion("How many?"), AskedNumber(SceneObject(BUS)), SEEN).text == "0"
    colours = answer_by_detections(
        VisualQuestion("What colour is the dog?", ("blue", "red")), AskedColour(SceneObject(DOG)), SEEN
    )
    assert colours.probs == pytest.approx([0.09, 0.72], abs=1e-6)
    assert colours.choice == "red"


def test_the_choice_of_scenes_has_sum_1() -> None:
    asked = AskedChoice(tuple(AskedScene(scene(SceneObject(each))) for each in (DOG, CAT, BUS)))
    found = answer_by_detections(VisualQuestion("Which of these?", ("a dog", "a cat", "a bus")), asked, SEEN)
    assert found.probs == pytest.approx([0.6, 0.4, 0], abs=1e-6)
    nothing = answer_by_detections(VisualQuestion("Which of these?", ("a dog", "a cat", "a bus")), asked, see())
    assert nothing.chosen is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (AskedScene(scene(SceneObject(ObjectClass("owl")))), "does not know the class 'owl'"),
        (AskedScene(scene(SceneObject(DOG, "pink"))), "does not know the colour 'pink'"),
        (AskedScene(scene(SceneObject(DOG, attributes={"hat": "yes"}))), "does not know the attribute 'hat'"),
        (AskedColour(SceneObject(BUS)), "finds no bus"),
    ],
)
def test_unknown_classes_colours_and_attributes_are_refused(asked: Asked, message: str) -> None:
    with pytest.raises(UnansweredQuestion, match=message):
        answer_by_detections(VisualQuestion("?", () if isinstance(asked, AskedColour) else YES_NO), asked, SEEN)


DOGS, CATS = (
    tuple((name, 0.9, (x, y, x + 2, y + 2), "red") for x in range(0, 30, 3))
    for name, y in (("dog", 20), ("cat", 0))
)


@pytest.mark.parametrize(
    ("asked", "objects"),
    [
        (scene(SceneObject(DOG, count=10), SceneObject(CAT, count=11)), None),
        (scene(SceneObject(DOG, count=5), SceneObject(DOG, "red", 5)), 10),
        (scene(SceneObject(DOG, count=9), SceneObject(CAT, count=9), relations=[Relation(0, "above", 1)]), None),
        (scene(SceneObject(DOG, count=9), SceneObject(CAT, count=9), relations=[Relation(0, "below", 1)]), 18),
    ],
)
def test_many_objects_are_assigned_at_once(
    asked: Scene, objects: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def count_looks(relation: Relation, seen: Detections, taken: Mapping[int, int]) -> bool:
        nonlocal looks
        looks += 1
        assert looks <= 1000, "tries too many assignments"
        return holds(relation, seen, taken)

    holds = detection_answers._holds
    monkeypatch.setattr(detection_answers, "_holds", count_looks)
    reds = sum(each.count for each in asked.objects if each.colour)
    expected = 0 if objects is None else 0.9**objects * 0.8**reds
    assert compute_scene_probability(AskedScene(asked), see(*DOGS, *CATS)) == pytest.approx(expected, rel=1e-5)


def test_the_assignment_is_the_likeliest_of_all() -> None:
    rng = np.random.default_rng(0)
    values = []
    for _ in range(300):
        seen = see(
            *(
                (
                    ("dog", "cat")[rng.integers(2)],
                    rng.uniform(0.3, 1),
                    (x, y, x + 2, y + 2),
                    COLOURS[rng.integers(2)],
                )
                for x, y in rng.integers(0, 30, (5, 2))
            )
        )
        asked = Scene(
            tuple(
                SceneObject(
                    LABELS[rng.integers(2)], (None, "red", "blue")[rng.integers(3)], int(rng.integers(1, 3))
                )
                for _ in range(3)
            ),
            tuple(
                Relation(subject, str(rng.choice(["left", "right", "above", "below"])), other)
                for subject, other in ((0, 1), (1, 2))[: rng.integers(3)]
            ),
        )
        values.append(compute_scene_probability(AskedScene(asked), seen))
        assert values[-1] == pytest.approx(try_all(asked, seen), abs=1e-9), (asked, seen)
    assert 20 < sum(value > 0 for value in values) < 280


def try_all(asked: Scene, seen: Detections) -> float:
    """Return the highest probability of all assignments; the last object of a kind has its relations."""
    things = [number for number, one in enumerate(asked.objects) for _ in range(one.count)]
    fits = [compute_fits(one, seen) for one in asked.objects]
    return max(
        (
            float(np.prod([fits[thing][at] for thing, at in zip(things, places, strict=True)]))
            * all(
                detection_answers._holds(each, seen, dict(zip(things, places, strict=True)))
                for each in asked.relations
            )
            for places in permutations(range(len(seen)), len(things))
        ),
        default=0.0,
    )


class TestContract(JudgeContract):
    module = "t2i_transformers.plugin"
    name = "detector-vqa"

    @pytest.fixture(autouse=True)
    def _folder(self, coloured_rt_detr: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(coloured_rt_detr))

    @pytest.fixture
    def text(self, info: JudgeInfo) -> str:
        """A text with a class that the detector knows: questions about others are failures."""
        assert info.labels is not None
        return f"a photo of a {info.labels(self.argument, info.options())[0].name}"


def test_the_network_sees_each_image_once(tiny: Any, coloured_rt_detr: Path, images: list[Image]) -> None:
    judge = tiny.made("detector-vqa", coloured_rt_detr, 4, floor=0)
    seen: list[str] = []
    detect = judge.detect

    def count_images(queries: list[Query]) -> list[Detections]:
        seen.extend(query.images[0].digest for query in queries)
        found: list[Detections] = detect(queries)
        return found

    judge.detect = count_images
    name = judge._labels[0].name
    questions = [VisualQuestion(f"Is there a {name}?", YES_NO), VisualQuestion("Is it good?", YES_NO)]
    questions.append(VisualQuestion(f"How many {name} are there?", tuple("012")))
    first, second = images[:2]
    queries = [question.about(image) for image in (first, second) for question in questions]
    answers = [answer for _, answer in judge.observe("answer", [*queries, questions[0].about(first, second)])]
    assert seen == [first.digest, second.digest]
    assert [type(answer) for answer in answers] == [QuestionAnswer, Failure, QuestionAnswer] * 2 + [Failure]
    assert "'Is it good?'" in answers[1].reason
    assert "questions about one image" in answers[-1].reason
