"""The judges' weights, in the cache that torch-fidelity, torchmetrics and torchvision use too."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadModel
from t2i_torch_support import url_files
from t2i_torch_support.weights import check_file, explain_load_error

from t2i_torchmetrics.options import InceptionWeightsOptions

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class PublishedWeights:
    """Weights that are published only as a pickle, so their digest is pinned and only weights are read.

    Attributes:
        spec: Name of the judge.
        find_url: Returns the address of the file; called when it is needed.
        sha256: Their SHA-256, or its beginning if no more of it is published.
    """

    spec: str
    find_url: Callable[[], str]
    sha256: str

    @property
    def url(self) -> str:
        """The address of the file."""
        return self.find_url()

    def fetch(self, options: InceptionWeightsOptions, offline: bool) -> Path:
        """Return the file of weights; download it if it is missing and may be downloaded. Raises BadModel."""
        if options.checkpoint:
            return check_file(options.checkpoint, options.sha256, self.spec)
        return url_files.fetch_from_url(self.url, self.sha256, offline, self.spec)

    def check(self, options: InceptionWeightsOptions, offline: bool) -> None:
        """Raise BadModel if the weights are missing or damaged and cannot be downloaded."""
        if offline or options.checkpoint:
            self.fetch(options, offline=True)
        else:
            url_files.check_url(self.url, offline, self.spec)

    def read(self, file: Path) -> Mapping[str, torch.Tensor]:
        """Return a file's weights by name, read as weights only. Raises BadModel."""
        import torch

        try:
            if file.suffix == ".safetensors":
                from safetensors.torch import load_file

                return load_file(file)
            state: Mapping[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # of many types: not an archive, more than weights
            raise BadModel(f"{self.spec}: {file} does not hold weights ({explain_load_error(error)})") from error
        return state


_TENSORFLOW_URL = (
    "https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/weights-inception-2015-12-05-6726825d.pth"
)


def _find_torchvision_url() -> str:
    """Return the address that torchvision's source states; importing torchvision would import torch too.

    Raises:
        BadModel: If the installed torchvision states none.
    """
    found = importlib.util.find_spec("torchvision")
    source = Path((found and found.origin) or "torchvision", "../models/inception.py").resolve()
    stated = source.is_file() and re.search(r'url="(https://[^"]+)"', source.read_text(encoding="utf-8"))
    if not stated:
        raise BadModel(f"inception-v3-torchvision: {source} states no address of weights; give a checkpoint")
    return stated[1]


TENSORFLOW = PublishedWeights(
    "inception-v3",
    lambda: _TENSORFLOW_URL,
    "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
)
TORCHVISION = PublishedWeights("inception-v3-torchvision", _find_torchvision_url, "0cc3c7bd")


def read_trusted(file: Path) -> io.BytesIO:
    """Return a file object with only the weights of a file of `inception-v3`, as torch saves them.

    The network's class would unpickle any object; this function reads the file as weights only. Raises BadModel.
    """
    import torch

    data = io.BytesIO()
    torch.save(TENSORFLOW.read(file), data)
    data.seek(0)
    return data
