"""Images of runs, read from their folders and served without metadata."""

from __future__ import annotations

import io
import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image as PILImage
from t2i_core.api.errors import BadFolder, UnknownName
from t2i_core.api.image import Image
from t2i_core.files.image_file import DamagedImage
from t2i_core.results.run import Run, load_run

KEPT = 256 << 20
"""Maximum size, in bytes, of the encoded images that a shelf keeps in memory."""


@dataclass(frozen=True)
class StudyPicture:
    """A model's image of a prompt.

    Attributes:
        model: Label of the model.
        prompt: Id of the prompt.
        seed: Seed of the image.
        image: The image.
        size: Width and height in pixels.
    """

    model: str
    prompt: str
    seed: int
    image: Image
    size: tuple[int, int]


@dataclass(frozen=True)
class Material:
    """Material of a study.

    Attributes:
        pictures: The images.
        prompts: Text and subset of each prompt, by id.
    """

    pictures: tuple[StudyPicture, ...]
    prompts: Mapping[str, tuple[str, str]]

    @property
    def models(self) -> list[str]:
        """Labels of the models, sorted."""
        return sorted({picture.model for picture in self.pictures})


def read_material(
    folders: Sequence[Path], models: Sequence[str] = (), images_from: Sequence[Path] = ()
) -> Material:
    """Read the images of runs.

    Images of the same model from several runs are combined. Different models with the same label get the name of
    their run's folder as a suffix.

    Args:
        folders: Run folders.
        models: Models to show; all if empty.
        images_from: Folders outside the runs whose images may be shown.

    Raises:
        BadFolder: If a folder is not a finished run, two runs have different texts for one prompt id, or different
            images for the same model, prompt and seed.
        UnknownName: If a model is not in the runs.
    """
    runs = [load_run(folder, images_from) for folder in folders]
    labels = _labels(runs)
    known = sorted({label for of_run in labels for label in of_run.values()})
    if unknown := next((model for model in models if model not in known), None):
        raise UnknownName.among("model", unknown, known, f"the runs have {', '.join(known)}")
    pictures: dict[tuple[str, str, int], StudyPicture] = {}
    prompts: dict[str, tuple[str, str]] = {}
    for run, names in zip(runs, labels, strict=True):
        samples, images = run.samples(), run.images()
        subsets = _subsets(run)
        there = samples.loc[samples["status"] == "ok", ["model", "prompt", "text", "seed", "width", "height"]]
        for index, model, prompt, cell, seed, width, height in there.itertuples(name=None):
            label = names[model]
            if models and label not in models:
                continue
            text = _text(cell)
            if prompts.setdefault(prompt, (text, subsets.get(prompt, "")))[0] != text:
                raise BadFolder(
                    f"{run.path}: prompt {prompt!r} has a different text in another run; serve one of them"
                )
            found = StudyPicture(label, prompt, int(seed), images[index], (int(width), int(height)))
            place = (found.model, found.prompt, found.seed)
            if pictures.setdefault(place, found).image.digest != found.image.digest:
                what = f"{label!r}, prompt {prompt!r}, seed {seed}"
                raise BadFolder(f"{run.path}: another run has a different image of {what}; serve one of them")
    if not pictures:
        raise BadFolder(f"{', '.join(map(str, folders))}: no images; name runs with images")
    return Material(tuple(pictures.values()), prompts)


def _labels(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return each run's labels; labels that have another fingerprint in another run get the folder as a suffix."""
    fingerprints = [{label: model.fingerprint for label, model in run.manifest.models.items()} for run in runs]
    folders = [run.folder.name for run in runs]
    if len(set(folders)) < len(folders):
        folders = [str(run.folder) for run in runs]
    return [
        {
            label: label
            if all(other.get(label, print_) == print_ for other in fingerprints)
            else f"{label} ({folder})"
            for label, print_ in own.items()
        }
        for own, folder in zip(fingerprints, folders, strict=True)
    ]


def _text(cell: Any) -> str:
    return "" if pd.isna(cell) else str(cell)


def _subsets(run: Run) -> dict[str, str]:
    """Return the subset of each prompt, if the run's measurements have one: or its skill, or its category."""
    if "measurements.csv" not in run.manifest.files:
        return {}
    table = run.measurements()
    column = next((name for name in ("subset", "skill", "category") if name in table), None)
    if column is None:
        return {}
    known = table.dropna(subset=["prompt", column])
    return dict(zip(known["prompt"].astype(str), known[column].astype(str), strict=True))


def check(pictures: Iterable[StudyPicture]) -> None:
    """Check the files of pictures.

    Raises:
        BadFolder: If a file is missing, not allowed, or differs from the one that the run lists.
    """
    for picture in pictures:
        image = picture.image
        if image.refused is not None:
            raise BadFolder(f"{image.refused}; to show it, name its folder with --images-from DIR")
        try:
            image.check()
        except DamagedImage as error:
            raise BadFolder(f"{error}; repeat the run's command to write it again") from error


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Return pixels, (height, width, 3), as a PNG file without metadata."""
    buffer = io.BytesIO()
    PILImage.fromarray(pixels).save(buffer, "png", compress_level=1)
    return buffer.getvalue()


class Shelf:
    """Pictures by opaque id, as PNG files encoded again from their pixels.

    Encoding them again removes a file's metadata, which may name the model, and anything that is not an image. A
    shelf is thread-safe.
    """

    def __init__(self, pictures: Mapping[str, StudyPicture]) -> None:
        self._pictures = pictures
        self._ready: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def __contains__(self, id: str) -> bool:
        return id in self._pictures

    def __getitem__(self, id: str) -> StudyPicture:
        return self._pictures[id]

    @staticmethod
    def across(ids: Sequence[str]) -> int:
        """Return the number of columns of a grid of these pictures."""
        return math.isqrt(max(len(ids), 1) - 1) + 1

    def png(self, id: str) -> bytes:
        """Return the picture as a PNG file.

        Raises:
            DamagedImage: If its file cannot be read.
        """
        with self._lock:
            if id in self._ready:
                self._ready.move_to_end(id)
                return self._ready[id]
        picture = self._pictures[id].image
        # a copy, because the picture itself would cache its pixels as long as the server runs
        pixels = replace(picture).pixels
        data = encode_png(pixels)
        with self._lock:
            if id not in self._ready:
                self._ready[id] = data
                self._size += len(data)
            while self._size > KEPT and len(self._ready) > 1:
                self._size -= len(self._ready.popitem(last=False)[1])
        return data
