"""The contracts of core, kept by the simulator and the judges."""

from typing import ClassVar

import pytest
from t2i_core import Generated, Image, ImageRequest, ObjectClass, Prompt, Relation, Scene, SceneObject, Truth
from t2i_core.testing import GeneratorContract, JudgeContract
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.simulator import simulate

CAR, DOG = ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01")


def request(*objects, relations=(), seed=0):
    prompt = Prompt("p", "a red car and a dog", Scene(tuple(objects), tuple(relations)))
    return ImageRequest(prompt, seed, seed)


class TestSimulator(GeneratorContract):
    module, name = "t2i_miniworld.plugin", "simulator"
    options: ClassVar = {"size": 64, "spp": 1, "drop": 0.3, "wrong_color": 0.2, "seed_sd": 0.5, "workers": 1}


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


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (ImageRequest(Prompt("p", "a dream"), 0, 0), "says only a text"),
        (request(SceneObject(ObjectClass("teapot", "teapot.n.01"))), "no 'teapot'"),
        (request(SceneObject(CAR, "teal")), "no 'teal' paint"),
        (request(SceneObject(CAR, count=5)), "1 to 4 things, not 5"),
        (request(SceneObject(CAR), SceneObject(DOG), relations=[Relation(0, "left", 1)]), "relations"),
    ],
)
def test_what_cannot_be_drawn_is_a_failure_that_says_why(asked, reason):
    assert reason in simulate(SimulatorOptions(), asked).reason


@pytest.mark.parametrize(
    "options", [{"size": 32}, {"drop": 1.5}, {"wrong_color": -0.1}, {"seed_sd": -1}, {"spp": 0}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        SimulatorOptions(**options)
