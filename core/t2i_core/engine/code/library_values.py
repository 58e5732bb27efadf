"""Parts and bytes of arrays, tensors, images, pipelines and models, without importing their libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Any

Parts = tuple[tuple[Any, ...], Any]
"""Values that identify it, and a buffer with its content, or None."""


def take_apart(value: object) -> Parts | None:
    """Return the parts of a value whose pickled form is not canonical; None for any other value.

    Raises:
        RuntimeError: If the content cannot be read; or NotImplementedError, OSError or ValueError (a sparse
            tensor, a truncated image).
    """
    for library, name, parts_of in _LIBRARIES:
        loaded = sys.modules.get(library)
        if loaded is not None and isinstance(value, getattr(loaded, name)):
            return parts_of(value)
    return None


def _take_array(array: Any) -> Parts | None:
    if type(array).__name__ not in ("ndarray", "memmap"):  # a subclass has its own state
        return None
    described = ("array", array.dtype, array.shape)
    if array.dtype.hasobject or array.dtype.kind == "T":
        return (*described, array.tolist()), None
    flat = array if array.flags.c_contiguous else array.copy(order="C")
    return described, flat.reshape(-1).view("uint8")


def _take_tensor(tensor: Any) -> Parts:
    """Return a tensor's parts; its device does not count."""
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    content = flat.view(sys.modules["torch"].uint8).numpy()
    return ("tensor", type(tensor).__qualname__, str(tensor.dtype), tuple(tensor.shape)), content


def _take_image(image: Any) -> Parts:
    return ("image", image.mode, image.size, image.getpalette()), image.tobytes()


def _take_model(model: Any) -> Parts:
    """Return a pydantic model's class and values; whether a value was given or is a default does not count."""
    more = (model.__pydantic_private__, model.__pydantic_extra__)
    return ("model", type(model), dict(model.__dict__), *more), None


def _take_pipeline(pipeline: Any) -> Parts:
    """Return a pipeline's class, configuration, components and other attributes that its images depend on."""
    components = dict(pipeline.components)
    own = _list_attributes(pipeline, _LEFT_ON_PIPELINES | components.keys())
    return ("pipeline", type(pipeline), pipeline.config, components, own), None


def _take_scheduler(scheduler: Any) -> Parts:
    """Return a scheduler's class, configuration and other attributes; the steps of its last call do not count."""
    return ("scheduler", type(scheduler), scheduler.config, _list_attributes(scheduler, _LEFT_ON_SCHEDULERS)), None


def _list_attributes(part: Any, without: Collection[str]) -> list[tuple[str, Any]]:
    """Return the attributes of a pipeline or scheduler by name; its configuration has its own place."""
    return [(name, vars(part)[name]) for name in sorted(vars(part).keys() - {"_internal_dict", *without})]


def _take_config(config: Any) -> Parts:
    """Return the settings of a part of a pipeline, without remarks of the library about them.

    One of the remarks lists the settings that nobody gave, in an order that changes from process to process.
    """
    return ("config", sorted((name, value) for name, value in config.items() if not name.startswith("_"))), None


def _take_tokenizer(tokenizer: Any) -> Parts:
    """Return a tokenizer's class, settings and vocabulary, whose own order changes from process to process."""
    return ("tokenizer", type(tokenizer), repr(tokenizer), sorted(tokenizer.get_vocab().items())), None


_LEFT_ON_PIPELINES = frozenset(
    name
    for names in (
        # arguments of the last call, and how far it is
        "_attention_kwargs _audio_guidance_rescale _audio_guidance_scale _audio_modality_scale _audio_stg_scale",
        "_cfg_normalization _cfg_truncation _clip_skip _cross_attention_kwargs _current_tile_T _current_timestep",
        "_denoising_end _denoising_start _guidance_rescale _guidance_scale _guidance_scale_2",
        "_image_guidance_scale _interrupt _joint_attention_kwargs _lora_scale _mixed_precision_config",
        "_mixed_precision_trace _modality_scale _num_timesteps _pag_adaptive_scale _pag_scale",
        "_skip_layer_guidance_scale _stg_scale _warn_has_been_called num_timesteps",
        # made by the first call that needs it
        "_caption_logits_processor _prompt_enhancer empty_text_embedding",
        # results of the last call beside its images
        "activation_mask attention_store edit_estimates enabled_editing_prompts sem_guidance smoothing",
        "text_cross_attention_maps text_estimates uncond_estimates",
        # where the parts are, and the progress bar
        "_all_hooks _offload_device _offload_gpu_id _progress_bar_config final_offload_hook hf_device_map",
    )
    for name in names.split()
)
"""Attributes of pipelines of diffusers on which the images of the next call do not depend."""

_LEFT_ON_SCHEDULERS = frozenset(
    name
    for names in (
        # the steps of the last call
        "_init_size _noise _piflow_raw_timesteps _times _timesteps _transfer_schedule c_in c_out c_skip",
        "custom_timesteps discrete_sigmas log_sigmas mid_point_sigma noisiest_timestep num_inference_steps",
        "order_list plms_timesteps prk_timesteps schedule sigmas sigmas_down sigmas_interpol sigmas_up",
        "temperatures timesteps",
        # how far it is
        "_begin_index _committed _step_index counter cur_model_output cur_sample derivatives dt ets",
        "is_scale_input_called last_noise last_sample lower_order_nums model_outputs noise_sampler",
        "prev_derivative sample this_corrector_order this_order this_predictor_order timestep_list",
        # IPNDM computes the first two anew, LCM the last; the others that use them have alphas_cumprod too
        "alphas betas sigma_data",
    )
    for name in names.split()
)
"""Attributes of schedulers of diffusers that each call sets anew."""

_LIBRARIES: tuple[tuple[str, str, Callable[[Any], Parts | None]], ...] = (
    ("numpy", "ndarray", _take_array),
    ("torch", "Tensor", _take_tensor),
    ("PIL.Image", "Image", _take_image),
    ("pydantic", "BaseModel", _take_model),
    ("diffusers.pipelines.pipeline_utils", "DiffusionPipeline", _take_pipeline),
    ("diffusers.configuration_utils", "FrozenDict", _take_config),
    ("diffusers.schedulers.scheduling_utils", "SchedulerMixin", _take_scheduler),
    ("transformers.tokenization_utils_base", "PreTrainedTokenizerBase", _take_tokenizer),
)
