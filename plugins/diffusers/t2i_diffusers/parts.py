"""The parts of a loaded pipeline, by what they do, whatever the pipeline calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from t2i_core.api.errors import BadModel

from .askable import DENOISERS, why_not
from .loading import LoadedPipeline


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


def parts(loaded: LoadedPipeline) -> Parts:
    """Return the parts of the main stage. Raises BadModel where they cannot tell how likely an image is."""
    pipe = loaded.main.pipe
    there = [name for name, part in pipe.components.items() if part is not None]
    if why := why_not(type(pipe).__name__, there, [stage.name for stage in loaded.stages]):
        raise BadModel(f"{loaded.main.model}: {why}")

    def first(*names: str) -> Any:
        return next((part for name in names if (part := getattr(pipe, name, None)) is not None), None)

    return Parts(pipe, first(*DENOISERS), pipe.scheduler, first("vae", "vqvae", "movq"))
