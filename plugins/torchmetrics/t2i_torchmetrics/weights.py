"""The judge's weights, in the cache that torch-fidelity and torchmetrics use too."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadModel
from t2i_torch_support import url_files
from t2i_torch_support.weights import check_file, explain_load_error

from t2i_torchmetrics.judge_plugin import SHA256
from t2i_torchmetrics.options import InceptionOptions

if TYPE_CHECKING:
    import torch

SPEC = "inception-v3"
URL = "https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/weights-inception-2015-12-05-6726825d.pth"
"""Published only as a pickle, so its digest is pinned and only weights are read from it."""


def fetch(options: InceptionOptions, offline: bool) -> Path:
    """Return the file of weights; download it if it is missing and may be downloaded. Raises BadModel."""
    if options.checkpoint:
        return check_file(options.checkpoint, options.sha256, SPEC)
    return url_files.fetch_from_url(URL, SHA256, offline, SPEC)


def check(options: InceptionOptions, offline: bool) -> None:
    """Raise BadModel if the weights are missing or damaged and cannot be downloaded."""
    if offline or options.checkpoint:
        fetch(options, offline=True)
    else:
        url_files.check_url(URL, offline, SPEC)


def read_trusted(file: Path) -> io.BytesIO:
    """Return a file object with only the weights of a file, as torch saves them.

    The network's class would unpickle any object; this function reads the file as weights only. Raises BadModel.
    """
    import torch

    data = io.BytesIO()
    torch.save(_state(file), data)
    data.seek(0)
    return data


def _state(file: Path) -> Mapping[str, torch.Tensor]:
    """Return a file's weights by name. Raises BadModel."""
    import torch

    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(file)
        state: Mapping[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # of many types: not an archive, more than weights
        raise BadModel(f"{SPEC}: {file} does not hold weights ({explain_load_error(error)})") from error
    return state
