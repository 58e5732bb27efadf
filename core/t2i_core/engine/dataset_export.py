"""Export of a run's images as data sets: one imagefolder per model, with exact annotations if the truth is known.

- `images/MODEL/metadata.jsonl`: one line per existing image: the imagefolder of Hugging Face's `datasets`
- `annotations/MODEL.json`: the objects that are really drawn, as COCO instances, which pycocotools reads

Both are written image by image, and are complete or absent.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import TextIOBase
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from pycocotools import mask as coco_mask

from ..api.errors import BadFolder, BrokenPlugin
from ..api.image import Instance, Truth
from ..api.plugin_guard import describe_component
from ..api.plugin_info import ExistingImagesInfo
from ..api.progress import Progress
from ..api.prompt import ObjectClass
from ..files.digest import digest_file
from ..files.image_file import DamagedImage
from ..results.manifest import DatasetRecord
from ..storage.run_folder import RunFolder
from ..storage.store import KeptImage, Store
from .job import SampleSet, declared_labels
from .ledger import Ledger
from .sample import Model, PlannedSample, iterate_blocks
from .sample_images import ImageChecks, SampleImage
from .sample_list import LinkedImage


def drop_damaged(image_sets: Sequence[SampleSet], store: Store, ledger: Ledger, progress: Progress) -> None:
    """Drop kept images whose files were altered, so that they are made again, each once.

    A judge notices damage when it opens an image; nobody opens images that only go into a data set. An image whose
    truth is damaged is not found in the store, and so is made again anyway.
    """
    total = sum(len(grid) for each in image_sets for grid in each.grids)
    if total == 0:
        return
    with progress.task("checking images", total, "images") as task:
        images = chain.from_iterable(
            store.images([sample.key for sample in block])
            for each in image_sets
            for block in iterate_blocks(each.samples())
        )
        for image in images:
            task.advance()
            if image is None or not store.holds(image) or image.digest in ledger.healed:
                continue
            try:
                whole = digest_file(image.path) == image.digest
            except OSError:
                whole = False
            if not whole:
                store.forget_image(image.digest)
                ledger.healed.add(image.digest)


class DataSets:
    """The data sets of a run while they are written.

    Images that existed already have none, because they stay where they are.
    """

    def __init__(self, by_label: Mapping[str, _DataSet]) -> None:
        self._by_label = by_label

    def add(self, linked: LinkedImage) -> LinkedImage:
        """Take an image into its model's data set, if it has one, and return it.

        Raises:
            BadFolder: If an image's truth cannot be read.
            BrokenPlugin: If a model draws a class that it does not declare.
        """
        own = self._by_label.get(linked.of.sample.model.label)
        if own is not None and isinstance(linked.of.image, KeptImage):
            own.add(linked, linked.of.image)
        return linked

    def finish(self, checks: ImageChecks, progress: Progress) -> list[DatasetRecord]:
        """Write the annotations and return what was written for each model."""
        return [each.finish(checks, progress) for each in self._by_label.values()]


@contextmanager
def open_data_sets(
    image_sets: Iterable[SampleSet], folder: RunFolder, places: Mapping[str, str], store: Store
) -> Iterator[DataSets]:
    """Open the data sets of models; when the block ends, they are in the folder."""
    with ExitStack() as files:
        by_label = {}
        for each in image_sets:
            for model in each.models:
                if isinstance(model.component.info, ExistingImagesInfo):
                    continue
                place = places[model.label]
                metadata = files.enter_context(folder.writing(f"images/{place}/metadata.jsonl"))
                images, annotations = (
                    files.enter_context(_open_spool(folder)),
                    files.enter_context(_open_spool(folder)),
                )
                by_label[model.label] = _DataSet(each, model, folder, place, store, metadata, images, annotations)
        yield DataSets(by_label)


def _open_spool(folder: RunFolder) -> TextIOBase:
    """Open a file without a name, which disappears with the process."""
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace", dir=folder.path)


class _DataSet:
    """The data set of one model.

    COCO keeps images and annotations as two lists in one file. Both wait in files without names until all entries
    exist, so that the masks of only one image are in memory.
    """

    def __init__(
        self,
        samples: SampleSet,
        model: Model,
        folder: RunFolder,
        place: str,
        store: Store,
        metadata: TextIOBase,
        images: TextIOBase,
        annotations: TextIOBase,
    ) -> None:
        self._samples = samples
        self._model = model
        self._folder = folder
        self._place = place
        self._store = store
        self._metadata = metadata
        self._images = images
        self._annotations = annotations
        self._labels = declared_labels(model.component)
        self._categories = {_identify_class(cls): number for number, cls in enumerate(self._labels or (), 1)}
        self._n_images = self._n_truths = self._n_annotated = self._n_annotations = 0

    def add(self, linked: LinkedImage, kept: KeptImage) -> None:
        """Add one image."""
        name = PurePosixPath(linked.path).name
        self._n_images += 1
        self._metadata.write(_dump_json(_make_metadata_line(name, linked.of.sample)) + "\n")
        truth = self._read_truth(kept.image.digest)
        if truth is None:
            return
        self._n_truths += 1
        if self._labels is None:
            return
        _append_entry(self._images, self._n_annotated, _make_coco_image(name, linked.of, kept.size))
        self._n_annotated += 1
        for instance in truth.instances:
            category = self._category(instance.cls)
            number = self._n_annotations + 1
            annotation = _make_annotation(number, linked.of.number, category, instance)
            _append_entry(self._annotations, self._n_annotations, annotation)
            self._n_annotations = number

    def finish(self, checks: ImageChecks, progress: Progress) -> DatasetRecord:
        """Write the annotations, if there is a truth, and return what was written."""
        name = f"annotations/{self._place}.json"
        if self._n_annotated:
            self._write_annotations(name)
        else:
            self._folder.remove(name)
        if self._n_truths and self._labels is None:
            progress.note(
                f"{describe_component(self._model.component)} reports what it drew, but not which classes it can "
                "draw (GeneratorInfo.labels), so no annotations are written"
            )
        return DatasetRecord(
            model=self._model.label,
            images=f"images/{self._place}",
            metadata=f"images/{self._place}/metadata.jsonl",
            annotations=name if self._n_annotated else None,
            n_images=self._n_images,
            n_annotated=self._n_annotated,
            n_annotations=self._n_annotations,
            n_truncated=checks.count_truncated(self._samples, self._model),
        )

    def _write_annotations(self, name: str) -> None:
        component = self._model.component
        info = {
            "description": f"What is really drawn in the images of {self._model.label}",
            "contributor": component.dist,
            "version": component.version,
        }
        domain = component.info.domain.name
        categories = [_category(n, cls, domain) for n, cls in enumerate(self._labels or (), 1)]
        with self._folder.writing(name) as file:
            file.write(
                f'{{"info": {_dump_ascii(info)},\n"licenses": [],\n"categories": {_dump_ascii(categories)},\n'
            )
            for key, spool in (("images", self._images), ("annotations", self._annotations)):
                file.write(f'"{key}": [')
                spool.seek(0)
                shutil.copyfileobj(spool, file)
                file.write("]" if key == "annotations" else "],\n")
            file.write("}\n")

    def _read_truth(self, digest: str) -> Truth | None:
        try:
            return self._store.truth(digest)
        except DamagedImage as error:
            raise BadFolder(
                f"cache folder {self._store.folder}: {error}; run the command again to fix it"
            ) from error

    def _category(self, cls: ObjectClass) -> int:
        try:
            return self._categories[_identify_class(cls)]
        except KeyError:
            known = ", ".join(label.name for label in self._labels or ())
            raise BrokenPlugin(
                f"{describe_component(self._model.component)} drew {cls.name!r}, which is not one of the classes "
                f"that it declares ({known})"
            ) from None


def _make_metadata_line(name: str, sample: PlannedSample) -> dict[str, Any]:
    """Return an image's line of metadata.jsonl.

    Facets and scene are JSON in a text, because `datasets` wants one type for each column and infers it from the
    first lines, while the keys of scenes differ from prompt to prompt.
    """
    prompt = sample.prompt
    return {
        "file_name": name,
        "text": _escape_utf8(prompt.text),
        "prompt": prompt.id,
        "seed": sample.seed,
        "noise_seed": sample.noise_seed,
        "facets": _dump_json(dict(prompt.facets)),
        "scene": _escape_utf8(_dump_json(prompt.scene.to_json() if prompt.scene else None)),
    }


def _make_coco_image(name: str, image: SampleImage, size: tuple[int, int]) -> dict[str, Any]:
    width, height = size
    return {
        "id": image.number,
        "file_name": name,
        "width": width,
        "height": height,
        "prompt": image.sample.prompt.id,
        "seed": image.sample.seed,
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


def _category(number: int, cls: ObjectClass, domain: str) -> dict[str, Any]:
    return {"id": number, "name": cls.name, "supercategory": domain, "synset": cls.synset}


def _identify_class(cls: ObjectClass) -> str:
    """Return the text that is equal for equal classes of one generator, as in `ObjectClass.same_as`."""
    return cls.synset or cls.name


def _append_entry(spool: TextIOBase, before: int, entry: Mapping[str, Any]) -> None:
    """Append an entry to a JSON list, one a line, after `before` other entries."""
    spool.write((",\n" if before else "\n") + _dump_ascii(entry))


def _escape_utf8(text: str) -> str:
    """Escape what UTF-8 cannot encode (half a surrogate pair), as in samples.csv; `datasets` could not read it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _dump_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def _dump_ascii(data: Any) -> str:
    """Return JSON in ASCII, because pycocotools opens files in the encoding of the reader's locale."""
    return json.dumps(data, allow_nan=False)
