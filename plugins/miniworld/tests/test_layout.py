import pytest
from t2i_miniworld.classes import KINDS
from t2i_miniworld.layout import LEAST_AREA, LEAST_VISIBLE, lay_out
from t2i_miniworld.render import draw
from t2i_miniworld.scene import Scene, Thing
from t2i_miniworld.vocabulary import SYNSETS

FOUR = [Thing("car"), Thing("giraffe"), Thing("chair"), Thing("dog")]


def test_classes_and_vocabulary_agree():
    assert list(KINDS) == list(SYNSETS)


def test_the_same_key_gives_the_same_scene():
    assert lay_out(FOUR, "prompt", 7, 0) == lay_out(FOUR, "prompt", 7, 0)


@pytest.mark.parametrize("key", [("other", 7, 0), ("prompt", 8, 0), ("prompt", 7, 1)])
def test_prompt_seed_and_salt_each_draw_it_anew(key):
    assert lay_out(FOUR, *key) != lay_out(FOUR, "prompt", 7, 0)


def test_paint_has_no_part_in_the_layout():
    painted = [Thing(thing.kind, "red") for thing in FOUR]
    for plain, red in zip(lay_out(FOUR, "p", 1).placed, lay_out(painted, "p", 1).placed, strict=True):
        assert (plain.position, plain.scale, plain.yaw, plain.form) == (red.position, red.scale, red.yaw, red.form)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_thing_is_seen(count):
    """Floors on the share of silhouette and picture; the layout's grid is coarse, hence the slack."""
    for seed in range(4):
        scene = lay_out(FOUR[:count], "seen", seed)
        whole = draw(scene, 64, 1).owner
        for number, placed in enumerate(scene.placed):
            alone = (draw(Scene(scene.stage, (placed,)), 64, 1).owner == 0).sum()
            seen = (whole == number).sum()
            assert seen >= 0.9 * LEAST_VISIBLE * alone
            assert seen >= 0.7 * LEAST_AREA * whole.size


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="1 to 4 things, not 5"):
        lay_out([Thing("car")] * 5, "p")
    with pytest.raises(ValueError, match="no 'teapot'"):
        lay_out([Thing("teapot")], "p")
