"""The images of runs: read from their folders, and served as pixels alone."""

from __future__ import annotations

import io
import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image as PILImage
from t2i_core.api.errors import BadFolder, UnknownName
from t2i_core.api.image import Image
from t2i_core.files.image_file import DamagedImage
from t2i_core.results.run import Run, load_run

KEPT = 256 << 20
"""Bytes of images, ready to be sent, that a shelf keeps in memory."""


@dataclass(frozen=True)
class StudyPicture:
    """A model's image of a prompt. size: width and height in pixels."""

    model: str
    prompt: str
    seed: int
    image: Image
    size: tuple[int, int]


@dataclass(frozen=True)
class Material:
    """What people can be shown: pictures, and the text and subset of their prompts."""

    pictures: tuple[StudyPicture, ...]
    prompts: Mapping[str, tuple[str, str]]

    @property
    def models(self) -> list[str]:
        """The labels of the models."""
        return sorted({picture.model for picture in self.pictures})


def read_material(
    folders: Sequence[Path], models: Sequence[str] = (), images_from: Sequence[Path] = ()
) -> Material:
    """Read the images of runs.

    Runs of one model add to each other; other models of one label are told apart by their runs' folders.

    models: those that are shown; all, where none is named
    images_from: folders outside of the runs' whose images may be shown too

    Raises BadFolder for a folder that is no finished run, prompts of one id with different texts and two images in
    one place; UnknownName for a model that is not there.
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
        for row in samples[samples["status"] == "ok"].itertuples():
            label = names[row.model]
            if models and label not in models:
                continue
            text = _text(row.text)
            if prompts.setdefault(row.prompt, (text, subsets.get(row.prompt, "")))[0] != text:
                raise BadFolder(f"{run.path}: its prompt {row.prompt!r} is another one in another run")
            image = images[row.Index]
            size = int(row.width), int(row.height)
            found = StudyPicture(label, row.prompt, int(row.seed), image, size)
            place = (found.model, found.prompt, found.seed)
            if pictures.setdefault(place, found).image.digest != image.digest:
                what = f"{label!r}, prompt {row.prompt!r}, seed {row.seed}"
                raise BadFolder(f"{run.path}: another run has another image of {what}")
    if not pictures:
        raise BadFolder(f"{', '.join(map(str, folders))}: no images")
    return Material(tuple(pictures.values()), prompts)


def _labels(runs: Sequence[Run]) -> list[dict[str, str]]:
    """For each run its models' labels, those of other fingerprints than another run's told apart by their run."""
    said = [{label: model.fingerprint for label, model in run.manifest.models.items()} for run in runs]
    folders = [run.folder.name for run in runs]
    if len(set(folders)) < len(folders):
        folders = [str(run.folder) for run in runs]
    return [
        {
            label: label if all(other.get(label, print_) == print_ for other in said) else f"{label} ({folder})"
            for label, print_ in own.items()
        }
        for own, folder in zip(said, folders, strict=True)
    ]


def _text(cell: Any) -> str:
    return "" if pd.isna(cell) else str(cell)


def _subsets(run: Run) -> dict[str, str]:
    """The subset of each prompt, where the run's metrics have measured by it."""
    if "measurements.csv" not in run.manifest.files:
        return {}
    table = run.measurements()
    if "subset" not in table:
        return {}
    told = table.dropna(subset=["prompt", "subset"])
    return dict(zip(told["prompt"], told["subset"], strict=True))


def check(pictures: Iterable[StudyPicture]) -> None:
    """Raise BadFolder where the file of a picture is gone, or not the one that the run has listed."""
    for picture in pictures:
        image = picture.image
        if image.refused is not None:
            raise BadFolder(f"{image.refused}; to show it, name its folder with --images-from DIR")
        try:
            image.check()
        except DamagedImage as error:
            raise BadFolder(f"{error}; the run's own command, given again, writes it anew") from error


class Shelf:
    """Pictures by opaque id, as PNG files made anew of their pixels.

    So a file's metadata, which may name the model, is never sent, nor anything that is no image. Threads may share
    a shelf.
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
        """How many pictures stand in a row of a grid of these."""
        return math.isqrt(max(len(ids), 1) - 1) + 1

    def png(self, id: str) -> bytes:
        """Return the picture's file. Raises DamagedImage where it cannot be made."""
        with self._lock:
            if id in self._ready:
                self._ready.move_to_end(id)
                return self._ready[id]
        picture = self._pictures[id].image
        # not the picture itself, which would keep its pixels as long as the server runs
        pixels = replace(picture).pixels
        buffer = io.BytesIO()
        PILImage.fromarray(pixels).save(buffer, "png", compress_level=1)
        data = buffer.getvalue()
        with self._lock:
            if id not in self._ready:
                self._ready[id] = data
                self._size += len(data)
            while self._size > KEPT and len(self._ready) > 1:
                self._size -= len(self._ready.popitem(last=False)[1])
        return data
