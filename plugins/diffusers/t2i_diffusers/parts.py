"""The parts of a loaded pipeline by their function, independent of their names in the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from t2i_core.api.errors import BadModel

from .likelihood_support import explain_no_likelihood
from .loaded_pipeline import LoadedPipeline
from .sources import DENOISERS


@dataclass(frozen=True)
class Parts:
    """The parts of a model's main pipeline.

    Attributes:
        pipe: The pipeline; `pipe.encode_prompt`, if it exists, encodes texts.
        denoiser: UNet or transformer.
        scheduler: Scheduler of the checkpoint or of the option `scheduler`.
        autoencoder: Converts between pixels and latents; None if the model works on pixels.
    """

    pipe: Any
    denoiser: Any
    scheduler: Any
    autoencoder: Any | None


def parts(loaded: LoadedPipeline) -> Parts:
    """Return the parts of the main stage. Raises BadModel if the model has no likelihood."""
    pipe = loaded.main.pipe
    there = [name for name, part in pipe.components.items() if part is not None]
    if why := explain_no_likelihood(type(pipe).__name__, there, [stage.name for stage in loaded.stages]):
        raise BadModel(f"{loaded.main.model}: {why}")

    def first(*names: str) -> Any:
        return next((part for name in names if (part := getattr(pipe, name, None)) is not None), None)

    return Parts(pipe, first(*DENOISERS), pipe.scheduler, first("vae", "vqvae", "movq"))
