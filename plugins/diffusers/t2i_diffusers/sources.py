"""Where checkpoints lie: folders and repositories, their commits, and what is wrong where there is none.

Imports huggingface_hub only where a repository is asked about, and torch never.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.errors import BadModel, NotHere
from t2i_core.models import files
from t2i_core.sources import file_digest
from t2i_core.texts import said

from .options import CallOptions, DiffusersOptions

INDEX = "model_index.json"
"""The file that makes a folder a pipeline: its class and the classes of its parts."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
SAFE = ".safetensors"

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_TIMEOUT = 20


@dataclass(frozen=True)
class Source:
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


def sources(argument: str | None, options: DiffusersOptions) -> list[Source]:
    """Return the checkpoints of a model: its own first, then those of its further stages."""
    stages = {name: (stage.model, stage) for name, stage in options.stages.items()}
    every: Mapping[str, tuple[str, CallOptions]] = {"": (argument or "", options), **stages}
    spec = f"diffusers:{argument}"
    return [Source(model, own.revision, own.variant, name, spec) for name, (model, own) in every.items()]


def check_place(source: Source) -> None:
    """Raise BadModel where a source can be neither a pipeline's folder nor a repository."""
    if (folder := source.folder) is not None:
        read_index(folder)
    elif Path(source.model).is_file():
        raise BadModel(
            f"{source}: is one file; want the folder of a pipeline ({INDEX} and a folder for each part): "
            "`from_single_file(FILE).save_pretrained(FOLDER)` of diffusers makes one"
        )
    elif not _REPOSITORY.fullmatch(source.model):
        raise BadModel(f"{source}: no such folder, and no repository either, which would be ORG/NAME")


def read_index(folder: Path) -> dict[str, Any]:
    """Return a pipeline's index. Raises BadModel where there is none that can be read."""
    file = folder / INDEX
    if not file.is_file():
        raise BadModel(f"{folder}: holds no pipeline of diffusers ({INDEX} is not there)")
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadModel(f"{file}: is no JSON ({error})") from error
    if not isinstance(index, dict) or not isinstance(index.get("_class_name"), str):
        raise BadModel(f"{file}: names no pipeline class (`_class_name`)")
    return index


def parts_of(index: Mapping[str, Any]) -> list[str]:
    """Return the names of a pipeline's parts, those it does without left out: each has a folder of its own."""
    return [
        name
        for name, value in index.items()
        if not name.startswith("_") and isinstance(value, list) and len(value) == 2 and value[0] is not None
    ]


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


def check_pickles(source: Source, folder: Path, parts: Iterable[str], pinned: Iterable[str]) -> None:
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
            if not unread and (digest := file_digest(file)) not in pinned:
                unknown[file.relative_to(folder).as_posix()] = digest
    if unknown:
        raise _pickles_refused(source, unknown, pinned)


def _as_safetensors(name: str) -> str | None:
    """What a file of pickled weights is called as safetensors; transformers names the two differently."""
    if "-of-" in name:
        return None
    return re.sub("^pytorch_model", "model", name.rpartition(".")[0]) + SAFE


def _pickles_refused(source: Source, found: Mapping[str, str], pinned: Iterable[str] = ()) -> BadModel:
    said_files = ", ".join(f"{name} (SHA-256 {digest})" for name, digest in sorted(found.items()))
    return BadModel(
        f"{source}: has pickles in place of safetensors: {said_files}; where you trust them, pin them by the "
        f"option pickles={json.dumps(sorted({*pinned, *found.values()}))}"
    )


def commit_of(source: Source, offline: bool) -> str:
    """Return the commit of a repository: the one on this machine, or else the newest of its revision.

    What is here stays in use, so that a study does not change under way; remove it from the cache, or name another
    revision, for a newer one. Raises BadModel where the commit cannot be known.
    """
    return files.known_commit(source.model, source.revision) or index_folder(source, offline).name


def index_folder(source: Source, offline: bool) -> Path:
    """Return the folder that holds a pipeline's index, which alone is fetched where it is not here.

    Raises BadModel where it cannot be had.
    """
    if (folder := source.folder) is not None:
        return folder
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    # a revision whose commit is not known is asked for by its own name, so that the cache remembers what it meant
    revision = files.known_commit(source.model, source.revision) or source.revision
    with suppress(LocalEntryNotFoundError):
        return Path(hf_hub_download(source.model, INDEX, revision=revision, local_files_only=True)).parent
    if offline or constants.HF_HUB_OFFLINE:
        raise not_here(source)
    if why := files.unreachable():
        raise not_here(source, network=why)
    try:
        return Path(hf_hub_download(source.model, INDEX, revision=revision)).parent
    except LocalEntryNotFoundError as error:  # the network is gone
        raise not_here(source, network=said(error)) from error
    except EntryNotFoundError as error:
        raise BadModel(
            f"{source}: the repository holds no pipeline of diffusers ({INDEX} is not there)"
        ) from error
    except Exception as error:  # the hub's and the network's
        raise files.hub_error(str(source), source.model, error) from error


def not_here(source: Source, missing: str | None = None, network: str | None = None) -> NotHere:
    """Say what must be fetched while there is a network.

    missing: what the rest lacks that is here; None: nothing is here. network: None where nothing may be fetched,
    else why nothing can be
    """
    return NotHere(str(source), source.spec, network, missing)


def hub_pickles(source: Source, commit: str) -> BadModel | None:
    """Where a repository has no safetensors, name its pickles with the digests that the hub keeps of them."""
    from huggingface_hub import HfApi

    info = HfApi().model_info(source.model, revision=commit, files_metadata=True, timeout=_TIMEOUT)
    files = {f.rfilename: f.lfs.sha256 for f in info.siblings or () if f.lfs is not None}
    safe = {name.rpartition("/")[0] for name in files if name.endswith(SAFE)}
    found = {
        name: digest
        for name, digest in files.items()
        if name.endswith(PICKLES) and "/" in name and name.rpartition("/")[0] not in safe
    }
    return _pickles_refused(source, found) if found else None
