"""Weights of checkpoints that are published as pickles: one file, or parts that an index names.

Safetensors are preferred where a checkpoint has them. Of a pickle only weights are read. Imports torch only to
read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadModel
from t2i_core.api.text import describe_error
from t2i_torch_support import hub_files
from t2i_torch_support.weights import check_file, explain_load_error

from . import checkpoints
from .checkpoints import CheckpointPlace

if TYPE_CHECKING:
    import torch

_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def fetch_weights(place: CheckpointPlace, sha256: str | None, offline: bool) -> list[Path]:
    """Return the files of a checkpoint's weights; download those that are missing unless `offline` is true.

    Args:
        place: The checkpoint.
        sha256: Expected SHA-256 of the weights file; None: any.
        offline: Whether nothing may be downloaded.

    Raises:
        BadModel: A file is missing, cannot be downloaded or has another SHA-256, or there are several files and a
            digest.
    """
    first = _find(place, (*_SAFE, *_PICKLED), offline)
    if first.suffix != ".json":
        return [check_file(first, sha256, place.spec)]
    if sha256:
        raise BadModel(f"{place.spec}: sha256 needs a single weights file, but {first} names several")
    names = _read_index(first, place)
    return [check_file(_find(place, (name,), offline), None, place.spec) for name in names]


def list_local_weights(folder: Path) -> list[Path]:
    """Return the files of weights in a folder, of which some may not exist. Raises BadModel for a bad index."""
    for name in (*_SAFE, *_PICKLED):
        if (file := folder / name).is_file():
            if file.suffix != ".json":
                return [file]
            return [
                file,
                *(folder / part for part in _read_index(file, CheckpointPlace(str(folder), str(folder)))),
            ]
    return []


def read_weights(files: list[Path], spec: str) -> dict[str, torch.Tensor]:
    """Return the tensors of all files by name. Raises BadModel for a file with more than weights."""
    import torch
    from safetensors.torch import load_file

    found: dict[str, torch.Tensor] = {}
    for file in files:
        device = torch.get_default_device()
        try:
            part: Mapping[str, torch.Tensor] = (
                load_file(file, device=str(device))
                if file.suffix == ".safetensors"
                else torch.load(file, map_location=device, weights_only=True)
            )
        except Exception as error:  # of many types: not an archive, more than weights
            raise BadModel(f"{spec}: cannot be loaded from {file} ({explain_load_error(error)})") from error
        if not isinstance(part, Mapping) or not all(isinstance(value, torch.Tensor) for value in part.values()):
            raise BadModel(f"{spec}: {file} does not hold a state dict (tensors by name)")
        found |= part
    return found


def _find(place: CheckpointPlace, names: tuple[str, ...], offline: bool) -> Path:
    """Return the first of these files that a checkpoint has."""
    if place.folder is None:
        commit = checkpoints.commit(place, offline)
        return hub_files.fetch_from_hub(place.name, names, commit, offline, place.spec)
    for name in names:
        if (place.folder / name).is_file():
            return place.folder / name
    raise BadModel(f"{place.spec}: {place.folder} lacks {' or '.join(names)}")


def _read_index(file: Path, place: CheckpointPlace) -> list[str]:
    """Return the names of the parts that an index names."""
    try:
        names = sorted(set(json.loads(file.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadModel(
            f"{place.spec}: {file} is not a valid index of weights ({describe_error(error)})"
        ) from error
    if odd := [name for name in names if Path(name).name != name]:
        raise BadModel(f"{place.spec}: {file} names {odd[0]}, which is not a file beside it")
    return names
