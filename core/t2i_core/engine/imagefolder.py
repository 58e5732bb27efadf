"""Data sets of `t2i generate`: one imagefolder of Hugging Face's `datasets` per model.

`images/MODEL/metadata.jsonl` has one line per existing image. It is written image by image, and is complete or
absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import TextIOBase
from pathlib import PurePosixPath
from typing import Any

from ..api.plugin_info import ExistingImagesInfo
from ..results.manifest import DatasetRecord
from ..storage.run_folder import RunFolder
from ..storage.store import KeptImage
from .job import SampleSet
from .sample import Model, PlannedSample
from .sample_images import ImageChecks
from .sample_list import SENT, LinkedImage


class ImageFolders:
    """The data sets of a run while they are written.

    Images that existed already have none, because they stay where they are.
    """

    def __init__(self, by_label: Mapping[str, _ImageFolder]) -> None:
        self._by_label = by_label

    def add(self, linked: LinkedImage) -> None:
        """Take an image into its model's data set, if it has one."""
        own = self._by_label.get(linked.of.sample.model.label)
        if own is not None and isinstance(linked.of.image, KeptImage):
            own.add(linked)

    def describe(self, checks: ImageChecks) -> list[DatasetRecord]:
        """Return what was written for each model."""
        return [each.describe(checks) for each in self._by_label.values()]


@contextmanager
def open_image_folders(
    image_sets: Iterable[SampleSet], folder: RunFolder, places: Mapping[str, str]
) -> Iterator[ImageFolders]:
    """Open the data sets of models; when the block ends, they are in the folder."""
    with ExitStack() as files:
        by_label = {}
        for each in image_sets:
            for model in each.models:
                if isinstance(model.component.info, ExistingImagesInfo):
                    continue
                images = f"images/{places[model.label]}"
                file = files.enter_context(folder.open_text(f"{images}/metadata.jsonl"))
                by_label[model.label] = _ImageFolder(each, model, images, file)
        yield ImageFolders(by_label)


class _ImageFolder:
    """The data set of one model."""

    def __init__(self, samples: SampleSet, model: Model, images: str, metadata: TextIOBase) -> None:
        self._samples = samples
        self._model = model
        self._images = images
        self._metadata = metadata
        self._n_images = 0

    def add(self, linked: LinkedImage) -> None:
        """Add one image."""
        name = PurePosixPath(linked.path).name
        self._metadata.write(_dump_json(_make_line(name, linked.of.sample)) + "\n")
        self._n_images += 1

    def describe(self, checks: ImageChecks) -> DatasetRecord:
        """Return what was written."""
        return DatasetRecord(
            model=self._model.label,
            images=self._images,
            metadata=f"{self._images}/metadata.jsonl",
            n_images=self._n_images,
            n_truncated=checks.count_truncated(self._samples, self._model),
        )


def _make_line(name: str, sample: PlannedSample) -> dict[str, Any]:
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
        **({} if sample.sent is prompt else {SENT: _escape_utf8(sample.sent.text)}),
    }


def _escape_utf8(text: str) -> str:
    """Escape what UTF-8 cannot encode (half a surrogate pair), as in samples.csv; `datasets` could not read it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _dump_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)
