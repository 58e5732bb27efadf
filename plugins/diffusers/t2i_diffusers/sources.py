"""Locations of checkpoints (folders and repositories), and the files of a pipeline's folder.

Imports no heavy library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel, BadOption
from t2i_core.files.digest import digest_file
from t2i_torch_support.hub_files import is_repository

from .options import CallOptions, DiffusersOptions
from .single_file import find_config, is_single_file

INDEX = "model_index.json"
"""A pipeline's index file, with its class and the classes of its parts."""

SCHEDULER = "scheduler/scheduler_config.json"
"""The file with a pipeline's schedule."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
SAFE = ".safetensors"

DENOISERS = ("unet", "transformer")
"""Names of the denoiser in pipelines."""

_FAMILY = "IF"
"""Starts of the names of classes whose stages share one text encoder."""


@dataclass(frozen=True)
class CheckpointSource:
    """One checkpoint as the user names it: a folder, or a repository at a revision.

    Attributes:
        option: Option that names it, for messages; empty for the model itself.
        spec: Its model as the command line names it.
        file: The file with all weights; `model` is then the place of its configuration.
    """

    model: str
    revision: str | None
    variant: str | None
    option: str = ""
    spec: str = "diffusers"
    file: Path | None = None

    @property
    def folder(self) -> Path | None:
        """The folder; None for a repository."""
        path = Path(self.model).expanduser()
        return path if path.is_dir() else None

    @property
    def shown(self) -> str:
        """The model as the user names it."""
        return self.model if self.file is None else str(self.file)

    def __str__(self) -> str:
        if self.file is not None:
            return f"{f'{self.option} ' if self.option else ''}{self.file} with the configuration of {self.model}"
        at = f" at revision {self.revision}" if self.revision and self.folder is None else ""
        return f"{f'{self.option} ' if self.option else ''}{self.model}{at}"


def sources(argument: str | None, options: DiffusersOptions) -> list[CheckpointSource]:
    """Return the checkpoints of a model: its own first, then those of its further stages."""
    stages = {name: (stage.model, stage) for name, stage in options.stages.items()}
    every: Mapping[str, tuple[str, CallOptions]] = {"": (argument or "", options), **stages}
    return [
        _make_source(model, own, name, f"diffusers:{argument}", None if name else options.config)
        for name, (model, own) in every.items()
    ]


def _make_source(model: str, own: CallOptions, option: str, spec: str, config: str | None) -> CheckpointSource:
    if not is_single_file(model):
        if config is not None:
            raise BadOption(f"option config: is for a single file (.safetensors), which {model} is not")
        return CheckpointSource(model, own.revision, own.variant, option, spec)
    file = Path(model).expanduser()
    return CheckpointSource(config or find_config(file), own.revision, None, option, spec, file)


def check_place(source: CheckpointSource) -> None:
    """Raise BadModel if a source is neither a pipeline's folder nor a repository."""
    if (folder := source.folder) is not None:
        read_index(folder)
    elif Path(source.model).is_file():
        raise BadModel(
            f"{source}: is a file, but must be the folder of a pipeline ({INDEX} and a folder for each part); "
            "or a single .safetensors file"
        )
    elif source.model.endswith(SAFE):
        raise BadModel(f"{source}: no such file")
    elif "@" in source.model and is_repository(source.model.partition("@")[0]):
        repository, _, revision = source.model.partition("@")
        key = f"{source.option}.revision" if source.option else "revision"
        raise BadModel(f"{source}: name {repository} without a revision, and set the option {key}={revision}")
    elif not is_repository(source.model):
        raise BadModel(f"{source}: is neither a folder nor a repository (ORG/NAME)")


def read_index(folder: Path) -> dict[str, Any]:
    """Return a pipeline's index. Raises BadModel if it is missing or not valid."""
    file = folder / INDEX
    if not file.is_file():
        raise BadModel(f"{folder}: holds no pipeline of diffusers ({INDEX} is missing)")
    index = read_object(file)
    if not isinstance(index.get("_class_name"), str):
        raise BadModel(f"{file}: has no pipeline class (`_class_name`)")
    return index


def read_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file. Raises BadModel if it is missing or not valid."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadModel(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadModel(f"{file}: is not valid JSON ({error})") from error
    if not isinstance(found, dict):
        raise BadModel(f"{file}: must hold a JSON object")
    return found


def list_parts(index: Mapping[str, Any]) -> list[str]:
    """Return the names of a pipeline's parts, each with its own folder; leave out missing optional parts."""
    return [
        name
        for name, value in index.items()
        if not name.startswith("_") and isinstance(value, list) and len(value) == 2 and value[0] is not None
    ]


def find_skipped_parts(source: CheckpointSource, pipeline: str, options: DiffusersOptions) -> list[str]:
    """Return the parts that are not loaded from the checkpoint.

    They are an unwanted safety filter, a text encoder that a stage shares, and a denoiser that the user replaces.
    """
    shared = source.option.startswith("upscaler") and pipeline.startswith(_FAMILY)
    replaced = options.denoiser is not None and not source.option
    return [
        *([] if options.safety else ["safety_checker"]),
        *(["text_encoder"] if shared else []),
        *(DENOISERS if replaced else []),
    ]


def list_files(folder: Path, replaced: Collection[str] = ()) -> list[Path]:
    """Return the files of a pipeline's folder that its images depend on, in a stable order.

    Args:
        folder: The folder.
        replaced: Parts that are not taken from it.
    """
    folders = [folder, *(folder / name for name in list_parts(read_index(folder)) if name not in replaced)]
    return sorted(
        file
        for place in folders
        if place.is_dir()
        for file in place.iterdir()
        if file.is_file() and not file.name.startswith(".") and (place != folder or file.name == INDEX)
    )


def check_pickles(source: CheckpointSource, folder: Path, parts: Iterable[str], pinned: Iterable[str]) -> None:
    """Raise BadModel if loading would unpickle weights whose SHA-256 the user did not pin.

    Without pinned digests, t2i unpickles nothing, and parts with only pickles cannot be loaded. With a pinned
    digest, any part may be unpickled, so that every pickle must be pinned, except those with safetensors of the
    same name, which take precedence. Shards must be pinned in any case.
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
        raise make_pickle_error(source, unknown, pinned)


def _as_safetensors(name: str) -> str | None:
    """Return the name of a pickle's safetensors file; transformers uses different names for the two."""
    if "-of-" in name:
        return None
    return re.sub("^pytorch_model", "model", name.rpartition(".")[0]) + SAFE


def make_pickle_error(source: CheckpointSource, found: Mapping[str, str], pinned: Iterable[str] = ()) -> BadModel:
    """Return the error for pickles that are not pinned, with the option that pins them."""
    listed = ", ".join(f"{name} (SHA-256 {digest})" for name, digest in sorted(found.items()))
    return BadModel(
        f"{source}: has pickles instead of safetensors: {listed}; if you trust them, set the option "
        f"pickles={json.dumps(sorted({*pinned, *found.values()}))}"
    )
