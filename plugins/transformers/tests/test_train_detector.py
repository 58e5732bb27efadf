"""The training of coloured detectors, on squares and bars of a few colours."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import coloured_data
import numpy as np
import pytest
import torch
import train_coloured_detector as train_detector
from coloured_data import find_annotations, read
from PIL import Image as PILImage
from safetensors.torch import load_file
from t2i_core.api import ObjectClass, Query
from t2i_core.api.errors import BadFolder
from t2i_core.api.image import load_image
from t2i_torch_support import training
from t2i_torch_support.training import Course
from t2i_transformers.coloured_network import UNKNOWN, Coloured

PAINTS = {"red": (220, 20, 20), "blue": (20, 20, 220)}
#: x, y, width and height of what images show, with class and colour
SHOWN = [
    [(4, 8, 20, 20, 1, "red")],
    [(30, 20, 8, 36, 2, "blue")],
    [(4, 4, 20, 20, 1, "blue"), (44, 20, 8, 36, 2, "red")],
    [(36, 36, 20, 20, 1, "red"), (10, 20, 8, 36, 2, "red")],
]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """What `t2i generate` writes: images, and what is true of them."""
    images = tmp_path / "run" / "images" / "painter"
    images.mkdir(parents=True)
    (tmp_path / "run" / "annotations").mkdir()
    data: dict[str, Any] = {
        "categories": [
            {"id": 1, "name": "square", "synset": "square.n.01"},
            {"id": 2, "name": "bar", "synset": None},
        ],
        "images": [],
        "annotations": [],
    }
    for number, things in enumerate(SHOWN, 1):
        pixels = np.full((64, 64, 3), 128, np.uint8)
        data["images"].append({"id": number, "file_name": f"{number}.png", "width": 64, "height": 64})
        for x, y, w, h, category, colour in things:
            pixels[y : y + h, x : x + w] = PAINTS[colour]
            entry = {"image_id": number, "category_id": category, "bbox": [x, y, w, h], "iscrowd": 0}
            data["annotations"].append({"id": len(data["annotations"]) + 1, "colour": colour, **entry})
        PILImage.fromarray(pixels).save(images / f"{number}.png")
    find_annotations(images).write_text(json.dumps(data))
    return images


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "ROW", 1)
    monkeypatch.setattr(training, "CHECKPOINT", 1)


def test_annotations_are_read(run_folder: Path) -> None:
    pictures = read(run_folder, find_annotations(run_folder))
    assert [len(picture.things) for picture in pictures] == [1, 1, 2, 2]
    first = pictures[0].things[0]
    assert (first.cls, first.colour) == (ObjectClass("square", "square.n.01"), "red")
    assert first.box == (4 / 64, 8 / 64, 24 / 64, 28 / 64)
    assert [one.name for one in coloured_data.list_classes(pictures)] == ["bar", "square"]
    assert coloured_data.list_colours(pictures) == ("blue", "red")


def test_paintskills_annotations_have_synsets_and_plain_means_unpainted(run_folder: Path) -> None:
    """Its official files name classes as its scenes do, spell colour `color` and call unpainted objects plain."""
    file = find_annotations(run_folder)
    data = json.loads(file.read_text())
    data["categories"] = [{"id": 1, "name": "humanSophie"}, {"id": 2, "name": "fireHydrant"}]
    for entry in data["annotations"]:
        colour = entry.pop("colour")
        entry["color"] = "plain" if colour == "blue" else colour
    file.write_text(json.dumps(data))
    pictures = read(run_folder, file)
    classes = coloured_data.list_classes(pictures)
    assert [(one.name, one.synset) for one in classes] == [
        ("fire hydrant", "fireplug.n.01"), ("human", "person.n.01"),
    ]  # fmt: skip
    assert [[thing.colour for thing in picture.things] for picture in pictures] == [
        ["red"], [None], [None, "red"], ["red", "red"],
    ]  # fmt: skip
    natural = read(run_folder, file, plain="natural")
    assert coloured_data.list_colours(natural) == ("natural", "red")


def changed(folder: Path, change: Callable[[Any], Any]) -> Path:
    file = find_annotations(folder)
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    return file


def test_things_without_colour_crowds_and_empty_boxes(run_folder: Path) -> None:
    def change(data: Any) -> None:
        data["annotations"][0]["colour"] = None
        data["annotations"][1]["color"] = data["annotations"][1].pop("colour")  # others spell it so
        data["annotations"][2]["iscrowd"] = 1
        data["annotations"][4]["bbox"][2] = 0

    file = changed(run_folder, change)
    colours = [[thing.colour for thing in picture.things] for picture in read(run_folder, file)]
    assert colours == [[None], ["blue"], ["red"], ["red"]]
    assert read(run_folder, file, plain="natural")[0].things[0].colour == "natural"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.pop("categories"), "the list 'categories' is missing"),
        (lambda data: data["images"].insert(1, 7), r"images\[1\] must be a JSON object"),
        (lambda data: data["annotations"][2].pop("bbox"), r"annotations\[2\]: bbox must be four numbers"),
        (lambda data: data["annotations"][2].update(bbox=[1, 2, "", 4]), r"annotations\[2\]: bbox must .* \[1, 2"),
        (lambda data: data["annotations"][0].update(category_id=9), "category_id 9 is not among the categories"),
        (lambda data: data["annotations"][0].update(image_id=9), "image_id 9 is not among the images"),
        (lambda data: data["annotations"][0].update(colour=3), r"annotations\[0\]: colour must be a text.* 3"),
        (lambda data: data["images"][0].update(width="wide"), r"images\[0\]: width must be .*'wide'"),
        (lambda data: data["images"][3].update(file_name="x.png"), "1 of its images are not in .*, such as x.png"),
        (lambda data: data["annotations"].clear(), "no image has an annotated object"),
    ],
)
def test_bad_annotations_are_told_in_one_line(run_folder: Path, change: Callable[[Any], Any], says: str) -> None:
    file = changed(run_folder, change)
    with pytest.raises(BadFolder, match=says) as told:
        read(run_folder, file)
    assert str(told.value).startswith(str(file))
    assert "\n" not in str(told.value)


def test_a_user_sees_one_line(run_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find_annotations(run_folder).write_text("{")
    monkeypatch.setattr(sys, "argv", ["train_detector", str(run_folder), str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="COCO annotations cannot be read"):
        train_detector.main()


@pytest.mark.long
@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("kind", ["coloured_detr", "coloured_rt_detr"])
def test_a_stopped_training_ends_with_the_weights_of_an_unbroken_one(
    run_folder: Path, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    model = str(request.getfixturevalue(kind))
    pictures = read(run_folder, find_annotations(run_folder))
    course = Course(steps=2, batch=3, rate=1e-3, warm=1, fall=0)
    whole = train_detector.run(pictures, tmp_path / "whole", course, model)
    # of other classes than the checkpoint's, whose heads were made anew
    assert whole.network.config.id2label == {0: "bar", 1: "square"}
    losses, taken = Coloured.losses, []

    def breaks_off(self: Coloured, pixels: Any, labels: Any) -> Any:
        taken.append(len(labels))
        if len(taken) == 2:
            raise KeyboardInterrupt
        return losses(self, pixels, labels)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Coloured, "losses", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            train_detector.run(pictures, tmp_path / "broken", course, model)
    train_detector.run(pictures, tmp_path / "broken", course, model)
    for name in ("model.safetensors", "colours.safetensors"):
        ours, theirs = (load_file(tmp_path / one / "model" / name) for one in ("broken", "whole"))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    rows = (tmp_path / "broken" / "log.csv").read_text().splitlines()
    assert rows[0].startswith("step,loss,objects,colour,colours_right,")
    assert len(rows) == 3


def test_mirrored_boxes_and_unknown_colours(run_folder: Path) -> None:
    changed(run_folder, lambda data: data["annotations"][0].update(colour=None))
    pictures = read(run_folder, find_annotations(run_folder))
    batch = train_detector.Batch(None, coloured_data.list_classes(pictures), ("blue", "red"))
    plain, mirrored = (batch.labels(pictures[0], flip) for flip in (False, True))
    assert plain["boxes"].tolist() == [[14 / 64, 18 / 64, 20 / 64, 20 / 64]]
    assert mirrored["boxes"].tolist() == [[50 / 64, 18 / 64, 20 / 64, 20 / 64]]
    assert (plain["class_labels"].tolist(), plain["colours"].tolist()) == ([1], [UNKNOWN])


@pytest.mark.parametrize("kind", ["coloured_detr", "coloured_rt_detr"])
def test_colours_are_learnt_from_the_queries_that_things_are_matched_to(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """A planted head: what the loss says of colours is the cross-entropy of the best query for a thing."""
    network, _ = train_detector.start(str(request.getfixturevalue(kind)), [ObjectClass("a"), ObjectClass("b")])
    coloured = Coloured(network.eval(), [ObjectClass("a"), ObjectClass("b")], ("red", "blue"))
    pixels = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        out = network(pixel_values=pixels)
    probs = out.logits[0].softmax(-1) if kind == "coloured_detr" else out.logits[0].sigmoid()
    query = int(
        probs[:, 0].argmax()
    )  # which has the box too, and so is the one for it whatever the matcher weighs
    hidden = out.last_hidden_state[0]
    others = [n for n in range(len(hidden)) if n != query]
    direction = hidden[query] - hidden[others].mean(dim=0)
    coloured.head.weight.data.copy_(torch.stack([direction, -direction]))
    coloured.head.bias.data.zero_()
    probability = (hidden[query] @ coloured.head.weight.T).log_softmax(-1)
    label = {
        "boxes": out.pred_boxes[0, [query]],
        "class_labels": torch.tensor([0]),
        "colours": torch.tensor([1]),
    }
    with torch.no_grad():
        found = coloured.losses(pixels, [label])
        unknown = coloured.losses(pixels, [{**label, "colours": torch.tensor([UNKNOWN])}])
    assert float(found["colour"]) == pytest.approx(float(-probability[1].detach()), rel=1e-3)
    assert float(unknown["colour"]) == 0
    assert float(unknown["loss"]) == pytest.approx(float(unknown["objects"]))


@pytest.mark.long
def test_it_learns_an_image_by_heart(
    run_folder: Path, tmp_path: Path, tiny: Any, coloured_rt_detr: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss falls, and the judge reads what was saved."""
    monkeypatch.setattr(training, "ROW", 5)
    pictures = read(run_folder, find_annotations(run_folder))
    course = Course(steps=30, batch=2, rate=5e-3, warm=5, keep=0.8)
    train_detector.run([pictures[2]], tmp_path / "out", course, str(coloured_rt_detr), share=1.0)
    rows = (tmp_path / "out" / "log.csv").read_text().splitlines()[1:]
    losses = [float(row.split(",")[1]) for row in rows]
    assert len(losses) == 6
    assert losses[-1] < 0.7 * losses[0]
    judge = tiny.made("coloured-detector", tmp_path / "out" / "model", floor=0)
    (found,) = tiny.ask(judge, "detect", [Query((load_image(pictures[2].file),))])
    assert found.labels == (ObjectClass("bar"), ObjectClass("square", "square.n.01"))
    assert found.colour_names == ("blue", "red")
