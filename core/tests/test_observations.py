"""What judges say survives storage, and adapters combine it upwards."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image as PILImage
from t2i_core.api import (
    Caption,
    ClassScores,
    Detections,
    Embedding,
    Features,
    LikelihoodTerms,
    Pixels,
    Preference,
    QuestionAnswer,
    ReadText,
    Reward,
    Segments,
    TextAttention,
    TextReply,
)
from t2i_core.api.adapter import combine, expand, find_chain, find_sources
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.digest import digest_data
from t2i_core.api.failure import Failure
from t2i_core.api.image import Image, load_image
from t2i_core.api.judge import Query
from t2i_core.api.mask import PackedMask, count_shared_pixels
from t2i_core.api.observation import find_capability, list_capabilities
from t2i_core.api.observation_codec import decode, encode
from t2i_core.api.prompt import ObjectClass, Relation, Scene, SceneObject

LABELS = (ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01"))
masks = arrays(bool, st.tuples(st.integers(1, 20), st.integers(1, 20)))


@given(masks)
def test_masks_survive_packing(mask):
    packed = PackedMask.pack(mask)
    assert np.array_equal(packed.unpack(), mask)
    assert packed.area() == mask.sum()
    assert packed.size == (mask.shape[1], mask.shape[0])


@given(
    st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
        lambda s: st.tuples(arrays(bool, s), arrays(bool, s))
    )
)
def test_intersections_are_those_of_whole_masks(pair):
    a, b = pair
    assert count_shared_pixels(PackedMask.pack(a), PackedMask.pack(b)) == (a & b).sum()


def detections(cls=Detections, n=2, **more):
    return cls(
        size=(8, 6),
        boxes=np.arange(4 * n, dtype=np.float32).reshape(n, 4),
        scores=np.linspace(0.1, 0.9, n, dtype=np.float32),
        classes=(np.arange(n) % 2).astype(np.int16),
        labels=LABELS,
        **more,
    )


def segments(n=2):
    mask = np.zeros((6, 8), bool)
    mask[2:4, 1:7] = True
    return detections(Segments, n, masks=(PackedMask.pack(mask),) * n)


def read_text(**changes):
    """Two lines, one above the other."""
    boxes = np.array([[1, 0, 7, 3], [0, 3, 8, 6]], np.float32)
    fields = {"lines": ("OPEN", "today"), "boxes": boxes, "scores": np.array([0.9, 0.4], np.float32)}
    return ReadText((8, 6), **{**fields, **changes})


def attention(**changes):
    """Three tokens of two words, in twelve layers whose names are not in alphabetical order."""
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
    layers = {f"layer {i}": np.stack([vectors + i] * 2) for i in (*range(10, -1, -1), 11)}
    fields = {"words": np.array([0, 0, 1]), "embeddings": vectors, "states": vectors, "keys": layers}
    return TextAttention(**{**fields, "values": layers, **changes})


EVERYTHING = [
    detections(),
    detections(n=0),
    detections(class_probs=np.eye(2, dtype=np.float32)),
    detections(colours=np.eye(2, dtype=np.float32), colour_names=("red", "blue")),
    segments(),
    segments(n=0),
    ClassScores(np.array([1.5, -2], np.float32), LABELS),
    Embedding(np.arange(3, dtype=np.float32)),
    Embedding(np.arange(3, dtype=np.float32), cut_to=77),
    Features(np.arange(5, dtype=np.float32)),
    Caption("ein großes Tier 🐘"),
    ReadText((8, 6), ("STOP", "à gauche\n2")),
    ReadText((8, 6), ()),
    read_text(),
    Preference("second", -0.25, "it has more legs"),
    Preference("unparsable"),
    TextReply("a dog is an animal"),
    Reward(0.1),
    Reward(0.1, cut_to=35),
    LikelihoodTerms({"log_p": np.arange(6, dtype=np.float64).reshape(1, 2, 3)}),
    attention(),
    Pixels(),
    QuestionAnswer(YES_NO, 0, np.array([0.7, 0.1])),
    QuestionAnswer(YES_NO, None, text="I cannot tell"),
    QuestionAnswer(text="a red car"),
]


@pytest.mark.parametrize("declared", [LABELS, None])
@pytest.mark.parametrize("observation", EVERYTHING, ids=lambda o: type(o).__name__)
def test_observations_survive_storage(observation, declared):
    again = decode(observation.to_bytes(declared), observation.capability, declared)
    assert type(again) is type(observation)
    for name in observation.__dataclass_fields__:
        np.testing.assert_equal(getattr(again, name), getattr(observation, name))


def test_every_capability_is_tried():
    own = {name for name in list_capabilities() if find_capability(name).__module__.startswith("t2i_core.")}
    assert {type(o).capability for o in EVERYTHING} == {*own, "pixels"}


def test_labels_are_found_by_index():
    assert [detections().label(i).name for i in range(2)] == ["car", "dog"]
    assert np.array_equal(segments().mask(0), segments().masks[0].unpack())


def test_adapters_lead_upwards_only():
    assert find_chain("segment", {"segment"}) == ()
    assert [a.offered for a in find_chain("detect", {"segment"})] == ["segment"]
    assert [a.offered for a in find_chain("prefer", {"embed"})] == ["reward", "embed"]
    assert find_chain("segment", {"detect"}) is None
    assert find_chain("embed", {"reward"}) is None
    assert find_sources("prefer") == ("prefer", "reward", "answer", "embed")


def test_a_preference_is_made_of_rewards_made_of_embeddings():
    images = tuple(Image(digest, None) for digest in ("a", "b"))
    query = Query(images, ("a dog",))
    chain = find_chain("prefer", {"embed"})
    asked = expand(chain, query)
    assert asked == [Query((images[0],)), Query(texts=("a dog",)), Query((images[1],)), Query(texts=("a dog",))]
    vectors = [np.array(v, np.float32) for v in ([1, 0], [1, 1], [1, -1], [1, 1])]
    preference = combine(chain, query, [Embedding(v) for v in vectors])
    assert preference.verdict == "first"
    assert preference.margin == pytest.approx(np.sqrt(0.5))
    tie = combine(chain, query, [Embedding(vectors[1])] * 4)
    assert (tie.verdict, tie.margin) == ("tie", 0)
    nothing = combine(chain, query, [Embedding(np.zeros(2, np.float32))] * 4)
    assert nothing == Failure("an embedding is 0: it has no cosine")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Reward(np.float32("nan")), "not numbers"),
        (Reward(None), "of type NoneType; it must be a number"),
        (Reward(np.ones(2)), "of type ndarray; it must be a number"),
        (Embedding(np.ones((2, 3), np.float32)), "must be a vector"),
        (Embedding(np.ones(0, np.float32)), "must be a vector"),
        (Embedding(["a"]), "could not convert"),
        (Embedding(np.array([1, np.inf], np.float32)), "not numbers"),
        (Caption("text"), "gave Caption where Reward"),
    ],
)
def test_invalid_answers_are_found_before_they_are_stored(wrong, said):
    capability = "reward" if isinstance(wrong, Reward | Caption) else "embed"
    with pytest.raises((TypeError, ValueError), match=said):
        encode(wrong, capability, None, Query())


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("boxes", np.zeros((3, 4), np.float32), "boxes of shape"),
        ("classes", np.array([0, 9], np.int16), "a class 9 of 2 labels"),
        ("class_probs", np.zeros((2, 3), np.float32), "class_probs of shape"),
        ("labels", (LABELS[1], LABELS[0]), "other labels than it declares"),
        ("boxes", np.zeros((4, 2), np.float32), "boxes of shape"),
        (
            "boxes",
            np.array([[0, 0, 20, 5], [0, 0, 1, 1]], np.float32),
            r"a box \(0, 0, 20, 5\); it must have .* 8 x 6",
        ),
        ("boxes", np.array([[0, 0, 1, 1], [5, 0, 1, 5]], np.float32), r"a box \(5, 0, 1, 5\); it must have"),
        ("scores", np.array([0.5, 1.5], np.float32), "scores from 0.5 to 1.5"),
        ("classes", np.array([0, -1], np.int16), "a class -1 of 2 labels"),
        ("classes", np.array([0, 2**16]), "16-bit"),
        ("classes", np.array([0, 0.5]), "16-bit"),
        ("class_probs", np.ones((2, 2), np.float32), "class_probs whose sum is 2"),
        ("class_probs", np.array([[1, 0], [-0.5, 1]], np.float32), "class_probs from -0.5 to 1"),
        ("colours", np.ones((2, 1), np.float32), "colours of shape"),
        ("masks", (), "0 masks for 2 detections"),
        ("masks", (PackedMask.pack(np.ones((3, 3), bool)),) * 2, "a mask of 3 x 3 pixels for an image of 8 x 6"),
        ("masks", (PackedMask((8, 6), (0, 0, 9, 6), b""),) * 2, "leaves its image"),
        ("masks", (PackedMask((8, 6), (0, 0, 8, 6), b"no mask"),) * 2, "cannot be unpacked"),
        ("masks", (PackedMask((8, 6), (0, 0, 8, 6), zlib.compress(b"123")),) * 2, "3 bytes for a box of 8 x 6"),
    ],
)
def test_arrays_of_detections_must_fit(field, value, said):
    with pytest.raises(ValueError, match=said):
        encode(replace(segments(), **{field: value}), "segment", LABELS, Query())
    assert encode(segments(), "segment", LABELS, Query())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lines": ("OPEN", 2)}, "line of type int"),
        ({"lines": ("OPEN", " ")}, "a blank line"),
        ({"lines": ("OPEN", "\ud83d")}, "surrogates not allowed"),
        ({"lines": ("OPEN",)}, r"boxes of shape \(2, 4\) for 1 lines"),
        ({"boxes": np.array([[1, 0, 7, 3], [0, 3, 8, 9]], np.float32)}, r"a box \(0, 3, 8, 9\); it must have"),
        ({"scores": np.array([0.9, 1.4], np.float32)}, "scores from 0.9 to 1.4"),
        ({"scores": np.array([0.9, np.nan], np.float32)}, "not numbers"),
    ],
)
def test_lines_boxes_and_scores_must_fit(changes, said):
    with pytest.raises((TypeError, ValueError), match=said):
        encode(read_text(**changes), "read", None, Query())


def test_lines_are_selected_by_their_confidence():
    assert read_text().select(0.5) == [0]
    assert read_text(scores=None).select(0.5) == [0, 1]


def test_detections_are_of_the_image_that_was_asked_about(tmp_path):
    def query(width, height):
        file = tmp_path / f"{width}.png"
        PILImage.new("RGB", (width, height), "red").save(file)
        return Query((load_image(file),))

    assert encode(segments(), "segment", LABELS, query(8, 6))
    with pytest.raises(ValueError, match="a size of 8 x 6 pixels for an image of 6 x 8"):
        encode(segments(), "segment", LABELS, query(6, 8))


def test_no_judge_can_change_what_the_next_one_sees(tmp_path):
    PILImage.new("RGB", (4, 4), "red").save(tmp_path / "a.png")
    pixels = load_image(tmp_path / "a.png").pixels
    with pytest.raises(ValueError, match="read-only"):
        pixels[:] = 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Preference("perhaps"), "the verdict 'perhaps'"),
        (Preference("first", float("inf")), "margin that are not numbers"),
        (Preference("first", "much"), "margin of type"),
        (LikelihoodTerms({}), "no terms"),
        (LikelihoodTerms({"log_p": np.full(2, np.nan)}), "not numbers"),
        (LikelihoodTerms({"log_p": np.zeros((2, 3))}), r"of shape \(2, 3\) for 2 captions"),
        (Caption(3), "of type int; it must be a text"),
        (Caption("\ud83d"), "surrogates not allowed"),
    ],
)
def test_words_and_terms_are_checked_too(wrong, said):
    with pytest.raises((TypeError, ValueError), match=said):
        encode(wrong, wrong.capability, None, Query(texts=("a", "b")))


def test_embeddings_of_different_spaces_have_no_cosine():
    query = Query((Image("a", None),), ("a dog",))
    answers = [Embedding(np.ones(2, np.float32)), Embedding(np.ones(3, np.float32))]
    found = combine(find_chain("reward", {"embed"}), query, answers)
    assert found == Failure("an image's embedding has 2 dimensions, a text's 3")


def test_logits_must_fit_the_labels():
    with pytest.raises(ValueError, match="3 logits for 2 labels"):
        encode(ClassScores(np.zeros(3, np.float32), LABELS), "classify", LABELS, Query())


def test_detections_of_a_segmenter_have_no_masks():
    found = combine(find_chain("detect", {"segment"}), Query(), [segments()])
    assert type(found) is Detections
    assert np.array_equal(found.boxes, segments().boxes)


def test_classes_are_settled_by_synset():
    assert ObjectClass("bike", "bicycle.n.01").same_as(ObjectClass("bicycle", "bicycle.n.01"))
    assert not ObjectClass("crane", "crane.n.04").same_as(ObjectClass("crane", "crane.n.05"))
    assert ObjectClass("car").same_as(ObjectClass("car", "car.n.01"))


def test_scenes_survive_json():
    scene = Scene(
        (SceneObject(LABELS[0], "red", 2, {"hat": "yes"}), SceneObject(LABELS[1])), (Relation(1, "left", 0),)
    )
    assert Scene.from_json(scene.to_json()) == scene


@given(st.text(), st.text())
def test_digests_tell_texts_apart(a, b):
    assert (digest_data(a) == digest_data(b)) == (a == b)


def test_layers_of_attention_keep_their_order():
    found = attention()
    assert list(decode(found.to_bytes(), "attention", None).keys) == list(found.keys)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"words": np.array([0, 0, 2])}, r"tokens of words \[0, 2\] of 2 words"),
        ({"words": np.array([0, 1])}, r"embeddings of shape \(3, 4\) for 2 tokens"),
        ({"states": np.zeros(3, np.float32)}, r"states of shape \(3,\) for 3 tokens"),
        ({"values": {}}, "keys of 12 layers and values of 0"),
        ({"keys": {}, "values": {}}, "keys of 0 layers"),
        (
            {kind: {"a": np.zeros((2, 2, 4), np.float32)} for kind in ("keys", "values")},
            r"keys of shape \(2, 2, 4\) for 3 tokens in a",
        ),
        ({"states": np.full((3, 4), np.nan, np.float32)}, "not numbers"),
    ],
)
def test_vectors_of_attention_must_fit(changes, said):
    query = Query(texts=("a dog and a cat", "a dog", "cat"))
    with pytest.raises(ValueError, match=said):
        encode(attention(**changes), "attention", None, query)
    assert encode(attention(), "attention", None, query)
