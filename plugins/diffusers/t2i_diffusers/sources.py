"""Where checkpoints lie, folders and repositories; what a pipeline's folder holds, and what of it is loaded.

Imports nothing heavy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel
from t2i_core.files.digest import digest_file

from .options import CallOptions, DiffusersOptions

INDEX = "model_index.json"
"""The file that makes a folder a pipeline: its class and the classes of its parts."""

SCHEDULER = "scheduler/scheduler_config.json"
"""A pipeline's schedule."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
SAFE = ".safetensors"

_FAMILY = "IF"
"""The classes whose stages share one text encoder, by the beginning of their names."""

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class CheckpointSource:
    """One checkpoint as the user names it: a folder, or a repository at a revision.

    option:  the option that names it, for messages; empty for the model itself
    spec:    the model that it belongs to, as one would ask for it
    """

    model: str
    revision: str | None
    variant: str | None
    option: str = ""
    spec: str = "diffusers"

    @property
    def folder(self) -> Path | None:
        """The folder, where it is one."""
        path = Path(self.model).expanduser()
        return path if path.is_dir() else None

    def __str__(self) -> str:
        at = f" at revision {self.revision}" if self.revision and self.folder is None else ""
        return f"{f'{self.option} ' if self.option else ''}{self.model}{at}"


def sources(argument: str | None, options: DiffusersOptions) -> list[CheckpointSource]:
    """Return the checkpoints of a model: its own first, then those of its further stages."""
    stages = {name: (stage.model, stage) for name, stage in options.stages.items()}
    every: Mapping[str, tuple[str, CallOptions]] = {"": (argument or "", options), **stages}
    spec = f"diffusers:{argument}"
    return [CheckpointSource(model, own.revision, own.variant, name, spec) for name, (model, own) in every.items()]


def check_place(source: CheckpointSource) -> None:
    """Raise BadModel where a source can be neither a pipeline's folder nor a repository."""
    if (folder := source.folder) is not None:
        read_index(folder)
    elif Path(source.model).is_file():
        raise BadModel(
            f"{source}: is one file; want the folder of a pipeline ({INDEX} and a folder for each part): "
            "`from_single_file(FILE).save_pretrained(FOLDER)` of diffusers makes one"
        )
    elif "@" in source.model and _REPOSITORY.fullmatch(source.model.partition("@")[0]):
        repository, _, revision = source.model.partition("@")
        key = f"{source.option}.revision" if source.option else "revision"
        raise BadModel(f"{source}: name {repository} alone, and its revision by the option {key}={revision}")
    elif not _REPOSITORY.fullmatch(source.model):
        raise BadModel(f"{source}: no such folder, and no repository either, which would be ORG/NAME")


def read_index(folder: Path) -> dict[str, Any]:
    """Return a pipeline's index. Raises BadModel where there is none that can be read."""
    file = folder / INDEX
    if not file.is_file():
        raise BadModel(f"{folder}: holds no pipeline of diffusers ({INDEX} is not there)")
    index = read_object(file)
    if not isinstance(index.get("_class_name"), str):
        raise BadModel(f"{file}: names no pipeline class (`_class_name`)")
    return index


def read_object(file: Path) -> dict[str, Any]:
    """Return what a file of JSON holds. Raises BadModel for one that is not there, or holds no object."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadModel(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadModel(f"{file}: is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise BadModel(f"{file}: holds no JSON object")
    return found


def parts_of(index: Mapping[str, Any]) -> list[str]:
    """Return the names of a pipeline's parts, those it does without left out: each has a folder of its own."""
    return [
        name
        for name, value in index.items()
        if not name.startswith("_") and isinstance(value, list) and len(value) == 2 and value[0] is not None
    ]


def left_out(source: CheckpointSource, pipeline: str, options: DiffusersOptions) -> list[str]:
    """Return the parts that are not loaded: an unwanted safety filter, a text encoder that a stage shares."""
    shared = source.option.startswith("upscaler") and pipeline.startswith(_FAMILY)
    return [*([] if options.safety else ["safety_checker"]), *(["text_encoder"] if shared else [])]


def files_of(folder: Path) -> list[Path]:
    """Return the files of a pipeline's folder that its images depend on, in a lasting order."""
    folders = [folder, *(folder / name for name in parts_of(read_index(folder)))]
    return sorted(
        file
        for place in folders
        if place.is_dir()
        for file in place.iterdir()
        if file.is_file() and not file.name.startswith(".") and (place != folder or file.name == INDEX)
    )


def check_pickles(source: CheckpointSource, folder: Path, parts: Iterable[str], pinned: Iterable[str]) -> None:
    """Raise BadModel where weights would be unpickled whose SHA-256 the user did not pin.

    Nothing is unpickled while no digest is pinned: then it is those parts that could not be loaded. With a digest
    all parts may be, so that every pickle must be pinned but those whose very name is there as safetensors, which
    are taken before them. Of shards it is the index that tells; they are pinned in any case.
    """
    pinned = {digest.lower() for digest in pinned}
    unknown: dict[str, str] = {}
    for part in parts:
        files = sorted(f for f in (folder / part).glob("*") if f.is_file())
        safe = {f.name for f in files if f.suffix == SAFE}
        for file in (f for f in files if f.suffix in PICKLES):
            unread = _as_safetensors(file.name) in safe if pinned else safe
            if not unread and (digest := digest_file(file)) not in pinned:
                unknown[file.relative_to(folder).as_posix()] = digest
    if unknown:
        raise pickles_refused(source, unknown, pinned)


def _as_safetensors(name: str) -> str | None:
    """What a file of pickled weights is called as safetensors; transformers names the two differently."""
    if "-of-" in name:
        return None
    return re.sub("^pytorch_model", "model", name.rpartition(".")[0]) + SAFE


def pickles_refused(source: CheckpointSource, found: Mapping[str, str], pinned: Iterable[str] = ()) -> BadModel:
    """Name pickles that were not pinned (digests by file), and say how they are."""
    said_files = ", ".join(f"{name} (SHA-256 {digest})" for name, digest in sorted(found.items()))
    return BadModel(
        f"{source}: has pickles in place of safetensors: {said_files}; where you trust them, pin them by the "
        f"option pickles={json.dumps(sorted({*pinned, *found.values()}))}"
    )
