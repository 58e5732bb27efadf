"""Options of the generators `diffusers` and `attend-excite`. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from t2i_core.api.options import ExecutionOption, Options

RESERVED = frozenset(
    {"prompt", "generator", "output_type", "return_dict", "num_images_per_prompt", "token_indices"}
    | {"image", "latents", "image_embeds", "negative_image_embeds", "prompt_embeds", "negative_prompt_embeds"}
)
"""Arguments of a pipeline's call that are the generator's own affair."""

Precision = Literal["auto", "float32", "float16", "bfloat16"]
Offload = Literal["auto", "none", "model", "sequential"]


class CallOptions(Options):
    """What one pipeline is called with; what is left out is the pipeline's own default."""

    revision: str | None = Field(
        None, description="Branch, tag or commit of the repository; a run pins and records the commit."
    )
    variant: str | None = Field(None, description="Which of several sets of weights files to take (`fp16`).")
    steps: int | None = Field(None, ge=1, description="Denoising steps.")
    guidance: float | None = Field(None, ge=0, description="Guidance scale.")
    negative_prompt: str | None = Field(None, description="What the image shall not show.")
    height: int | None = Field(None, ge=8, description="Height of the image in pixels.")
    width: int | None = Field(None, ge=8, description="Width of the image in pixels.")
    scheduler: str | None = Field(
        None,
        description="Class of diffusers that takes the place of the checkpoint's scheduler (`DDIMScheduler`).",
    )
    scheduler_options: dict[str, Any] = Field(
        default_factory=dict, description="Changes to the scheduler's configuration (timestep_spacing, ...)."
    )
    call: dict[str, Any] = Field(
        default_factory=dict, description="Further arguments of the pipeline's call, by their own names."
    )

    @model_validator(mode="after")
    def _own_affairs(self) -> CallOptions:
        taken = sorted(RESERVED & self.call.keys())
        if taken:
            raise ValueError(f"call: {', '.join(taken)} cannot be set, generating sets it")
        return self


class StageOptions(CallOptions):
    """A second pipeline that works on what the first one made."""

    model: str = Field(description="Its repository (ORG/NAME) or folder.")


class DiffusersOptions(CallOptions):
    """How a text-to-image pipeline is loaded and called."""

    dtype: Precision = Field(
        "auto", description="Precision of weights and arithmetic; auto: float16 on a GPU, float32 on a CPU."
    )
    safety: bool = Field(
        True,
        description="Keep the checkpoint's safety filter, where it has one; an image that it blanks has failed.",
    )
    prior: StageOptions | None = Field(
        None, description="Pipeline that makes image embeddings of the prompt, which the model then draws."
    )
    upscaler: StageOptions | None = Field(None, description="Pipeline that enlarges the model's image.")
    upscaler2: StageOptions | None = Field(None, description="Pipeline that enlarges it once more.")
    pickles: tuple[Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")], ...] = Field(
        (),
        description="SHA-256 of weights files that may be loaded although they are pickles, of which nothing but "
        "weights is read; for checkpoints that have no safetensors.",
    )
    remote_code: bool = Field(
        False, description="Run code that comes with the checkpoint: only for those whose code you have read."
    )
    offload: Annotated[Offload, ExecutionOption()] = Field(
        "auto",
        description="Keep weights in main memory while they are not at work: model by model, layer by layer "
        "(sequential, slow), or, auto, as much as it takes where a GPU's memory is short.",
    )

    @model_validator(mode="after")
    def _chain(self) -> DiffusersOptions:
        if self.upscaler2 is not None and self.upscaler is None:
            raise ValueError("upscaler2 works on what upscaler made: give that as well")
        return self

    @property
    def stages(self) -> Mapping[str, StageOptions]:
        """The further pipelines by the name of their option; the model itself is not among them."""
        given = {"prior": self.prior, "upscaler": self.upscaler, "upscaler2": self.upscaler2}
        return {name: stage for name, stage in given.items() if stage is not None}


def precision(device: str) -> Precision:
    """Return what `auto` means on a kind of device: float16 on a GPU, float32 on a CPU."""
    return "float32" if device == "cpu" else "float16"
