"""The parts of a loaded pipeline, by what they do, whatever the pipeline calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from t2i_core.errors import BadModel

from .loading import Loaded


@dataclass(frozen=True)
class Parts:
    """What a model's main pipeline is made of.

    pipe:         the pipeline itself; `pipe.encode_prompt` encodes texts, where it has that
    denoiser:     a UNet or transformer
    scheduler:    its schedule, as the checkpoint or the option `scheduler` has it
    autoencoder:  between pixels and latents; None where the model works on pixels
    """

    pipe: Any
    denoiser: Any
    scheduler: Any
    autoencoder: Any | None


def parts(loaded: Loaded) -> Parts:
    """Return the parts of the main stage. Raises BadModel where it has not one denoiser and one scheduler."""
    pipe = loaded.main.pipe

    def first(*names: str) -> Any:
        return next((part for name in names if (part := getattr(pipe, name, None)) is not None), None)

    denoiser, scheduler = first("unet", "transformer"), first("scheduler")
    if denoiser is None or scheduler is None:
        raise BadModel(f"{loaded.main.model}: {type(pipe).__name__} has not one denoiser with one schedule")
    return Parts(pipe, denoiser, scheduler, first("vae", "vqvae", "movq"))
