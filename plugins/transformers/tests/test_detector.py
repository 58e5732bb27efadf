"""Judge `transformers-detector`, on small DETRs that transformers itself saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.api import ObjectClass, Query
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract
from t2i_torch_support.coco_classes import CLASSES
from t2i_transformers import checkpoints

NAME = "transformers-detector"


class TestContract(JudgeContract):
    module = "t2i_transformers.plugin"
    name = NAME

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_detr: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_detr))


def detected(tiny: Any, judge: Any, images: list[Image]) -> list[Any]:
    found: list[Any] = tiny.ask(judge, "detect", [Query((image,)) for image in images])
    return found


def test_a_hand_set_head_finds_what_it_was_set_to(tiny: Any, tmp_path: Path, images: list[Image]) -> None:
    """Every query says: cat 6 parts, dog 3, no object 1; centre (0.5, 0.75), a quarter wide, half high."""

    names = list(tiny.COCO_91.values())

    def known(network: Any) -> None:
        with torch.no_grad():
            head, box = network.class_labels_classifier, network.bbox_predictor.layers[-1]
            head.weight.zero_(), box.weight.zero_()
            head.bias.fill_(-100)
            for column, parts in ((names.index("cat"), 6), (names.index("dog"), 3), (91, 1)):
                head.bias[column] = np.log(parts)
            box.bias.copy_(torch.logit(torch.tensor([0.5, 0.75, 0.25, 0.5])))

    folder = tiny.save_detr(tmp_path / "known", known)
    for found, image in zip(detected(tiny, tiny.made(NAME, folder), images), images, strict=True):
        width, height = image.pil().size
        assert len(found) == 12
        assert {found.label(i).synset for i in range(12)} == {"cat.n.01"}
        np.testing.assert_allclose(found.scores, 0.6, atol=1e-5)
        np.testing.assert_allclose(found.class_probs.sum(axis=1), 0.9, atol=1e-5)  # a tenth is for "no object"
        box = [0.375 * width, 0.5 * height, 0.625 * width, height]
        np.testing.assert_allclose(found.boxes, np.tile(box, (12, 1)), atol=1e-4)


def test_detections_are_the_librarys_own(tiny: Any, tiny_detr: Path, images: list[Image]) -> None:
    from transformers import DetrForObjectDetection, DetrImageProcessor

    network = DetrForObjectDetection.from_pretrained(tiny_detr).eval()
    processor = DetrImageProcessor.from_pretrained(tiny_detr)
    found = detected(tiny, tiny.made(NAME, tiny_detr, 5), images)
    assert sum(map(len, found)) > 5
    for image, ours in zip(images, found, strict=True):
        with torch.inference_mode():
            out = network(**processor(images=image.pil(), return_tensors="pt"))
        size = image.pil().size
        (theirs,) = processor.post_process_object_detection(out, threshold=0.05, target_sizes=[size[::-1]])
        np.testing.assert_allclose(ours.scores, theirs["scores"], atol=1e-5)
        names = [network.config.id2label[int(n)] for n in theirs["labels"]]
        assert [ours.label(i).name for i in range(len(ours))] == names
        inside = theirs["boxes"].numpy().clip(0, np.array([*size, *size]))
        np.testing.assert_allclose(ours.boxes, inside, atol=1e-3)


def test_company_changes_nothing(tiny: Any, tiny_detr: Path, images: list[Image]) -> None:
    """Images of other sizes in the batch would be padded to one size, and change each other's answers."""
    together = detected(tiny, tiny.made(NAME, tiny_detr, 5), images)
    alone = detected(tiny, tiny.made(NAME, tiny_detr, 1), images)
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a.boxes, b.boxes, atol=1e-4)
        np.testing.assert_allclose(a.class_probs, b.class_probs, atol=1e-4)


def test_memory_that_runs_out_halves_the_batch(tiny: Any, tiny_detr: Path, images: list[Image]) -> None:
    same = [images[0], images[2]] * 3
    judge = tiny.made(NAME, tiny_detr)
    judge._batches.size = 6
    forward, sizes = judge.loaded.network.forward, []

    def small(pixel_values: torch.Tensor, **rest: Any) -> Any:
        sizes.append(len(pixel_values))
        if len(pixel_values) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more")
        return forward(pixel_values, **rest)

    judge.loaded.network.forward = small
    assert len(detected(tiny, judge, same)) == 6
    assert (sizes, judge.settings["batch_size"]) == ([6, 3, 3], 3)


def test_settings_and_classes(tiny: Any, tiny_detr: Path, images: list[Image]) -> None:
    judge = tiny.made(NAME, tiny_detr, floor=0)
    assert json.loads(json.dumps(judge.settings)) == judge.settings
    info = tiny.OFFERED[NAME]
    labels = info.labels(str(tiny_detr), info.options())
    assert labels == tuple(CLASSES.values())  # N/A is not a class
    (found,) = detected(tiny, judge, images[:1])
    assert found.labels == labels
    assert found.class_probs.shape == (12, 80)
    assert {len(f) for f in detected(tiny, tiny.made(NAME, tiny_detr, floor=1), images)} == {0}


def test_classes_are_cocos_only_where_all_of_them_are() -> None:
    names = [*CLASSES, *checkpoints.NEVER_ANNOTATED]
    assert len(names) == 91
    known = checkpoints.classes({"id2label": {str(n): name for n, name in enumerate(names)}})
    assert list(known.values()) == list(CLASSES.values())
    own = checkpoints.classes({"id2label": {"0": "hat", "1": "mouse"}})
    assert own == {0: ObjectClass("hat"), 1: ObjectClass("mouse")}  # whose mouse may be the animal


def test_a_backbone_of_timm_with_the_names_of_the_published_weights(
    tiny: Any, tmp_path: Path, images: list[Image]
) -> None:
    """facebook/detr-resnet-50 is of transformers 4: its keys are called otherwise, its backbone is timm's."""
    from safetensors.torch import load_file, save_file

    new = tiny.save_detr(
        tmp_path / "new",
        backbone_config={"model_type": "timm_backbone", "backbone": "resnet10t", "out_indices": [4]},
    )
    old = tmp_path / "old"
    old.mkdir()
    config = json.loads((new / "config.json").read_text())
    del config["backbone_config"]
    config |= {"use_timm_backbone": True, "backbone": "resnet10t", "backbone_config": None}
    (old / "config.json").write_text(json.dumps(config))
    (old / "preprocessor_config.json").write_text((new / "preprocessor_config.json").read_text())
    weights = load_file(new / "model.safetensors")
    names = {".mlp.fc": ".fc", "o_proj": "out_proj", "backbone.model": "backbone.conv_encoder.model"}
    renamed = {}
    for key, value in weights.items():
        for now, before in names.items():
            key = key if before in key else key.replace(now, before)
        renamed[key] = value
    save_file(renamed, old / "model.safetensors", {"format": "pt"})
    expected, found = (detected(tiny, tiny.made(NAME, folder), images[:2]) for folder in (new, old))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a.class_probs, b.class_probs, atol=1e-5)
