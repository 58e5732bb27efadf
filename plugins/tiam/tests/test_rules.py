"""The decisions, each against the plainest program that makes them, and each bound at its exact value."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.api import Row, Segments
from t2i_core.api.array_codec import decode_arrays, encode_arrays
from t2i_tiam.colours import nearest
from t2i_tiam.mask_measurements import OVERLAP_FLOOR, MaskMeasurements
from t2i_tiam.references import REFERENCES
from t2i_tiam.spans import read_spans, write_spans

NAMES = list(REFERENCES)
CAR_AND_ELEPHANT = ("red car", "blue elephant")


def plain_score(prompt, pixels, found, confidence=0.25, overlap=0.95, share=0.4):
    """TIAM of one image from whole masks and exact colours, with no shortcut."""
    wanted = {o.cls.name for o in prompt.scene.objects}
    used = [
        (found.label(i).name, found.mask(i))
        for i in range(len(found))
        if found.scores[i] >= np.float32(confidence) and found.label(i).name in wanted
    ]
    kept = [
        (name, mask)
        for name, mask in used
        if mask.any()
        and not any(other != name and (mask & m).sum() / (mask | m).sum() >= overlap for other, m in used)
    ]
    colours = nearest(pixels, tuple(REFERENCES.values()))
    return float(
        all(
            any(
                name == o.cls.name
                and (o.colour is None or (colours[mask] == NAMES.index(o.colour)).mean() >= share)
                for name, mask in kept
            )
            for o in prompt.scene.objects
        )
    )


@st.composite
def scenes(draw, world):
    """Noise of few colours, with rectangles that often coincide, nearly or wholly."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    height, width = draw(st.integers(1, 24)), draw(st.integers(1, 24))
    palette = np.array([world.paint[c] for c in ("red", "blue", "white")], np.uint8)
    pixels = palette[rng.integers(0, 3, (height, width))]
    found = []
    for _ in range(draw(st.integers(0, 6))):
        label = draw(st.sampled_from(["car", "elephant", "zebra"]))
        confidence = draw(st.sampled_from([0.1, 0.25, 0.6, 0.9]))
        if found and draw(st.booleans()):  # the mask of an earlier one, with a pixel or two changed
            mask = draw(st.sampled_from(found))[2].copy()
            for _ in range(draw(st.integers(0, 2))):
                mask[rng.integers(height), rng.integers(width)] ^= True
        else:
            mask = np.zeros((height, width), bool)
            y, x = sorted(rng.integers(0, height + 1, 2)), sorted(rng.integers(0, width + 1, 2))
            mask[y[0] : y[1], x[0] : x[1]] = True
        found.append((label, confidence, mask))
    return pixels, found


def image(world, scene) -> tuple[np.ndarray, Segments]:
    pixels, found = scene
    return pixels, world.segments(found, pixels.shape[1::-1])


PROMPTS = st.sampled_from([("car",), ("car", "elephant"), CAR_AND_ELEPHANT, ("red car", "red zebra", "elephant")])


@pytest.mark.long
@settings(max_examples=300)
@given(st.data(), PROMPTS)
def test_the_score_is_that_of_the_plain_program(world, data, words):
    pixels, found = image(world, data.draw(scenes(world)))
    prompt = world.prompt(*words)
    assert world.score(prompt, pixels, found) == plain_score(prompt, pixels, found)
    options = {"confidence": 0.6, "overlap": 0.5, "colour_share": 0.5}
    assert world.score(prompt, pixels, found, **options) == plain_score(prompt, pixels, found, *options.values())


def without_evidence(rows):
    return [replace(row, evidence=()) if isinstance(row, Row) else row for row in rows]


@given(st.data())
def test_the_order_of_detections_changes_nothing(world, data):
    pixels, found = data.draw(scenes(world))
    prompt = world.prompt(*data.draw(PROMPTS))
    rows = world.rows(prompt, *image(world, (pixels, found)))
    others = world.rows(prompt, *image(world, (pixels, data.draw(st.permutations(found)))))
    assert without_evidence(rows) == without_evidence(others)


@given(st.data())
def test_mirrored_images_score_the_same(world, data):
    pixels, found = data.draw(scenes(world))
    prompt = world.prompt(*data.draw(PROMPTS))
    mirrored = pixels[:, ::-1], [(label, score, mask[:, ::-1]) for label, score, mask in found]
    rows, others = (world.rows(prompt, *image(world, scene)) for scene in ((pixels, found), mirrored))
    assert without_evidence(rows) == without_evidence(others)


@given(st.data())
def test_milder_thresholds_lose_nothing(world, data):
    """Of colour and overlap always; of confidence only where no two classes overlap (see the README)."""
    scene = data.draw(scenes(world))
    pixels, found = image(world, scene)
    prompt = world.prompt(*data.draw(PROMPTS))
    low, high = sorted(data.draw(st.tuples(st.floats(0.5, 1), st.floats(0.5, 1))))
    for option, mild, strict in (("colour_share", low, high), ("overlap", high, low)):
        assert world.score(prompt, pixels, found, **{option: mild}) >= world.score(
            prompt, pixels, found, **{option: strict}
        )
    one_class = pixels, world.segments([f for f in scene[1] if f[0] == "car"], pixels.shape[1::-1])
    car = world.prompt("car")
    assert world.score(car, *one_class, confidence=low / 2) >= world.score(car, *one_class, confidence=high / 2)


@given(st.data())
def test_a_row_says_at_which_confidences_its_image_is_right(world, data):
    pixels, found = image(world, data.draw(scenes(world)))
    prompt = world.prompt(*data.draw(PROMPTS))
    (text,) = (r.facets.get("holds_at", "") for r in world.rows(prompt, pixels, found) if r.measure == "tiam")
    for confidence in (0.05, 0.1, 0.2, 0.25, 0.26, 0.6, 0.7, 0.9, 0.95):
        holds = any(low < confidence <= high for low, high in read_spans(text))
        assert holds == plain_score(prompt, pixels, found, confidence), (confidence, text)


def test_a_second_class_on_the_same_pixels_ends_a_span(world):
    mask = np.ones((4, 4), bool)
    red = np.full((4, 4, 3), world.paint["red"], np.uint8)

    def holds_at(*found):
        rows = world.rows(world.prompt("car", "zebra"), red, world.segments(found, (4, 4)))
        return rows[0].facets.get("holds_at")

    other = ~np.tri(4, dtype=bool)
    assert holds_at(("car", 0.9, mask), ("zebra", 0.7, other)) == "0-0.7"
    assert holds_at(("car", 0.9, mask), ("zebra", 0.3, mask)) is None
    assert holds_at(("car", 0.9, mask), ("zebra", 0.3, mask), ("zebra", 0.8, other)) == "0.3-0.8"
    assert (
        holds_at(("car", 0.9, mask), ("zebra", 0.3, mask), ("zebra", 0.8, other), ("car", 0.2, other)) == "0.3-0.8"
    )


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)).filter(lambda s: s[0] < s[1])))
def test_spans_are_read_as_they_were_written(spans):
    assert [tuple(map(np.float32, span)) for span in read_spans(write_spans(spans))] == spans


@given(st.data())
def test_evidence_holds_every_overlap_above_the_floor_and_survives_the_store(world, data):
    pixels, found = image(world, data.draw(scenes(world)))
    evidence = MaskMeasurements(tuple(REFERENCES.values())).take(pixels, found)
    masks = [found.mask(i) for i in range(len(found))]
    expected = []
    for i, a in enumerate(masks):
        for j in range(i + 1, len(masks)):
            shared, union = int((a & masks[j]).sum()), int((a | masks[j]).sum())
            if found.classes[i] != found.classes[j] and union and shared / union >= OVERLAP_FLOOR:
                expected.append([i, j, shared])
    assert evidence["overlaps"].tolist() == expected
    np.testing.assert_array_equal(evidence["colours"].sum(axis=1), [m.sum() for m in masks])
    stored = decode_arrays(encode_arrays(evidence))
    for name, array in evidence.items():
        np.testing.assert_array_equal(stored[name], array)
        assert stored[name].dtype == np.int32


def test_colour_share_is_inclusive_at_exact_fractions(world):
    prompt = world.prompt("red car")
    for total in range(5, 500, 5):
        enough = total * 2 // 5
        assert world.score(prompt, *world.strip(("car", 0.9, {"red": enough, "white": total - enough}))) == 1
        fewer = {"red": enough - 1, "white": total - enough + 1}
        assert world.score(prompt, *world.strip(("car", 0.9, fewer))) == 0


def test_two_colours_can_both_reach_their_share(world):
    half = world.strip(("car", 0.9, {"red": 50, "blue": 50}))
    assert world.score(world.prompt("red car"), *half) == world.score(world.prompt("blue car"), *half) == 1


def overlapping(world, shared, first="car", second="elephant"):
    """Two masks of 100 pixels in all, `shared` of them in both."""
    a, b = np.ones((1, 100), bool), np.zeros((1, 100), bool)
    b[0, :shared] = True
    return np.zeros((1, 100, 3), np.uint8), world.segments([(first, 0.9, a), (second, 0.9, b)], (100, 1))


@pytest.mark.parametrize(("shared", "score"), [(94, 1), (95, 0), (100, 0)])
def test_masks_of_two_classes_are_both_dropped_from_an_iou_of_95_percent_on(world, shared, score):
    pixels, found = overlapping(world, shared)
    values = [r.value for r in world.rows(world.prompt("car", "elephant"), pixels, found) if r.measure == "found"]
    assert values == [score, score]


def test_masks_of_one_class_are_left_alone(world):
    assert world.score(world.prompt("car", "car"), *overlapping(world, 100, "car", "car")) == 1


def test_masks_of_classes_that_the_prompt_does_not_name_drop_nothing(world):
    assert world.score(world.prompt("car"), *overlapping(world, 100)) == 1


def test_masks_below_the_confidence_drop_nothing(world):
    pixels, found = overlapping(world, 100)
    found.scores[1] = 0.2
    assert world.score(world.prompt("car"), pixels, found) == 1
    found_both = [r.value for r in world.rows(world.prompt("car", "elephant"), pixels, found, confidence=0.1)[1:]]
    assert found_both == [0, 0]


def test_a_dropped_instance_leaves_others_of_its_class(world):
    pixels, found = overlapping(world, 100)
    pixels = np.concatenate([pixels, pixels], axis=1)
    masks = [np.concatenate([found.mask(i), np.zeros((1, 100), bool)], axis=1) for i in range(2)]
    car, elephant = ("car", 0.9, masks[0]), ("elephant", 0.9, masks[1])
    other = world.segments([car, elephant, ("car", 0.3, ~masks[0])], (200, 1))
    rows = world.rows(world.prompt("car", "elephant"), pixels, other)
    assert [r.value for r in rows if r.measure == "found"] == [1, 0]


@pytest.mark.parametrize(("score", "found"), [(0.25, 1), (0.2499, 0), (0.9, 1)])
def test_confidence_is_inclusive(world, score, found):
    assert world.score(world.prompt("car"), *world.strip(("car", score, {"white": 9}))) == found


def test_an_empty_mask_is_not_found(world):
    assert world.score(world.prompt("red car"), *world.strip(("car", 0.9, {}))) == 0


def test_nothing_detected_is_nothing_found(world):
    assert world.score(world.prompt("car"), *world.strip()) == 0


def test_classes_are_matched_by_synset_whatever_their_names(world):
    pixels, found = world.strip(("couch", 0.9, {"white": 9}))
    sofa = [type(c)("sofa", c.synset) if c.name == "couch" else c for c in found.labels]
    renamed = Segments(found.size, found.boxes, found.scores, found.classes, tuple(sofa), masks=found.masks)
    assert world.score(world.prompt("couch"), pixels, renamed) == 1


def test_a_mask_of_another_size_is_an_error(world):
    pixels, found = world.strip(("car", 0.9, {"white": 9}))
    with pytest.raises(ValueError, match="a mask must have the size of its image"):
        world.score(world.prompt("car"), pixels[:, :-1], found)
