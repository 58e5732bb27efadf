"""Options of the generators `diffusers` and `attend-excite`; imports no heavy library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from t2i_core.api.options import ExecutionOption, Options, OtherNames
from t2i_core.files.home_folder import expand_home

RESERVED = frozenset(
    {"prompt", "generator", "output_type", "return_dict", "num_images_per_prompt", "token_indices"}
    | {"image", "latents", "image_embeds", "negative_image_embeds", "prompt_embeds", "negative_prompt_embeds"}
)
"""Arguments of a pipeline's call that only the generator sets."""

Precision = Literal["auto", "float32", "float16", "bfloat16"]
Offload = Literal["auto", "none", "model", "sequential"]


class CallOptions(Options):
    """Options of one pipeline; an option that is not set keeps the pipeline's default."""

    revision: str | None = Field(
        None, description="Branch, tag or commit of the repository; a run pins and records the commit."
    )
    variant: str | None = Field(None, description="Variant of the weights files (`fp16`).")
    steps: Annotated[int | None, OtherNames("num_inference_steps", "inference_steps", "num_steps")] = Field(
        None, ge=1, description="Number of denoising steps."
    )
    guidance: Annotated[float | None, OtherNames("guidance_scale", "cfg", "cfg_scale", "true_cfg_scale")] = Field(
        None,
        ge=0,
        description="Guidance scale. For unCLIP, that of the prior and of the decoder, in place of `call`.",
    )
    negative_prompt: Annotated[str | None, OtherNames("negative")] = Field(
        None, description="Negative prompt: content to avoid."
    )
    height: Annotated[int | None, OtherNames("size", "resolution", "image_size")] = Field(
        None, ge=8, description="Height of the image in pixels."
    )
    width: Annotated[int | None, OtherNames("size", "resolution", "image_size")] = Field(
        None, ge=8, description="Width of the image in pixels."
    )
    scheduler: Annotated[str | None, OtherNames("sampler", "sampler_name")] = Field(
        None,
        description="Scheduler class of diffusers to use instead of the checkpoint's (`DDIMScheduler`).",
    )
    scheduler_options: dict[str, Any] = Field(
        default_factory=dict, description="Changes to the scheduler's configuration (timestep_spacing, ...)."
    )
    call: dict[str, Any] = Field(
        default_factory=dict, description="Further arguments of the pipeline's call, by the pipeline's names."
    )

    @model_validator(mode="after")
    def _check_own(self) -> CallOptions:
        taken = sorted(RESERVED & self.call.keys())
        if taken:
            raise ValueError(f"call: {', '.join(taken)} cannot be set, because t2i sets it")
        return self


class LoraOptions(Options):
    """One LoRA."""

    model: str = Field(description="File (.safetensors), folder, or repository (ORG/NAME) of the LoRA.")
    weight: float = Field(1.0, description="Weight with which it is added.")
    file: str | None = Field(
        None, description="File in the folder or repository. Default: pytorch_lora_weights.safetensors."
    )
    revision: str | None = Field(
        None, description="Branch, tag or commit of the repository; a run pins and records the commit."
    )


def _read_lora(value: Any) -> Any:
    """Return `PLACE` or `PLACE:WEIGHT` as the fields of `LoraOptions`."""
    if not isinstance(value, str):
        return value
    place, colon, weight = value.rpartition(":")
    try:
        return {"model": expand_home(place), "weight": float(weight)} if colon else {"model": expand_home(value)}
    except ValueError:
        return {"model": expand_home(value)}


def _expand_home(path: str | None) -> str | None:
    return path and expand_home(path)


class StageOptions(CallOptions):
    """Options of a further pipeline in a chain."""

    model: str = Field(description="Repository (ORG/NAME) or folder of the pipeline.")


class DiffusersOptions(CallOptions):
    """Options for loading and calling a text-to-image pipeline."""

    lora: Annotated[
        tuple[Annotated[LoraOptions, BeforeValidator(_read_lora)], ...],
        OtherNames("loras", "lora_weights", "lora_path", "adapter", "adapters"),
    ] = Field(
        (),
        description="LoRAs to add: PLACE or PLACE:WEIGHT, where PLACE is a file (.safetensors), a folder or a "
        "repository. Several are separated by commas, or the option is repeated.",
    )
    config: Annotated[str | None, OtherNames("original_config")] = Field(
        None,
        description="For a single file: folder or repository of a pipeline with the same parts, from which the "
        "configurations and tokenizers are taken. Default: the repository that diffusers names for such files.",
    )
    denoiser: Annotated[str | None, AfterValidator(_expand_home), OtherNames("unet", "transformer")] = Field(
        None,
        description="Folder with another denoiser (UNet or transformer) to use instead of the checkpoint's, as "
        "diffusers saves it.",
    )
    dtype: Annotated[Precision, OtherNames("torch_dtype", "precision")] = Field(
        "auto", description="Precision of weights and computation; auto: float16 on a GPU, float32 on a CPU."
    )
    safety: Annotated[bool, OtherNames("safety_checker", "safety_filter")] = Field(
        True,
        description="Keep the checkpoint's safety filter, if it has one; an image that it blanks is a failure.",
    )
    prior: StageOptions | None = Field(
        None, description="Prior: pipeline that computes the image embeddings of the prompt for the model."
    )
    upscaler: StageOptions | None = Field(None, description="Pipeline that enlarges the model's image.")
    upscaler2: StageOptions | None = Field(None, description="Pipeline that enlarges the upscaler's image.")
    pickles: tuple[Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")], ...] = Field(
        (),
        description="SHA-256 of pickles that may be loaded, for checkpoints without safetensors; only weights are "
        "read from them.",
    )
    remote_code: bool = Field(
        False, description="Run code from the checkpoint's repository. Read that code first."
    )
    offload: Annotated[Offload, ExecutionOption()] = Field(
        "auto",
        description="Keep idle weights in main memory: by model (model), by layer (sequential, slow), or as far "
        "as the GPU's memory requires (auto).",
    )

    @model_validator(mode="after")
    def _chain(self) -> DiffusersOptions:
        if self.upscaler2 is not None and self.upscaler is None:
            raise ValueError("upscaler2 needs upscaler; set upscaler.model too")
        return self

    @property
    def stages(self) -> Mapping[str, StageOptions]:
        """The further pipelines of the chain by the name of their option, without the model itself."""
        given = {"prior": self.prior, "upscaler": self.upscaler, "upscaler2": self.upscaler2}
        return {name: stage for name, stage in given.items() if stage is not None}


def precision(device: str) -> Precision:
    """Return the precision that `auto` means on a type of device: float16 on a GPU, float32 on a CPU."""
    return "float32" if device == "cpu" else "float16"
