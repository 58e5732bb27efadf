from dataclasses import replace

import pytest
from t2i_miniworld.classes import KINDS
from t2i_miniworld.layout import (
    LEAST_AREA,
    LEAST_VISIBLE,
    PREDICATES,
    NoArrangement,
    add_extra,
    exchanged,
    lay_out,
    margins,
)
from t2i_miniworld.render import draw
from t2i_miniworld.scene import Scene, Thing, Tie
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


def test_what_is_asked_for_is_drawn():
    asked = [Thing("chair", form="armchair"), Thing("human", form="long-hat", coat="pink")]
    for seed in range(5):
        chair, human = lay_out(asked, "asked", seed).placed
        assert (chair.form, chair.coat, human.form, human.coat) == ("armchair", None, "long-hat", "pink")


def test_what_is_left_open_varies():
    people = [lay_out([Thing("human")], "open", seed).placed[0] for seed in range(40)]
    assert {human.form for human in people} == set(KINDS["human"].forms)
    assert len({human.coat for human in people}) == 8


@pytest.mark.parametrize("kind", ["car", "giraffe"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_things_of_one_kind_are_seen_and_kept_apart(kind, count):
    for seed in range(4):
        assert margins(lay_out([Thing(kind)] * count, "apart", seed)) == (1, 1)


def boxes(scene):
    """Boxes (x0, y0, x1, y1) of what each thing shows."""
    owner = draw(scene, 64, 1).owner
    found = []
    for number in range(len(scene.placed)):
        rows, columns = (owner == number).nonzero()
        found.append((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
    return found


def relation(first, second):
    dx, dy = (first[0] + first[2] - second[0] - second[2]), (first[1] + first[3] - second[1] - second[3])
    if abs(dx) > abs(dy):
        return "left" if dx < 0 else "right"
    return "above" if dy < 0 else "below"


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("count", [2, 4])
def test_relations_are_kept_and_turned_by_an_exchange(predicate, count):
    opposite = {"left": "right", "right": "left", "above": "below", "below": "above"}
    tie = Tie(1, predicate, 0)
    for seed in range(3):
        scene = lay_out(FOUR[:count], "tied", predicate, seed, ties=(tie,))
        before, after = boxes(scene), boxes(exchanged(scene, tie))
        assert relation(before[1], before[0]) == predicate
        assert relation(after[1], after[0]) == opposite[predicate]


def test_several_relations_are_kept_at_once():
    ties = (Tie(0, "left", 1), Tie(2, "below", 0), Tie(3, "below", 1))
    for seed in range(3):
        seen = boxes(lay_out(FOUR, "several", seed, ties=ties))
        assert [relation(seen[tie.subject], seen[tie.object]) for tie in ties] == ["left", "below", "below"]


def test_relations_that_exclude_each_other_are_refused():
    with pytest.raises(NoArrangement, match="no arrangement"):
        lay_out(FOUR[:2], "p", ties=(Tie(0, "left", 1), Tie(0, "above", 1)))


@pytest.mark.parametrize("count", [1, 4])
def test_an_extra_thing_is_seen_and_hides_none(count):
    for seed in range(3):
        scene = lay_out(FOUR[:count], "extra", seed)
        extra = add_extra(scene, Thing("car", "red"), (), "extra", seed)
        assert extra.slot == count
        assert margins(replace(scene, placed=(*scene.placed, extra)))[0] == 1


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="1 to 4 things, not 5"):
        lay_out([Thing("car")] * 5, "p")
    with pytest.raises(ValueError, match="no 'teapot'"):
        lay_out([Thing("teapot")], "p")
