"""Training of coloured detectors: ``python train_coloured_detector.py IMAGES... OUT --model MODEL``.

IMAGES are folders of images with COCO annotations and a colour for each object (`colour`), as the sink
`coco-annotations` writes them: RUN/images/MODEL with RUN/annotations/MODEL.json. MODEL is a DETR, RT-DETR or
D-FINE, on the hub or in a folder; the training replaces its heads by heads for the annotated classes and
colours. The same command resumes an interrupted training. At the end, OUT/model holds the averaged weights for
the judge `coloured-detector:OUT/model`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from coloured_data import LabelledPicture, find_annotations, list_classes, list_colours, read
from PIL import Image, ImageOps
from t2i_core.api import ObjectClass
from t2i_core.api.errors import BadModel, T2IError
from t2i_torch_support.training import Course, train
from t2i_torch_support.weights import explain_load_error
from t2i_transformers import checkpoints
from t2i_transformers.coloured_network import UNKNOWN, Coloured, make_label_config
from t2i_transformers.judge import Features
from t2i_transformers.loaded_checkpoint import hide_reports
from t2i_transformers.plugin import COLOURED, TYPES
from torch import Tensor


def start(model: str, classes: Sequence[ObjectClass]) -> tuple[Any, Any]:
    """Return a network with heads for these classes, and its processor.

    Heads for other classes are replaced by new ones.

    Args:
        model: Repository or folder.
        classes: Classes to detect.

    Raises:
        BadModel: The model cannot be loaded or has another architecture.
    """
    place = checkpoints.find(model, model)
    checkpoints.check_type(place, TYPES[COLOURED], offline=False)
    folder = checkpoints.fetch(place, offline=False)
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        with hide_reports():
            processor = transformers.AutoImageProcessor.from_pretrained(folder, **safe)
            network, report = transformers.AutoModelForObjectDetection.from_pretrained(
                folder, **safe, **make_label_config(classes), use_safetensors=True, dtype=torch.float32,
                ignore_mismatched_sizes=True, output_loading_info=True,
            )  # fmt: skip
    except Exception as error:  # of many types, as in `loaded_checkpoint`
        raise BadModel(f"{model}: cannot be loaded from {folder} ({explain_load_error(error)})") from error
    if missing := sorted(set(report["missing_keys"]) - {key for key, *_ in report["mismatched_keys"]}):
        raise BadModel(f"{model}: {folder} lacks {len(missing)} of its weights, such as {missing[0]}")
    return network, processor


class Batch:
    """Prepares images and labels for training, in the same way as the judge."""

    def __init__(self, processor: Any, classes: Sequence[ObjectClass], colours: Sequence[str]) -> None:
        self._processor = processor
        self._classes = {one.synset or one.name: number for number, one in enumerate(classes)}
        self._colours: dict[str | None, int] = {None: UNKNOWN, **{c: n for n, c in enumerate(colours)}}

    def prepared(self, picture: LabelledPicture, mirrored: bool) -> Features:
        """Return the pixels of an image (1, 3, H, W), mirrored or not."""
        image = Image.open(picture.file, formats=("PNG", "JPEG", "WEBP")).convert("RGB")
        pixels = self._processor(images=ImageOps.mirror(image) if mirrored else image, return_tensors="pt")
        return {"pixel_values": pixels["pixel_values"]}

    def labels(self, picture: LabelledPicture, mirrored: bool) -> dict[str, Tensor]:
        """Return the labels of an image, mirrored or not, for `Coloured.losses`."""
        x0, y0, x1, y1 = torch.tensor([thing.box for thing in picture.things]).T
        if mirrored:
            x0, x1 = 1 - x1, 1 - x0
        things = picture.things
        return {
            "boxes": torch.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], dim=1),
            "class_labels": torch.tensor([self._classes[t.cls.synset or t.cls.name] for t in things]),
            "colours": torch.tensor([self._colours[t.colour] for t in things]),
        }


def run(
    pictures: Sequence[LabelledPicture],
    out: Path,
    course: Course,
    model: str,
    share: float = 0.1,
    device: str = "cpu",
) -> Coloured:
    """Train in a folder, and return the averaged network, which is also saved in OUT/model.

    Args:
        pictures: Training images with their objects.
        out: Folder of the training.
        course: Steps, batch size, learning rate and seed.
        model: Repository or folder of the model to start from.
        share: Learning rate of the backbone as a share of the learning rate.
        device: Device to train on.
    """
    classes, colours = list_classes(pictures), list_colours(pictures)
    torch.manual_seed(course.seed)
    network, processor = start(model, classes)
    coloured = Coloured(network, classes, colours).train().to(device)
    batch = Batch(processor, classes, colours)

    def losses(step: int, random: torch.Generator) -> dict[str, Tensor]:
        torch.manual_seed(int(torch.randint(2**62, (), generator=random)))  # dropout, and RT-DETR's noise
        chosen = torch.randint(len(pictures), (course.batch,), generator=random).tolist()
        mirror = (torch.rand(course.batch, generator=random) < 0.5).tolist()
        taken = [(pictures[number], flip) for number, flip in zip(chosen, mirror, strict=True)]
        prepared = [batch.prepared(*one) for one in taken]
        labels = [{k: v.to(device) for k, v in batch.labels(*one).items()} for one in taken]
        # images of equal shape together, without padding, as in the judge
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, features in enumerate(prepared):
            groups.setdefault(tuple(features["pixel_values"].shape), []).append(number)
        found: dict[str, Tensor] = {}
        for numbers in groups.values():
            pixels = torch.cat([prepared[n]["pixel_values"] for n in numbers]).to(device)
            for name, value in coloured.losses(pixels, [labels[n] for n in numbers]).items():
                found[name] = found.get(name, 0.0) + value * len(numbers) / course.batch
        return found

    about = {"model": model, "images": len(pictures), "classes": [c.name for c in classes], "colours": colours}
    backbone = network.model.backbone
    average = train(coloured, losses, course, out, {**about, "backbone": share}, backbone, share)
    assert isinstance(average, Coloured)
    average.save(processor, out / "model")
    return average


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="facebook/detr-resnet-50")
    parser.add_argument("--annotations", type=Path, action="append", help="annotations of each IMAGES, in order")
    parser.add_argument("--plain", help="colour of objects without one. Default: their colour is unknown")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument(
        "--backbone", type=float, default=0.1, help="learning rate of the backbone as a share of --rate"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    files = given.annotations or [find_annotations(folder) for folder in given.images]
    if len(files) != len(given.images):
        parser.error(f"{len(files)} --annotations for {len(given.images)} folders of images")
    try:
        pictures = [
            picture
            for folder, file in zip(given.images, files, strict=True)
            for picture in read(folder, file, given.plain)
        ]
        course = Course(given.steps, given.batch, given.rate, given.seed, decay=1e-4)
        run(pictures, given.out, course, given.model, given.backbone, given.device)
    except T2IError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
