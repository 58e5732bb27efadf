"""The file of HPSv3's weights. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from t2i_torch_support import hub_files
from t2i_torch_support.weights import check_file

from .checkpoints import CheckpointPlace

REPOSITORY = "MizzenAI/HPSv3"
WEIGHTS = "HPSv3.safetensors"


def fetch(place: CheckpointPlace, sha256: str | None, offline: bool) -> Path:
    """Return the file of weights; download it if it is missing and may be downloaded. Raises BadModel."""
    if place.folder is not None:
        return check_file(place.folder / WEIGHTS, sha256, place.spec)
    commit = find_commit(place, offline)
    file = hub_files.fetch_from_hub(place.name, (WEIGHTS,), commit, offline, place.spec)
    return check_file(file, sha256, place.spec)


def find_commit(place: CheckpointPlace, offline: bool) -> str | None:
    """Return the commit of a repository, from the local cache or else from the hub; None for a folder."""
    if place.folder is not None:
        return None
    return hub_files.resolve_commit(place.name, "README.md", place.revision, offline, place.spec)


def list_dependencies(place: CheckpointPlace) -> Iterator[Path | str]:
    """Yield what results depend on, except the processor: the file of a folder, or the name and commit."""
    if place.folder is None:
        yield f"{place.name}@{find_commit(place, offline=False)}"
    else:
        yield place.folder / WEIGHTS
