"""The plugin: generators of diffusers. Only the factories import torch and diffusers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import About, GeneratorInfo, Loading, Preset, SelfJudgingInfo, Setup, hookimpl
from t2i_core.api.errors import NotHere

from .options import CallOptions, DiffusersOptions, precision
from .preset_classes import class_in_presets, fit_by_presets
from .presets import KNOWN

if TYPE_CHECKING:
    from t2i_core.api.judge import Capability

    from .generator import Diffusers

_DRAWING = (
    "attend_excite.py", "calls.py", "devices.py", "generator.py", "hub.py", "loaded_pipeline.py", "lora.py",
    "noise.py", "options.py", "other_denoiser.py", "plan.py", "plugin.py", "schedulers.py", "single_file.py",
    "sources.py", "stages.py", "word_tokens.py",
)  # fmt: skip
"""Modules that an image depends on. The others only reject, count or report."""

_ASKED = (
    "arithmetic.py", "conditions.py", "denoiser.py", "elimination.py", "latents.py", "likelihood.py",
    "likelihood_params.py", "likelihood_support.py", "parts.py", "schedules.py", "terms.py", "text_attention.py",
)  # fmt: skip
"""Modules that a likelihood or an attention depends on, but no image."""


def _create(setup: Setup[DiffusersOptions]) -> Diffusers:
    from .generator import Diffusers

    return Diffusers(setup)


def _create_attend_excite(setup: Setup[DiffusersOptions]) -> Diffusers:
    from .attend_excite import PIPELINE
    from .generator import Diffusers

    return Diffusers(setup, PIPELINE)


def _check(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> None:
    from t2i_torch_support.device import check_device

    from .attend_excite import PIPELINE, check_parts
    from .hub import index_folder
    from .lora import check_loras
    from .other_denoiser import check_denoiser, find_replaced_part
    from .sources import check_place, read_index, sources
    from .wholeness import check_folder

    check_device(setup.device)
    check_loras(setup.options.lora, f"diffusers:{setup.argument}", setup.offline)
    check_denoiser(setup.options)
    classes: dict[str, str] = {}
    for source in sources(setup.argument, setup.options):
        check_place(source)
        try:
            folder = index_folder(source, setup.offline)
        except NotHere:
            _check_options_of_absent(setup, pipeline_class)
            raise
        index = read_index(folder)
        classes[source.option] = index["_class_name"]
        if pipeline_class == PIPELINE and not source.option:
            check_parts(source, index)
            classes[""] = PIPELINE
        check_folder(source, setup.options)
        find_replaced_part(source, index, setup.options, setup.offline)
    if setup.options.lora or not fit_by_presets(classes, setup.options):
        from .plan import make_plan  # imports diffusers, which alone knows these names

        make_plan(setup, pipeline_class)


def _check_attend_excite(setup: Setup[DiffusersOptions]) -> None:
    from .attend_excite import PIPELINE

    _check(setup, PIPELINE)


def _check_judge(
    setup: Setup[DiffusersOptions], capability: Capability, params: Sequence[Mapping[str, Any]]
) -> None:
    if capability == "attention":
        from .stable_diffusion_parts import check_text_attention

        return check_text_attention(setup)
    from .likelihood_support import check_askable

    check_askable(setup, params)


def _prefetch(setup: Setup[DiffusersOptions]) -> None:
    from .loaded_pipeline import prefetch

    prefetch(setup)


def _prefetch_attend_excite(setup: Setup[DiffusersOptions]) -> None:
    from .attend_excite import PIPELINE
    from .loaded_pipeline import prefetch

    prefetch(setup, PIPELINE)


def _resolve(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> DiffusersOptions:
    """Return the options with a definite precision, and with commits of repositories.

    If a repository is missing and cannot be fetched, options that do not fit a preset are reported first.
    """
    try:
        return _settled(setup)
    except NotHere:
        _check_options_of_absent(setup, pipeline_class)
        raise


def _check_options_of_absent(setup: Setup[DiffusersOptions], pipeline_class: str | None) -> None:
    """Raise BadOption if options do not fit the pipeline classes that presets state for missing repositories."""
    from .sources import sources

    every = sources(setup.argument, setup.options)
    known = {s.option: name for s in every if (name := class_in_presets(s.model, s.option, pipeline_class))}
    if known and not fit_by_presets(known, setup.options):
        from .plan import check_absent  # imports diffusers, which alone knows these names

        check_absent(setup, pipeline_class)


def _resolve_attend_excite(setup: Setup[DiffusersOptions]) -> DiffusersOptions:
    from .attend_excite import PIPELINE

    return _resolve(setup, PIPELINE)


def _settled(setup: Setup[DiffusersOptions]) -> DiffusersOptions:
    from t2i_torch_support.device import get_device_type
    from t2i_torch_support.hub_files import refuse_revision

    from .hub import commit_of
    from .lora import pin
    from .sources import check_place, sources

    options = setup.options
    changes: dict[str, Any] = {}
    if options.lora:
        spec = f"diffusers:{setup.argument}"
        changes["lora"] = tuple(pin(lora, spec, setup.offline) for lora in options.lora)
    for source in sources(setup.argument, options):
        check_place(source)
        if source.folder is not None:
            refuse_revision(source.revision, source.folder, str(source))
        else:
            pinned = {"revision": commit_of(source, setup.offline)}
            own: CallOptions = getattr(options, source.option) if source.option else options
            changes |= {source.option: own.model_copy(update=pinned)} if source.option else pinned
    if options.dtype == "auto":
        changes["dtype"] = precision(get_device_type(setup.device))
    return options.model_copy(update=changes)


def _weights(argument: str | None, options: DiffusersOptions) -> Iterator[Path | str]:
    from .hub import commit_of
    from .lora import list_weights
    from .other_denoiser import list_denoiser_files
    from .sources import DENOISERS, list_files, sources

    yield from list_weights(options.lora)
    yield from list_denoiser_files(options)
    for source in sources(argument, options):
        if source.file is not None:
            yield source.file
        if source.folder is not None:
            replaced = DENOISERS if options.denoiser and not source.option else ()
            yield from list_files(source.folder, replaced)
        else:
            yield f"{source.model}@{commit_of(source, offline=False)}"


@hookimpl
def t2i_generators() -> Iterable[GeneratorInfo | Preset]:
    """Return the two generators, and presets for known models."""
    model = (
        "ORG/NAME or PATH: a repository of the Hugging Face hub, the folder of a saved pipeline, or a single "
        ".safetensors file"
    )
    shared: dict[str, Any] = {
        "options": DiffusersOptions,
        "argument": model,
        "needs_argument": True,
        "code": _DRAWING,
    }
    return [
        SelfJudgingInfo(
            name="diffusers",
            summary="Any text-to-image pipeline of Hugging Face diffusers.",
            create=_create,
            loading=Loading(weights=_weights, check=_check, resolve=_resolve, prefetch=_prefetch),
            capabilities=frozenset({"likelihood", "attention"}),
            judge_code=_ASKED,
            check_judge=_check_judge,
            about=About(citation="von Platen et al.: Diffusers, https://github.com/huggingface/diffusers"),
            **shared,
        ),
        GeneratorInfo(
            name="attend-excite",
            summary="Stable Diffusion 1 or 2 with Attend-and-Excite on the objects that a prompt expects.",
            create=_create_attend_excite,
            loading=Loading(
                weights=_weights,
                check=_check_attend_excite,
                resolve=_resolve_attend_excite,
                prefetch=_prefetch_attend_excite,
            ),
            about=About(
                citation="Chefer et al.: Attend-and-Excite, SIGGRAPH 2023",
                notes="diffusers no longer maintains this pipeline and may remove it.",
            ),
            reads_scene=True,
            **shared,
        ),
        *(known.preset() for known in KNOWN),
    ]
