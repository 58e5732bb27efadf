"""Checkpoints in DETR's own layout: the converted network gives what the original gives."""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.api import ObjectClass, Query
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.api.image import Image
from t2i_transformers import checkpoints
from t2i_transformers.class_names import read_class
from t2i_transformers.detr_checkpoint import convert, convert_weights, main, read_categories, read_checkpoint

NAMES = ["humanSophie", "fireHydrant", "humanAlex", "dog", "van"]
COLOURS = ("red", "blue")


@pytest.fixture(scope="module")
def annotations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("annotations") / "object_train_bounding_boxes.json"
    file.write_text(json.dumps({"categories": [{"id": n, "name": name} for n, name in enumerate(NAMES)]}))
    return file


@pytest.fixture(scope="module")
def original(original_detr: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    file = tmp_path_factory.mktemp("detr") / "checkpoint.pth"
    return file, original_detr.save_original(file, colours=2)


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory, original: Any, annotations: Path) -> Path:
    out = tmp_path_factory.mktemp("converted") / "detr"
    main([str(original[0]), str(out), "--classes", str(annotations), "--colours", ",".join(COLOURS)])
    return out


@pytest.mark.long  # a ResNet-50
def test_the_converted_network_gives_the_originals_outputs(converted: Path, original: Any) -> None:
    from transformers import DetrForObjectDetection

    network = DetrForObjectDetection.from_pretrained(converted).eval()
    pixels = torch.randn(1, 3, 96, 160, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        ours, theirs = network(pixels), original[1](pixels)
    torch.testing.assert_close(ours.logits[0], theirs["logits"], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ours.pred_boxes[0], theirs["boxes"], atol=1e-5, rtol=1e-4)
    assert theirs["logits"].std() > 0.1


@pytest.mark.long
def test_the_judge_reads_it(tiny: Any, converted: Path, original: Any, images: list[Image]) -> None:
    from transformers import AutoImageProcessor

    judge = tiny.made("coloured-detector", converted, 1, floor=0)
    (found,) = tiny.ask(judge, "detect", [Query((images[0],))])
    processor = AutoImageProcessor.from_pretrained(converted)
    with torch.inference_mode():
        theirs = original[1](processor(images=images[0].pil(), return_tensors="pt")["pixel_values"])
    five = theirs["logits"].softmax(-1)[:, :-1].numpy()
    people = five[:, [0]] + five[:, [2]]  # both characters are one class
    expected = np.hstack([people, five[:, [1]], five[:, [3]], five[:, [4]]])
    np.testing.assert_allclose(found.class_probs, expected, atol=1e-4)
    assert [(one.name, one.synset) for one in found.labels] == [
        ("human", "person.n.01"), ("fire hydrant", "fireplug.n.01"), ("dog", "dog.n.01"), ("van", "van.n.05"),
    ]  # fmt: skip
    assert found.colour_names == COLOURS
    np.testing.assert_allclose(found.colours, theirs["colours"][:, :-1].softmax(-1), atol=1e-4)


def test_each_projection_keeps_its_part() -> None:
    whole = torch.arange(18.0).reshape(6, 3)
    found = convert_weights({"transformer.decoder.layers.4.multihead_attn.in_proj_weight": whole})
    start = "model.decoder.layers.4.encoder_attn."
    assert list(found) == [f"{start}{part}_proj.weight" for part in "qkv"]
    torch.testing.assert_close(torch.cat(list(found.values())), whole)
    with pytest.raises(BadModel, match=r"'head\.weight' is not among the weights of a DETR"):
        convert_weights({"head.weight": whole})


class Harm:
    """A pickle that would write a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read as weights"),
        ({"model": {"a": torch.zeros(1)}}, "has no weights of a DETR"),
        ([1], "has no weights of a DETR"),
        ({"model": {"class_embed.weight": torch.zeros(6, 4)}}, "lacks a DETR's weight"),
        (
            {"model": {"class_embed.weight": torch.zeros(1)}, "args": [1]},
            r"training settings \(`args`\) must have",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: Any, said: str) -> None:
    file = tmp_path / "checkpoint.pth"
    if content is not None:
        torch.save(content, file)
    with pytest.raises(BadModel, match=said) as caught:
        convert(file, tmp_path / "out", {})
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    file, made = tmp_path / "checkpoint.pth", tmp_path / "made"
    torch.save({"model": {}, "args": Harm(made)}, file)
    with pytest.raises(BadModel, match="cannot be read as weights"):
        convert(file, tmp_path / "out", {})
    file.write_bytes(pickle.dumps(Harm(made)))
    with pytest.raises(BadModel, match="cannot be read as weights"):
        convert(file, tmp_path / "out", {})
    assert not made.exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "names", "colours", "said"),
    [
        ({"pre_norm": True}, {0: "dog"}, COLOURS, "no DETR with pre_norm"),
        ({}, {5: "dog"}, COLOURS, "has 5 classes, so 'dog' has no output"),
        ({}, {0: "dog"}, ("red",), r"has 2 colours; name as many with --colours \(got 1\)"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    original_detr: Any,
    tmp_path: Path,
    settings: dict[str, Any],
    names: dict[int, str],
    colours: tuple[str, ...],
    said: str,
) -> None:
    file = tmp_path / "checkpoint.pth"
    original_detr.save_original(file, colours=2, **settings)
    with pytest.raises((BadModel, BadOption), match=said):
        convert(file, tmp_path / "out", {n: ObjectClass(name) for n, name in names.items()}, colours)


@pytest.mark.parametrize(
    "change",
    [{"class_embed.bias": None}, {"class_embed.bias": torch.zeros(9)}],
    ids=["missing", "of another shape"],
)
@pytest.mark.long
def test_weights_that_do_not_fit_leave_nothing(
    original: Any, tmp_path: Path, change: dict[str, torch.Tensor | None]
) -> None:
    weights = {**torch.load(original[0], weights_only=False)["model"], **change}
    file, out = tmp_path / "checkpoint.pth", tmp_path / "new" / "out"
    torch.save({"model": {name: tensor for name, tensor in weights.items() if tensor is not None}}, file)
    with pytest.raises(BadModel, match="does not fit a DETR of transformers") as caught:
        convert(file, out, {0: ObjectClass("dog")}, COLOURS)
    assert "\n" not in str(caught.value)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("settings", [{"nheads": 4}, argparse.Namespace(nheads=4), None])
def test_settings_may_be_a_namespace_or_a_mapping(tmp_path: Path, settings: Any) -> None:
    file = tmp_path / "checkpoint.pth"
    torch.save({"model": {"class_embed.weight": torch.zeros(1)}, "args": settings}, file)
    assert read_checkpoint(file)[1] == ({} if settings is None else {"nheads": 4})


def test_a_folder_with_files_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(BadOption, match="is not an empty folder; name a new one"):
        convert(tmp_path / "checkpoint.pth", tmp_path, {})


def test_categories_need_numbers_and_names(tmp_path: Path) -> None:
    file = tmp_path / "annotations.json"
    file.write_text('{"categories": [{"name": "dog"}]}')
    with pytest.raises(BadOption, match="must be COCO annotations with categories"):
        read_categories(file)


def test_a_judge_says_how_to_convert(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pth"
    file.touch()
    for place in (file, tmp_path):
        with pytest.raises(BadModel, match=r"t2i_transformers\.detr_checkpoint .*checkpoint\.pth OUT --classes"):
            checkpoints.config(checkpoints.find("transformers-detector", str(place)), offline=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fireHydrant", ObjectClass("fire hydrant", "fireplug.n.01")),
        ("stopSign", ObjectClass("stop sign", "street_sign.n.01")),
        ("trafficLight", ObjectClass("traffic light", "traffic_light.n.01")),
        ("diningTable", ObjectClass("dining table", "dining_table.n.01")),
        ("pottedPlant", ObjectClass("potted plant", "pot_plant.n.01")),
        ("humanSophie", ObjectClass("human", "person.n.01")),
        ("human", ObjectClass("human", "person.n.01")),
        ("bike", ObjectClass("bike", "bicycle.n.01")),
        ("person", ObjectClass("person", "person.n.01")),
        ("Unknown Thing", ObjectClass("Unknown Thing")),
    ],
)
def test_names_of_other_programs(name: str, expected: ObjectClass) -> None:
    assert read_class(name) == expected
    assert read_class(name, "entity.n.01") == ObjectClass(name, "entity.n.01")
