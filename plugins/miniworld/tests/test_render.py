from dataclasses import replace

import drjit
import numpy as np
import pytest
from colour_rule import paints_read
from loky import wrap_non_picklable_objects
from t2i_miniworld.classes import KINDS
from t2i_miniworld.layout import lay_out
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.render import draw
from t2i_miniworld.scene import Thing
from t2i_miniworld.workers import map_ordered

PAIR = lay_out([Thing("elephant", "blue"), Thing("chair", "yellow")], "render", 2)
SCENES = [lay_out([Thing(kind)], "render", 0) for kind in ("car", "dog", "chair")]


@wrap_non_picklable_objects  # the workers cannot import this file by name
def draw_small(scene):
    return draw(scene, 64, 4)


def test_masks_are_exact():
    """Each mask holds its own thing's paint, and masks at another size are the same but for edges."""
    picture = draw(PAIR)
    assert picture.image.shape == (128, 128, 3)
    assert picture.image.dtype == np.uint8
    assert set(np.unique(picture.owner)) == {-1, 0, 1}
    assert paints_read(picture.image[picture.owner == 0]) == {"blue"}
    assert paints_read(picture.image[picture.owner == 1]) == {"yellow"}
    fine = draw(PAIR, 512, 1).owner[2::4, 2::4]
    assert (fine != picture.owner).mean() < 0.03


def test_dropping_a_thing_leaves_the_other_where_it_is():
    whole, rest = draw(PAIR).owner, draw(replace(PAIR, placed=PAIR.placed[:1])).owner
    assert ((whole == 0) <= (rest == 0)).all()
    assert not (rest == 1).any()


def test_another_paint_keeps_every_mask():
    first, second = PAIR.placed
    repainted = replace(PAIR, placed=(replace(first, thing=replace(first.thing, paint="red")), second))
    np.testing.assert_array_equal(draw(repainted).owner, draw(PAIR).owner)


def test_the_same_bytes_in_any_process_and_order():
    here = [draw_small(scene) for scene in SCENES]
    there = [picture for _, picture in map_ordered(draw_small, SCENES[::-1], workers=2)][::-1]
    for a, b in zip(here, there, strict=True):
        assert a.image.tobytes() == b.image.tobytes()
        assert a.owner.tobytes() == b.owner.tobytes()


def test_the_same_bytes_with_any_number_of_threads():
    """More threads than the picture has blocks of Mitsuba's usual size, too."""
    assert drjit.thread_count() == 1
    alone = draw(PAIR, 64, 4)
    drjit.set_thread_count(8)
    try:
        together = draw(PAIR, 64, 4)
    finally:
        drjit.set_thread_count(1)
    assert together.image.tobytes() == alone.image.tobytes()


@pytest.mark.slow
def test_painted_things_are_read_as_their_paint_and_no_other():
    """At least 97 % of all kinds in all paints; 48 pictures, so one miss is allowed."""
    misses = []
    for kind in KINDS:
        for seed, paint in enumerate(PAINTS):
            picture = draw(lay_out([Thing(kind, paint)], "paint", seed), 96, 8)
            read = paints_read(picture.image[picture.owner == 0])
            if read != {paint}:
                misses.append((kind, paint, read))
    assert len(misses) <= 1, misses


@pytest.mark.parametrize(("size", "samples", "message"), [(63, 1, "64 and 1024"), (64, 0, "samples")])
def test_bad_sizes_and_samples_are_refused(size, samples, message):
    with pytest.raises(ValueError, match=message):
        draw(PAIR, size, samples)
