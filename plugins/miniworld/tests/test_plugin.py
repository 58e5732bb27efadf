"""The contracts of core, kept by the simulator and the judges."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from t2i_core.api import (
    Generated,
    Image,
    ImageRequest,
    ObjectClass,
    Prompt,
    Relation,
    Scene,
    SceneObject,
    Setup,
    Truth,
)
from t2i_core.api.errors import BadOption
from t2i_core.testing import GeneratorContract, JudgeContract
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.plugin import t2i_judges
from t2i_miniworld.render import draw
from t2i_miniworld.simulator import commission, simulate

CAR, DOG, HUMAN = (
    ObjectClass(*names) for names in (("car", "car.n.01"), ("dog", "dog.n.01"), ("human", "person.n.01"))
)
BIRD, OWL = ObjectClass("bird", "bird.n.01"), ObjectClass("owl", "owl.n.01")
PERCHER = ObjectClass("feathered friend", "bird.n.01")
SMALL = SimulatorOptions(size=64, spp=1)


def request(*objects, relations=(), seed=0):
    prompt = Prompt("p", "a red car and a dog", Scene(tuple(objects), tuple(relations)))
    return ImageRequest(prompt, seed, seed)


def test_a_gpu_that_is_not_there_is_told_by_the_plan(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    (segmenter,) = (info for info in t2i_judges() if info.name == "mini-segmenter")
    with pytest.raises(BadOption, match="device 'cuda': this machine has no CUDA device"):
        segmenter.loading.check(Setup(None, segmenter.options(), "cuda"))


class TestSimulator(GeneratorContract):
    module, name = "t2i_miniworld.plugin", "simulator"
    options: ClassVar = {
        "size": 64, "spp": 1, "drop": 0.3, "wrong_object": 0.3, "wrong_color": 0.2, "swap_colors": 0.3,
        "extra": 0.3, "flip_relation": 0.3, "hyponyms": "skewed", "skew": "hat:yes:0.8", "seed_sd": 0.5,
        "workers": 1,
    }  # fmt: skip


class WithTruth(JudgeContract):
    module = "t2i_miniworld.plugin"

    @pytest.fixture
    def images(self, tmp_path):
        """Rendered images, kept as the store keeps them."""
        import hashlib

        from PIL import Image as PILImage

        kept = []
        for seed in range(3):
            drawn = simulate(
                SimulatorOptions(size=128, spp=2), request(SceneObject(CAR, "red"), SceneObject(DOG), seed=seed)
            )
            assert isinstance(drawn, Generated)
            path = tmp_path / f"{seed}.png"
            PILImage.fromarray(drawn.image).save(path)
            kept.append(Image(hashlib.sha256(path.read_bytes()).hexdigest(), path, drawn.truth))
        return kept

    @pytest.fixture
    def text(self):
        """The prompt that the images were drawn for."""
        return request().prompt.text


class TestOracle(WithTruth):
    name = "oracle"


class TestOracleOfLeaves(WithTruth):
    name = "oracle"
    argument = "leaves"


class TestMiniSegmenter(WithTruth):
    name = "mini-segmenter"


def test_truth_says_what_is_drawn_and_survives_storage():
    drawn = simulate(SimulatorOptions(size=128, spp=1), request(SceneObject(CAR, "red"), SceneObject(DOG)))
    assert [(i.cls, i.colour) for i in drawn.truth.instances] == [(CAR, "red"), (DOG, None)]
    for instance in drawn.truth.instances:
        assert instance.box == instance.mask.box
        assert instance.mask.area() > 0.01 * 128**2
    assert Truth.from_bytes(drawn.truth.to_bytes()) == drawn.truth


def test_a_certain_drop_leaves_the_first_thing_in_its_place():
    asked = request(SceneObject(CAR, "red"), SceneObject(DOG))
    whole = simulate(SimulatorOptions(size=64, spp=1), asked).truth.instances
    rest = simulate(SimulatorOptions(size=64, spp=1, drop=1.0), asked).truth.instances
    assert [i.cls for i in rest] == [CAR]
    assert (whole[0].mask.unpack() <= rest[0].mask.unpack()).all()


def test_truth_says_leaves_and_what_people_wear():
    asked = request(
        SceneObject(HUMAN, attributes={"hat": "yes", "hair": "long", "coat": "pink"}), SceneObject(OWL)
    )
    human, owl = simulate(SMALL, asked).truth.instances
    assert human.attributes == {
        "form": "long-hat", "synset": "person.n.01", "coat": "pink", "hat": "yes", "hair": "long",
    }  # fmt: skip
    assert human.colour is None
    assert (owl.cls, owl.attributes) == (BIRD, {"form": "owl", "synset": "owl.n.01"})
    (red,) = simulate(SMALL, request(SceneObject(HUMAN, "red"))).truth.instances
    assert (red.colour, red.attributes["coat"]) == ("red", "red")


def test_a_class_is_drawn_as_one_of_its_leaves():
    drawn = [simulate(SMALL, request(SceneObject(PERCHER), seed=seed)).truth.instances[0] for seed in range(8)]
    assert {instance.cls for instance in drawn} == {BIRD}
    assert len({instance.attributes["synset"] for instance in drawn}) > 1


FAULTS = ("drop", "wrong_object", "wrong_color", "swap_colors", "extra", "flip_relation")


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_all_else_where_it_is(fault):
    """What it does not touch has the same place, pose and, but for what hides it, the same mask."""
    objects = (SceneObject(CAR, "red"), SceneObject(DOG, "blue"), SceneObject(OWL))
    happened = 0
    for seed in range(6):
        asked = request(*objects, relations=[Relation(0, "left", 1)], seed=seed)
        before = commission(SMALL, asked)
        after = commission(SimulatorOptions(**{fault: 0.6}), asked)
        everything = commission(SimulatorOptions(**dict.fromkeys(FAULTS, 0.6)), asked)
        happened += after != before
        for slot, placed in enumerate(everything.placed):
            # No other fault has a say in where an extra thing stands.
            assert fault != "extra" or placed.slot < 3 or after.placed[3] == everything.placed[slot]
        same = {
            placed.slot
            for placed in after.placed
            if placed.slot < 3
            and replace(placed, thing=before.placed[placed.slot].thing) == before.placed[placed.slot]
        }
        gone = {"drop": 3 - len(after.placed), "flip_relation": 2 * (after != before)}.get(fault, 0)
        assert fault == "wrong_object" or len(same) == 3 - gone
        if seed > 1:
            continue
        old, new = (slots_shown(scene) for scene in (before, after))
        foreign = ~np.isin(old, [-1, *same]) | ~np.isin(new, [-1, *same])
        for slot in same:
            np.testing.assert_array_equal((old == slot) & ~foreign, (new == slot) & ~foreign)
    assert happened


def slots_shown(scene):
    """Which slot each pixel shows, -1 for none."""
    owner = draw(scene, 64, 1).owner
    return np.array([placed.slot for placed in scene.placed] + [-1])[owner]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (ImageRequest(Prompt("p", "a dream"), 0, 0), "has only a text"),
        (request(SceneObject(ObjectClass("teapot", "teapot.n.01"))), "no 'teapot'"),
        (request(SceneObject(CAR, "teal")), "no 'teal' paint"),
        (request(SceneObject(CAR, count=5)), "1 to 4 things, not 5"),
        (request(SceneObject(CAR, count=0), SceneObject(DOG)), "number of car must be 1 or more (got 0)"),
        (request(SceneObject(CAR, count=-1), SceneObject(DOG)), "number of car must be 1 or more (got -1)"),
        (request(SceneObject(CAR, count=2.7)), "number of car must be 1 or more (got 2.7)"),
        (
            request(SceneObject(CAR), SceneObject(DOG), relations=[Relation(0, "beside", 1)]),
            "no relation 'beside'",
        ),
        (request(SceneObject(CAR), SceneObject(DOG), relations=[Relation(0, "left", 2)]), "two of the prompt's"),
        (request(SceneObject(CAR), relations=[Relation(0, "left", 0)]), "two of the prompt's"),
        (
            request(SceneObject(CAR), SceneObject(DOG, count=2), relations=[Relation(0, "left", 1)]),
            "objects with a count of 1",
        ),
        (
            request(
                SceneObject(CAR), SceneObject(DOG), relations=[Relation(0, "left", 1), Relation(1, "left", 0)]
            ),
            "no arrangement",
        ),
        (request(SceneObject(DOG, attributes={"hat": "yes"})), "only a human has attributes"),
        (request(SceneObject(HUMAN, attributes={"scarf": "red"})), "no 'scarf'"),
        (request(SceneObject(HUMAN, attributes={"coat": "teal"})), "got 'teal'"),
        (request(SceneObject(HUMAN, "red", attributes={"coat": "blue"})), "a red human cannot wear a blue coat"),
    ],
)
def test_scenes_that_cannot_be_drawn_are_failures_with_reasons(asked, reason):
    assert reason in simulate(SimulatorOptions(), asked).reason


@pytest.mark.parametrize(
    "options",
    [
        {"size": 32},
        {"drop": 1.5},
        {"extra": -0.1},
        {"seed_sd": -1},
        {"seed_sd": float("inf")},
        {"prompt_sd": float("inf")},
        {"prompt_sd": 1e300},
        {"drop": float("nan")},
        {"spp": 0},
        {"hyponyms": "odd"},
        {"skew": "hat"},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        SimulatorOptions(**options)


def test_the_oracle_takes_no_argument_but_leaves():
    info = next(info for info in t2i_judges() if info.name == "oracle")
    info.loading.check(Setup("leaves", info.options()))
    with pytest.raises(BadOption, match="only argument of the oracle is 'leaves'"):
        info.loading.check(Setup("kinds", info.options()))
