"""Reasons why images are wrong, and what reaches the decision."""

import numpy as np
import pytest
from t2i_core.api import ObjectClass, Prompt, Relation, Scene, SceneObject
from t2i_geneval.options import GenEvalOptions
from t2i_geneval.rules import decide, select_objects
from t2i_geneval.tasks import TASKS, find_task

CAR, DOG = ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01")
LEFT, RIGHT = [0, 0, 40, 40], [120, 0, 160, 40]


@pytest.fixture
def reasons(detect):
    """Return a function that says why an image with these objects is wrong."""

    def find(scene, found, colours=(), **options):
        seen, settings = detect(found), GenEvalOptions(**options)
        task = find_task(Prompt("p", "p", scene), scene)
        selections = select_objects(scene, task, seen, settings)
        read = lambda clause, place: colours[clause][place]  # noqa: E731
        return decide(scene, task, selections, seen.boxes, read, settings).reasons

    return find


def things(*asked, relation=None):
    objects = tuple(SceneObject(*each) if isinstance(each, tuple) else SceneObject(each) for each in asked)
    return Scene(objects, (relation,) if relation else ())


@pytest.mark.parametrize(
    ("scene", "found", "expected"),
    [
        (things(CAR), {"car": [[*LEFT, 0.31]], "dog": []}, ()),
        (things(CAR), {"car": [[*LEFT, 0.3]]}, ("no car found",)),
        (things(CAR), {"dog": [[*LEFT, 0.9]]}, ("no car found",)),
        (things(CAR, DOG), {"car": [[*LEFT, 0.5]], "dog": [[*RIGHT, 0.9]]}, ()),
        (things(CAR, DOG), {}, ("no car found", "no dog found")),
        (things((CAR, None, 2)), {"car": [[*LEFT, 0.95], [*RIGHT, 0.95]]}, ()),
        (things((CAR, None, 2)), {"car": [[*LEFT, 0.95], [*RIGHT, 0.9]]}, ("counted 1 car, asked 2",)),
        (things((CAR, None, 2)), {"car": [[*LEFT, 0.95]] * 3}, ("counted 3 car, asked 2",)),
        (things((CAR, None, 2)), {"car": []}, ("counted 0 car, asked 2",)),
    ],
)
def test_objects_and_counts(reasons, scene, found, expected):
    assert reasons(scene, found) == expected


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ([["red"], ["blue"]], ()),
        ([["red"], ["green"]], ("dog is green, asked blue",)),
        ([["blue"], ["red"]], ("car is blue, asked red", "dog is red, asked blue")),
    ],
)
def test_colours(reasons, read, expected):
    scene = things((CAR, "red"), (DOG, "blue"))
    assert reasons(scene, {"car": [[*LEFT, 0.5]], "dog": [[*RIGHT, 0.5]]}, read) == expected


def test_no_colour_is_read_without_enough_objects(reasons):
    assert reasons(things((CAR, "red")), {"car": []}) == ("no car found",)


@pytest.mark.parametrize(
    ("predicate", "dog", "expected"),
    [
        ("left", LEFT, ()),
        ("right", LEFT, ("dog is left of car, asked right of",)),
        ("above", LEFT, ("dog is left of car, asked above",)),
        ("left", RIGHT, ("dog is in no clear relation to car, asked left of",)),
        ("right", [180, 60, 199, 79], ()),
        ("above", [180, 60, 199, 79], ("dog is right of and below car, asked above",)),
    ],
)
def test_positions(reasons, predicate, dog, expected):
    scene = things(CAR, DOG, relation=Relation(1, predicate, 0))
    assert reasons(scene, {"car": [[*RIGHT, 0.5]], "dog": [[*dog, 0.5]]}) == expected
    # the same with the target named last
    scene = things(DOG, CAR, relation=Relation(0, predicate, 1))
    assert reasons(scene, {"car": [[*RIGHT, 0.5]], "dog": [[*dog, 0.5]]}) == expected


def test_a_position_to_what_is_not_there_has_its_own_reason(reasons):
    scene = things(CAR, DOG, relation=Relation(1, "left", 0))
    assert reasons(scene, {"car": [], "dog": [[*LEFT, 0.5]]}) == ("no car found",)
    assert reasons(scene, {"car": [[*RIGHT, 0.5]], "dog": []}) == ("no dog found",)


def test_each_object_must_be_in_the_position_to_each_other(reasons):
    scene = Scene((SceneObject(CAR, count=2), SceneObject(DOG)), (Relation(1, "left", 0),))
    apart = {"car": [[*RIGHT, 0.5], [170, 0, 199, 40, 0.5]], "dog": [[*LEFT, 0.5]]}
    around = {"car": [[*RIGHT, 0.5], [*LEFT, 0.5]], "dog": [[60, 0, 100, 40, 0.5]]}
    assert reasons(scene, apart) == ()
    assert reasons(scene, around) == ("dog is right of car, asked left of",)


def test_thresholds_are_options(reasons):
    found = {"car": [[*LEFT, 0.6], [4, 0, 44, 40, 0.5]]}
    assert reasons(things(CAR), found, confidence=0.7) == ("no car found",)
    two = things((CAR, None, 2))
    assert reasons(two, found, counting_confidence=0.4) == ()
    assert reasons(two, found, counting_confidence=0.4, max_overlap=0.5) == ("counted 1 car, asked 2",)
    assert reasons(two, found, counting_confidence=0.4, max_objects=1) == ("counted 1 car, asked 2",)


def test_classes_are_matched_by_synset(detect):
    seen = detect({"auto": [[*LEFT, 0.9]]})
    labels = (ObjectClass("auto", "car.n.01"),)
    same = type(seen)(**{**vars(seen), "labels": labels})
    (selection,) = select_objects(things(CAR), "single_object", same, GenEvalOptions())
    np.testing.assert_array_equal(selection.kept, [0])


@pytest.mark.parametrize(
    ("scene", "task"),
    [
        (things(CAR), "single_object"),
        (things(CAR, DOG), "two_object"),
        (things((CAR, None, 3)), "counting"),
        (things((CAR, "red")), "colors"),
        (things(CAR, DOG, relation=Relation(0, "left", 1)), "position"),
        (things((CAR, "red"), DOG), "color_attr"),
    ],
)
def test_a_prompt_without_a_tag_has_the_task_that_its_scene_fits(scene, task):
    assert find_task(Prompt("p", "p", scene), scene) == task
    assert find_task(Prompt("p", "p", scene, {"tag": "else"}), scene) == task
    assert find_task(Prompt("p", "p", scene, {"tag": "counting"}), scene) == "counting"
    assert task in TASKS
