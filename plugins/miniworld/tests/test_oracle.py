import numpy as np
import pytest
from t2i_core.api import Failure, Image, Instance, ObjectClass, Query, Relation, Scene, SceneObject, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld.options import OracleOptions
from t2i_miniworld.oracle import Oracle
from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS

CAR, DOG, HUMAN = (
    ObjectClass(*names) for names in (("car", "car.n.01"), ("dog", "dog.n.01"), ("human", "person.n.01"))
)
ANIMAL, OWL = ObjectClass("animal", "animal.n.01"), ObjectClass("owl", "owl.n.01")
LEAF = {"car": "sedan.n.01", "dog": "retriever.n.01", "human": "person.n.01"}


def instance(cls, colour, rows, **attributes):
    mask = np.zeros((64, 64), bool)
    mask[rows] = True
    packed = PackedMask.pack(mask)
    return Instance(cls, colour, packed.box, packed, {"synset": LEAF[cls.name], **attributes})


def observe(capability, *instances, asked=None, text=None, labels=LABELS):
    image = Image("0" * 64, None, Truth((64, 64), instances, asked, "x"))
    query = Query((image,), (text,) if text else ())
    ((asked_back, answer),) = Oracle(labels).observe(capability, [query])
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


def test_with_leaves_for_labels_it_answers_in_leaves():
    scores = observe("classify", RED_CAR, PLAIN_DOG, labels=LEAF_LABELS)
    assert scores.labels[int(scores.logits.argmax())] == ObjectClass("retriever", "retriever.n.01")
    seen = observe("detect", RED_CAR, PLAIN_DOG, labels=LEAF_LABELS)
    assert [seen.label(i).synset for i in range(2)] == ["sedan.n.01", "retriever.n.01"]
    assert seen.class_probs.shape == (2, 37)


@pytest.mark.parametrize(
    ("objects", "value"),
    [
        ((SceneObject(ANIMAL),), 1.0),
        ((SceneObject(OWL),), 0.0),
        ((SceneObject(ObjectClass("sedan", "sedan.n.01"), "red"), SceneObject(ANIMAL)), 1.0),
        # the dog answers "dog", the car "artifact": whatever the order in which they are asked for
        ((SceneObject(ObjectClass("entity", "entity.n.01")), SceneObject(CAR)), 1.0),
        ((SceneObject(CAR, count=2), SceneObject(DOG)), 2 / 3),
        ((SceneObject(CAR, "red"), SceneObject(DOG)), 1.0),
        ((SceneObject(CAR, "blue"), SceneObject(DOG)), 0.5),
        ((SceneObject(CAR), SceneObject(CAR)), 0.5),
        ((SceneObject(DOG, "red"),), 0.0),
    ],
)
def test_reward_is_the_share_of_asked_things_that_are_right(objects, value):
    assert observe("reward", RED_CAR, PLAIN_DOG, asked=Scene(objects), text="x").value == value
    assert isinstance(observe("reward", RED_CAR, asked=Scene(objects), text="another text"), Failure)


@pytest.mark.parametrize(
    ("predicate", "value"), [("above", 1.0), ("below", 2 / 3), ("left", 2 / 3), ("right", 2 / 3)]
)
def test_reward_counts_relations_by_the_centres_of_boxes(predicate, value):
    asked = Scene((SceneObject(CAR), SceneObject(DOG)), (Relation(0, predicate, 1),))
    assert observe("reward", RED_CAR, PLAIN_DOG, asked=asked, text="x").value == pytest.approx(value)
    # Without the dog nothing is left but the car.
    assert observe("reward", RED_CAR, asked=asked, text="x").value == pytest.approx(1 / 3)


def test_reward_counts_attributes():
    human = instance(HUMAN, None, slice(0, 30), coat="red", hat="yes", hair="long")
    for attributes, value in (({"hat": "yes", "coat": "red"}, 1), ({"hat": "no"}, 0)):
        asked = Scene((SceneObject(HUMAN, attributes=attributes),))
        assert observe("reward", human, asked=asked, text="x").value == value


def preferred(first, second, **options):
    """The verdict on two images of a car and a dog, by what each shows; `number` draws the judge's errors."""
    number = options.pop("number", 0)
    asked = Scene((SceneObject(CAR), SceneObject(DOG)))
    images = tuple(
        Image(f"{number}{place}".zfill(64), None, Truth((64, 64), drawn, asked, "x"))
        for place, drawn in enumerate((first, second))
    )
    ((_, answer),) = Oracle(options=OracleOptions(**options)).observe("prefer", [Query(images, ("x",))])
    return answer


def test_the_image_with_more_of_what_is_asked_is_preferred():
    both, one, other = (RED_CAR, PLAIN_DOG), (RED_CAR,), (PLAIN_DOG,)
    assert [preferred(both, one).verdict, preferred(one, both).verdict] == ["first", "second"]
    assert (preferred(one, other).verdict, preferred(both, one).margin) == ("tie", 0.5)


def test_preferences_err_at_the_rates_that_are_set():
    both, one = (RED_CAR, PLAIN_DOG), (RED_CAR,)
    wrong = [preferred(both, one, prefer_error=0.3, number=n).verdict == "second" for n in range(500)]
    assert np.mean(wrong) == pytest.approx(0.3, abs=0.07)
    biased = [preferred(one, both, prefer_first=0.3, number=n).verdict == "first" for n in range(500)]
    assert np.mean(biased) == pytest.approx(0.3, abs=0.07)
    again = [preferred(one, both, prefer_first=0.3, number=n).verdict == "first" for n in range(500)]
    assert again == biased
    assert preferred(one, one, prefer_error=1).verdict == "tie"


def test_preferences_know_no_other_text_and_need_the_truth():
    image = Image("0" * 64, None, Truth((64, 64), (RED_CAR,), Scene((SceneObject(CAR),)), "x"))
    for images, text in (((image, image), "y"), ((image, Image("1" * 64, None)), "x")):
        ((_, answer),) = Oracle().observe("prefer", [Query(images, (text,))])
        assert isinstance(answer, Failure)


def test_texts_and_images_embed_as_they_are_asked():
    image = observe("embed", RED_CAR, PLAIN_DOG)
    (_, right), (_, wrong), (_, nothing) = Oracle().observe(
        "embed", [Query(texts=(text,)) for text in ("a red car and a dog", "a blue car and a dog", "a unicorn")]
    )
    assert image.values @ right.values > image.values @ wrong.values
    assert nothing.reason == "the text 'a unicorn' names nothing that the mini world has"


def test_leaves_for_labels_change_no_embedding():
    kinds, leaves = (observe("embed", RED_CAR, PLAIN_DOG, labels=labels) for labels in (LABELS, LEAF_LABELS))
    np.testing.assert_array_equal(kinds.values, leaves.values)


def test_without_truth_there_is_no_answer():
    ((_, answer),) = Oracle().observe("segment", [Query((Image("0" * 64, None),))])
    assert "no truth" in answer.reason
