"""The mini-classifier: what it is trained on, how, and that timm's plugin runs it as it was trained."""

import json

import classifier
import evaluate_classifier
import numpy as np
import pytest
import torch
import train_classifier
import training_data
from evaluate_classifier import Answers, calibration_error, measure
from PIL import Image as PILImage
from t2i_core.api import Instance, ObjectClass, Query, Truth
from t2i_core.api.image import load_image
from t2i_core.api.mask import PackedMask
from t2i_core.testing import sample_images
from t2i_miniworld.laws import leaf_of
from t2i_miniworld.layout import lay_out
from t2i_miniworld.vocabulary import LEAVES, SYNSETS
from t2i_torch_support import training
from t2i_torch_support.training import Course
from training_data import DrawnScenes, write_shard
from training_scenes import for_classifier
from views import Things, View, cut

SIDE = 128


@pytest.fixture(scope="module", autouse=True)
def _small():
    """Make shards and the log's rows small, so that they take no time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_data, "PER_SHARD", len(LEAVES))
        patch.setattr(training, "ROW", 2)
        patch.setattr(training, "CHECKPOINT", 2)
        yield


def thing(leaf, x, y, side=40):
    mask = np.zeros((SIDE, SIDE), dtype=bool)
    mask[y : y + side, x : x + side] = True
    packed = PackedMask.pack(mask)
    kind = LEAVES[leaf]
    return Instance(ObjectClass(kind, SYNSETS[kind]), None, packed.box, packed, {"synset": leaf})


def truth(*things):
    return Truth((SIDE, SIDE), things)


DUCK, OWL = "duck.n.01", "owl.n.01"
TRUTHS = [
    truth(thing(DUCK, 10, 20)),
    truth(thing(DUCK, 10, 20, side=20), thing(DUCK, 80, 70)),
    truth(thing(DUCK, 4, 4), thing(OWL, 50, 4), thing(OWL, 80, 84)),
    truth(thing(OWL, 60, 70)),
]


def test_a_view_shows_things_of_its_leaf_alone():
    things, rng = Things(TRUTHS, [DUCK, OWL]), np.random.default_rng(0)
    seen = {DUCK: set(), OWL: set()}
    for _ in range(300):
        for leaf, pictures in seen.items():
            view = things.draw(leaf, rng)
            shown = TRUTHS[view.picture].instances
            own = [one for one in shown if one.attributes["synset"] == leaf]
            assert any(filled(one, view) > 0.5 for one in own)
            assert all(filled(one, view) < 0.5 for one in shown if one not in own)
            pictures.add(view.picture)
    assert seen == {DUCK: {0, 1, 2}, OWL: {2, 3}}


def filled(one, view):
    """How much of a thing's box a view holds."""
    (x0, y0, x1, y1), left, top = one.box, view.x - view.side / 2, view.y - view.side / 2
    wide, high = min(x1, left + view.side) - max(x0, left), min(y1, top + view.side) - max(y0, top)
    return max(0, wide) * max(0, high) / ((x1 - x0) * (y1 - y0))


def test_a_leaf_that_is_never_seen_alone_is_missed():
    with pytest.raises(SystemExit, match="no picture shows dachshund"):
        Things(TRUTHS, [DUCK, OWL, "dachshund.n.01"])


def test_a_cut_is_the_square_mirrored_or_not():
    images = torch.zeros(20, 3, SIDE, SIDE)
    images[:, 0, 20:60, 30:70] = 1
    pieces = cut(images, [View(0, 50, 40, 80)] * 20, torch.Generator().manual_seed(0))
    # The square is half as wide as the view, and in its middle; turned by 8 degrees its corners reach .15 over.
    assert (pieces[:, 0, 44:84, 44:84] > 0.99).all()
    assert pieces[:, 0].mean(dim=(1, 2)) == pytest.approx(torch.full((20,), 0.25).numpy(), abs=0.01)
    aside = cut(images, [View(0, 64, 40, 128)] * 20, torch.Generator().manual_seed(0))
    left = aside[:, 0, :, :64].sum(dim=(1, 2)) > aside[:, 0, :, 64:].sum(dim=(1, 2))
    assert 4 < int(left.sum()) < 16


def test_training_sees_what_timm_prepares(tmp_path):
    network = classifier.load(classifier.save(classifier.build(), tmp_path))
    pixels = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    prepared = classifier.prepared(network, [PILImage.fromarray(pixels)])
    seen = classifier.seen(torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255)
    # PIL rounds to 8 bits.
    torch.testing.assert_close(prepared, seen, rtol=0, atol=1.1 / 255 / 0.25)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A picture of each leaf: a grey square, the lighter the later in the list."""
    folder = tmp_path_factory.mktemp("singles")
    for split in ("train", "heldout"):
        truths = tuple(truth(thing(leaf, 30, 40)) for leaf in LEAVES)
        images = np.full((len(LEAVES), SIDE, SIDE, 3), 128, np.uint8)
        for number, image in enumerate(images):
            image[truths[number].instances[0].mask.unpack()] = 6 * number
        write_shard(folder / f"{split}-0000.npz", DrawnScenes(images, truths))
    return folder


def fit(out, data, steps=4):
    course = Course(steps=steps, batch=4, rate=1e-3, warm=2)
    return train_classifier.run(out, [data], course, len(LEAVES))


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("classifier")
    fit(out, data)
    return out


@pytest.mark.long
def test_a_classifier_that_was_stopped_ends_as_an_unbroken_one(data, trained, tmp_path, monkeypatch):
    whole, calls = train_classifier.cut, iter((False, False, False, True))

    def stop(*arguments):
        if next(calls):
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(train_classifier, "cut", stop)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, data)
    monkeypatch.setattr(train_classifier, "cut", whole)
    fit(tmp_path, data)
    ours, theirs = (torch.load(out / "checkpoint.pt", weights_only=True)["average"] for out in (tmp_path, trained))
    for one, other in zip(ours.values(), theirs.values(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def judge_of(spec):
    from t2i_registry import Registry

    component = Registry().component("judge", spec, {})
    judge = component.info.create(component.setup("cpu", offline=True))
    return component, judge


def test_the_saved_folder_is_a_judge_of_the_plugin(trained, tmp_path):
    folder = trained / "model"
    assert {file.name for file in folder.iterdir()} == {"config.json", "model.safetensors"}
    _, judge = judge_of(f"timm:{folder}")
    network = classifier.build().eval()
    average = torch.load(trained / "checkpoint.pt", weights_only=True)["average"]
    network.load_state_dict({name: value.half().to(value.dtype) for name, value in average.items()})
    images = sample_images(tmp_path, size=classifier.SIDE)
    pixels = torch.from_numpy(np.stack([image.pixels for image in images])).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        wanted = network(classifier.seen(pixels)).numpy()
    answers = [answer for _, answer in judge.observe("classify", [Query((image,)) for image in images])]
    np.testing.assert_allclose([answer.logits for answer in answers], wanted, atol=1e-4)
    assert [label.synset for label in answers[0].labels] == list(LEAVES)


def test_the_figures_are_counted_on_answers_that_are_known(data, monkeypatch):
    (drawn,) = training_data.load(data, "heldout")
    shown = [one.instances[0] for one in drawn.truths]

    def sure(network, pictures, labels):
        """Right but for the first, an owl for a flamingo, and sure to 70 %."""
        guessed = [labels[0] if label == classifier.LABELS.index(OWL) else label for label in labels]
        odds = np.full((len(labels), len(LEAVES)), 0.3 / (len(LEAVES) - 1))
        odds[np.arange(len(labels)), guessed] = 0.7
        return Answers(odds, np.array(labels))

    monkeypatch.setattr(evaluate_classifier, "answer", sure)
    figures = measure(None, drawn.images, shown)
    plain = figures["as drawn"]
    assert plain["accuracy"]["value"] == round(1 - 1 / len(LEAVES), 4)
    assert (plain["confidence"], plain["ece"]) == (0.7, round(1 - 1 / len(LEAVES) - 0.7, 4))
    assert plain["mistaken"] == {f"{OWL} for {next(iter(LEAVES))}": 1}
    assert plain["by leaf"][OWL]["value"] == 0
    assert plain["by leaf"][DUCK]["value"] == 1
    assert figures["noise, sd 4 %"]["accuracy"] == plain["accuracy"]
    json.dumps(figures)


def test_the_calibration_error_is_torchmetrics():
    from torchmetrics.classification import MulticlassCalibrationError

    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.full(5, 0.4), 2000)
    answers = Answers(probabilities, rng.integers(0, 5, 2000))
    theirs = MulticlassCalibrationError(5, n_bins=evaluate_classifier.BINS, norm="l1")
    wanted = theirs(torch.from_numpy(probabilities), torch.from_numpy(answers.labels))
    assert calibration_error(probabilities.max(axis=1), answers.right) == pytest.approx(float(wanted), abs=1e-6)


@pytest.mark.long
def test_the_installed_judge_knows_renders_that_it_never_saw(tmp_path):
    from t2i_miniworld.render import draw

    component, judge = judge_of("mini-classifier")
    assert component.info.domain.name == "mini world"
    labels = component.info.labels(component.argument, component.options)
    assert [label.synset for label in labels] == list(LEAVES)
    right, total = 0, 24
    for index in range(total):
        (wanted,) = for_classifier("test", index).things
        scene = lay_out((wanted,), "classifier-scene", "test", index)
        path = tmp_path / f"{index}.png"
        PILImage.fromarray(draw(scene, SIDE, 4).image).save(path)
        ((_, answer),) = judge.observe("classify", [Query((load_image(path),))])
        right += answer.labels[int(answer.logits.argmax())].synset == leaf_of(wanted.kind, wanted.form)
    # The model card has the exact figures; here, that the weights in the package are the ones that earned them.
    assert right >= total - 2
