"""The judge's weights: from the cache that torch-fidelity and torchmetrics use too, or fetched."""

from __future__ import annotations

import io
from pathlib import Path
from urllib.error import URLError

import torch
from t2i_core.errors import BadModel
from t2i_core.models import files

from t2i_torchmetrics.judge_plugin import SHA256
from t2i_torchmetrics.options import InceptionOptions

SPEC = "inception-v3"
URL = "https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/weights-inception-2015-12-05-6726825d.pth"
"""Published as a pickle only, so its digest is pinned and nothing but weights is taken from it."""


def fetch(options: InceptionOptions, offline: bool) -> Path:
    """Return the file of weights, downloaded where it is not there and may be. Raises BadModel."""
    if options.checkpoint:
        return files.check(options.checkpoint, options.sha256, SPEC)
    file = Path(torch.hub.get_dir()) / "checkpoints" / Path(URL).name
    if not file.exists():
        if offline:
            raise BadModel(
                f"{SPEC}: {file} is not there and nothing may be fetched: run `t2i prefetch {SPEC}` with a "
                f"network, or name a file with -o {SPEC}.checkpoint=FILE"
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            torch.hub.download_url_to_file(URL, str(file), SHA256, progress=False)
        except (URLError, OSError, RuntimeError) as error:  # RuntimeError: another digest
            raise BadModel(f"{SPEC}: {URL} cannot be fetched: {error}") from error
    return files.check(file, SHA256, SPEC)


def trusted(file: Path) -> io.BytesIO:
    """Return a file's weights, and nothing else that it may hold, as torch saves them.

    The network's class reads its file as a pickle of anything; what it is given here was read as weights alone.
    Raises BadModel.
    """
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            state = load_file(file)
        else:
            state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds: no archive, more than weights
        raise BadModel(f"{SPEC}: {file} does not hold weights ({first_line(error)})") from error
    data = io.BytesIO()
    torch.save(state, data)
    data.seek(0)
    return data


def first_line(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
