"""The heads of LAION's aesthetic predictors: files, and the affine map that each of them is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import Setup
from t2i_core.api.errors import BadModel
from t2i_torch_support import url_files
from t2i_torch_support.weights import check_file, explain_load_error

from t2i_open_clip.options import AestheticOptions, ClipOptions

if TYPE_CHECKING:
    import torch

URLS = {
    "v1": "https://github.com/LAION-AI/aesthetic-predictor/raw/main/sa_0_4_vit_l_14_linear.pth",
    "v2": "https://github.com/christophschuhmann/improved-aesthetic-predictor/raw/"
    "6934dd81792f086e613a121dbce43082cb8be85e/sac+logos+ava1-l14-linearMSE.pth",
}
"""Where the heads are published, by version; each is a pickle of a state dict."""

SHA256 = {"v1": None, "v2": "21dd590f3ccdc646f0d53120778b296013b096a035a2718c9cb0d511bff0f1e0"}
"""SHA-256 of the published files; None if nobody has published it."""


def describe(argument: str | None) -> str:
    """Return the component as a user would name it."""
    return f"laion-aesthetic:{argument}" if argument else "laion-aesthetic"


def make_clip_setup(setup: Setup[AestheticOptions]) -> Setup[ClipOptions]:
    """Return the setup of the CLIP that the head reads."""
    own = setup.options
    options = ClipOptions(dtype=own.dtype, revision=own.revision, sha256=own.sha256)
    return Setup(own.clip, options, setup.device, setup.batch_size, setup.offline, dry=setup.dry)


def fetch(argument: str | None, options: AestheticOptions, offline: bool) -> Path:
    """Return the head's file; download it if it is missing and may be downloaded. Raises BadModel."""
    spec = describe(argument)
    if argument:
        return check_file(Path(argument).expanduser(), options.head_sha256, spec)
    digest = options.head_sha256 or SHA256[options.version]
    return url_files.fetch_from_url(URLS[options.version], digest, offline, spec)


def check(argument: str | None, options: AestheticOptions, offline: bool) -> None:
    """Raise BadModel if the head's file is missing or another one, and cannot be downloaded."""
    if argument or offline:
        fetch(argument, options, offline)
    else:
        url_files.check_url(URLS[options.version], offline, describe(argument))


def list_dependencies(argument: str | None, options: AestheticOptions) -> Iterator[Path | str]:
    """Yield what results depend on: the head's local file, or its URL and digest."""
    yield (
        Path(argument).expanduser()
        if argument
        else (f"{URLS[options.version]}:{options.head_sha256 or SHA256[options.version]}")
    )


def load_affine_map(file: Path, spec: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the weight (width,) and the bias () of the affine map that a head computes, in float64.

    The layers of version 2 have no activations between them, and its dropouts do nothing in evaluation, so both
    versions are one affine map.

    Args:
        file: State dict of one linear layer (`weight`, `bias`), or of several (`layers.N.weight`,
            `layers.N.bias`).
        spec: The component as the user named it, for messages.

    Raises:
        BadModel: The file does not hold the state dict of such a head.
    """
    import torch

    try:
        state: Mapping[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
        weight, bias = None, None
        for name in _list_layers(state):
            own_weight, own_bias = state[f"{name}weight"].double(), state[f"{name}bias"].double()
            weight = own_weight if weight is None else own_weight @ weight
            bias = own_bias if bias is None else own_weight @ bias + own_bias
        if weight is None or bias is None:
            raise KeyError("layers.0.weight")
        return weight.reshape(weight.shape[1]), bias.reshape(())
    except Exception as error:  # of many types: not an archive, more than weights, other names or shapes
        raise BadModel(
            f"{spec}: {file} is not the head of an aesthetic predictor ({explain_load_error(error)})"
        ) from error


def _list_layers(state: Mapping[str, torch.Tensor]) -> list[str]:
    """Return the beginnings of the keys of a head's layers, in order."""
    if "weight" in state:
        return [""]
    numbers = {int(match[1]) for key in state if (match := re.fullmatch(r"layers\.(\d+)\.weight", key))}
    return [f"layers.{number}." for number in sorted(numbers)]
