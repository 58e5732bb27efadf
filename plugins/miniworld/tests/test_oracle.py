import numpy as np
import pytest
from t2i_core import Failure, Image, Instance, ObjectClass, Query, Scene, SceneObject, Truth
from t2i_core.masks import PackedMask
from t2i_miniworld.oracle import Oracle
from t2i_miniworld.vocabulary import LABELS

CAR, DOG = ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01")


def instance(cls, colour, rows):
    mask = np.zeros((64, 64), bool)
    mask[rows] = True
    packed = PackedMask.pack(mask)
    return Instance(cls, colour, packed.box, packed)


def observe(capability, *instances, asked=None, text=None):
    image = Image("0" * 64, None, Truth((64, 64), instances, asked, "x"))
    query = Query((image,), (text,) if text else ())
    ((asked_back, answer),) = Oracle().observe(capability, [query])
    assert asked_back is query
    return answer


RED_CAR, PLAIN_DOG = instance(CAR, "red", slice(0, 10)), instance(DOG, None, slice(20, 40))


def test_segment_gives_the_truth_with_certainty():
    seen = observe("segment", RED_CAR, PLAIN_DOG)
    assert [seen.label(i) for i in range(len(seen))] == [CAR, DOG]
    assert seen.scores.tolist() == [1, 1]
    assert seen.boxes.tolist() == [[0, 0, 64, 10], [0, 20, 64, 40]]
    assert dict(zip(seen.colour_names, seen.colours[0], strict=True))["red"] == 1
    assert seen.colours[1].sum() == 0
    assert (seen.mask(0) == RED_CAR.mask.unpack()).all()


def test_nothing_drawn_is_nothing_seen():
    assert len(observe("segment")) == 0
    assert isinstance(observe("classify"), Failure)


def test_classify_gives_the_thing_that_shows_most():
    assert LABELS[int(observe("classify", RED_CAR, PLAIN_DOG).logits.argmax())] == DOG


@pytest.mark.parametrize(
    ("objects", "value"),
    [
        ((SceneObject(CAR, "red"), SceneObject(DOG)), 1.0),
        ((SceneObject(CAR, "blue"), SceneObject(DOG)), 0.5),
        ((SceneObject(CAR), SceneObject(CAR)), 0.5),
        ((SceneObject(DOG, "red"),), 0.0),
    ],
)
def test_reward_is_the_share_of_asked_things_that_are_right(objects, value):
    assert observe("reward", RED_CAR, PLAIN_DOG, asked=Scene(objects), text="x").value == value
    assert isinstance(observe("reward", RED_CAR, asked=Scene(objects), text="another text"), Failure)


def test_texts_and_images_embed_alike():
    image = observe("embed", RED_CAR, PLAIN_DOG).values
    ((_, right),) = Oracle().observe("embed", [Query(texts=("a photo of a red car and a dog",))])
    ((_, wrong),) = Oracle().observe("embed", [Query(texts=("a photo of a blue car and a dog",))])
    np.testing.assert_array_equal(image, right.values)
    assert image @ wrong.values < image @ right.values


def test_without_truth_there_is_no_answer():
    ((_, answer),) = Oracle().observe("segment", [Query((Image("0" * 64, None),))])
    assert "no truth" in answer.reason
