"""Ground truth of a run's images, as COCO instances, which pycocotools reads: `annotations/MODEL.json`.

COCO keeps images and annotations as two lists in one file. Both wait in files without names until all entries
exist, so that the masks of only one image are in memory.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from itertools import tee
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TextIO

import numpy as np
from pycocotools import mask as coco_mask
from t2i_core.api import Instance, ObjectClass, Progress, Truth
from t2i_core.api.errors import BrokenPlugin
from t2i_core.results.export_file import remove_other_exports, write_export
from t2i_core.results.manifest import ClassRecord
from t2i_core.results.run import Run

FOLDER = "annotations"


class CocoAnnotations:
    """The sink: one file for each model that reports what it draws."""

    def write(self, run: Run, progress: Progress) -> None:
        """Write the annotations of a run.

        Raises:
            BadFolder: If a truth is damaged, or the folder cannot be written.
            BrokenPlugin: If a model draws a class that it does not declare.
        """
        # first, so that a failure leaves no annotations of earlier images
        remove_other_exports(run, FOLDER, set(), ".json")
        counts = Counter((image.model, image.is_own) for image in _list_images(run))
        n_own = sum(count for (_, is_own), count in counts.items() if is_own)
        with ExitStack() as files:
            models = {
                label: _Annotations(label, run, files, counts[label, True], counts[label, False])
                for label in run.manifest.models
            }
            with progress.task("annotating images", n_own, "images") as task:
                images, again = tee(image for image in _list_images(run) if image.is_own)
                for image, truth in zip(images, run.truths(each.digest for each in again), strict=True):
                    if truth is not None:
                        models[image.model].add(image, truth)
                    task.advance()
            for model in models.values():
                model.write()
                progress.note(model.note)


class _Image(NamedTuple):
    """An image of the run.

    Attributes:
        model: Label of its model.
        number: Its place among all samples of its model, from 1, whether they have an image or not.
        prompt: Id of its prompt.
        seed: Its seed.
        path: Its path within the run's folder; for an image that existed already, its path elsewhere.
        digest: SHA-256 of its file.
        size: Width and height in pixels.
    """

    model: str
    number: int
    prompt: str
    seed: int
    path: PurePosixPath
    digest: str
    size: tuple[int, int]

    @property
    def is_own(self) -> bool:
        """True if it was generated; images that existed already stay where they are."""
        return self.path.parts[:1] == ("images",)


def _list_images(run: Run) -> Iterator[_Image]:
    """Yield the images of a run."""
    numbers: Counter[str] = Counter()
    columns = ["model", "prompt", "seed", "status", "image", "digest", "width", "height"]
    for block in run.iterate_samples():
        for model, prompt, seed, status, image, digest, width, height in block[columns].itertuples(index=False):
            numbers[model] += 1
            if status == "ok":
                size = (int(width), int(height))
                yield _Image(model, numbers[model], prompt, int(seed), PurePosixPath(image), digest, size)


class _Annotations:
    """The annotations of one model.

    Args:
        label: The model's label.
        run: The run.
        files: Closes the files that wait.
        n_own: Number of its images in the run's folder.
        n_existing: Number of its images that existed already.

    Attributes:
        place: Name of the model's folder of images; empty until an image is annotated.
    """

    def __init__(self, label: str, run: Run, files: ExitStack, n_own: int, n_existing: int) -> None:
        self._label = label
        self._record = run.manifest.models[label]
        self._run = run
        self._files = files
        self._n_own = n_own
        self._n_existing = n_existing
        self.place = ""
        self._n_truths = self._n_images = self._n_objects = 0

    def add(self, image: _Image, truth: Truth) -> None:
        """Add one image with what is really drawn in it."""
        self._n_truths += 1
        if self._record.classes is None:
            return
        self.place = image.path.parent.name
        images, objects = self._spools
        _append_entry(images, self._n_images, _make_image(image))
        self._n_images += 1
        for instance in truth.instances:
            entry = _make_annotation(
                self._n_objects + 1, image.number, self._find_category(instance.cls), instance
            )
            _append_entry(objects, self._n_objects, entry)
            self._n_objects += 1

    def write(self) -> None:
        """Write the file, if any image is annotated."""
        if not self.place:
            return
        info = {
            "description": f"What is really drawn in the images of {self._label}",
            "contributor": self._record.dist,
            "version": self._record.version,
            "samples": self._run.manifest.files["samples.csv"],
        }
        domain = self._record.domain
        categories = [
            {"id": number, "name": cls.name, "supercategory": domain, "synset": cls.synset}
            for number, cls in enumerate(self._record.classes or (), 1)
        ]
        with write_export(self._run, self._name) as file:
            file.write(
                f'{{"info": {json.dumps(info)},\n"licenses": [],\n"categories": {json.dumps(categories)},\n'
            )
            for key, spool, end in zip(("images", "annotations"), self._spools, ("],\n", "]"), strict=True):
                file.write(f'"{key}": [')
                spool.seek(0)
                shutil.copyfileobj(spool, file)
                file.write(end)
            file.write("}\n")

    @property
    def note(self) -> str:
        """Note on what was written, or why nothing was."""
        if not self.place:
            return f"{self._reason}, so no annotations are written"
        objects = f"{self._n_objects} objects in {self._n_images} images"
        left_out = self._n_own - self._n_images
        lacking = f"; {left_out} of {self._n_own} images have no ground truth and are left out" if left_out else ""
        return f"annotations of {self._label}: {self._name} ({objects}{lacking})"

    @property
    def _reason(self) -> str:
        """Reason why no image is annotated."""
        if self._n_own == 0:
            reason = "images existed already, and what they show is not known"
            return f"{self._label}: its {reason}" if self._n_existing else f"{self._label} has no images"
        if self._record.domain is None:
            return (
                f"run.json was written by an earlier version of t2i and does not say which classes {self._label} "
                "can draw (run its command again to rewrite it)"
            )
        if self._record.classes is not None:
            return (
                f"the cache does not hold what {self._label} drew in its {self._n_own} images (to generate them "
                "again, give the run's command with --fresh)"
            )
        if self._n_truths:
            return (
                f"{self._name_generator()} reports what it drew, but not which classes it can draw "
                "(GeneratorInfo.labels)"
            )
        return f"{self._label} does not report what it drew"

    @property
    def _name(self) -> str:
        return f"{FOLDER}/{self.place}.json"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {_identify_class(cls): number for number, cls in enumerate(self._record.classes or (), 1)}

    @cached_property
    def _spools(self) -> tuple[TextIO, TextIO]:
        """Two files without names, which disappear with the process."""
        return self._open_spool(), self._open_spool()

    def _open_spool(self) -> TextIO:
        return self._files.enter_context(tempfile.TemporaryFile("w+", encoding="ascii", dir=self._run.folder))

    def _find_category(self, cls: ObjectClass) -> int:
        try:
            return self._numbers[_identify_class(cls)]
        except KeyError:
            known = ", ".join(each.name for each in self._record.classes or ())
            raise BrokenPlugin(
                f"{self._name_generator()} drew {cls.name!r}, which is not one of the classes "
                f"that it declares ({known})"
            ) from None

    def _name_generator(self) -> str:
        record = self._record
        return f"generator {record.name!r}" + (f" ({record.dist} {record.version})" if record.dist else "")


def _make_image(image: _Image) -> dict[str, Any]:
    width, height = image.size
    return {
        "id": image.number,
        "file_name": image.path.name,
        "width": width,
        "height": height,
        "prompt": image.prompt,
        "seed": image.seed,
    }


def _make_annotation(number: int, image: int, category: int, instance: Instance) -> dict[str, Any]:
    x0, y0, x1, y1 = instance.mask.box
    rle = coco_mask.encode(np.asfortranarray(instance.mask.unpack(), np.uint8))
    return {
        "id": number,
        "image_id": image,
        "category_id": category,
        "bbox": [x0, y0, x1 - x0, y1 - y0],
        "area": instance.mask.area(),
        "iscrowd": 0,
        "segmentation": {"size": [int(side) for side in rle["size"]], "counts": rle["counts"].decode("ascii")},
        "colour": instance.colour,
        "attributes": dict(instance.attributes),
    }


def _identify_class(cls: ObjectClass | ClassRecord) -> str:
    """Return the text that is equal for equal classes of one generator, as in `ObjectClass.same_as`."""
    return cls.synset or cls.name


def _append_entry(spool: TextIO, before: int, entry: Mapping[str, Any]) -> None:
    """Append an entry to a JSON list, one a line, after `before` other entries.

    JSON is ASCII, because pycocotools opens files in the encoding of the reader's locale.
    """
    spool.write((",\n" if before else "\n") + json.dumps(entry, allow_nan=False))
