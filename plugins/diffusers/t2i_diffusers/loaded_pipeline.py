"""Loading of pipelines through diffusers: classes, calls, weights, stages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from diffusers import DiffusionPipeline
from huggingface_hub import constants
from t2i_core.api import Setup
from t2i_core.api.errors import BadModel, T2IError
from t2i_core.api.text import describe_error
from t2i_torch_support import hub_files
from t2i_torch_support.device import select_device

from .calls import call_arguments
from .devices import place
from .hub import commit_of, fetch_configs, find_hub_pickles, make_missing_error
from .lora import add_loras, check_loras
from .mirrors import check_pinned, used_files
from .noise import MAIN
from .options import DiffusersOptions, precision
from .other_denoiser import check_denoiser, find_replaced_part, load_denoiser
from .plan import init_arguments, make_plan
from .schedulers import find_scheduler
from .single_file import load_single_file
from .sizes import check_size
from .sources import CheckpointSource, check_pickles, find_skipped_parts, list_parts, read_index
from .weight_checks import whole_weights
from .wholeness import problems


@dataclass(frozen=True)
class PipelineStage:
    """One loaded pipeline of a chain.

    Attributes:
        name: `main`, or the name of its option (`prior`, `upscaler`).
        model: Repository or folder.
        commit: Commit of a repository.
        call: Call arguments that the options set, by the pipeline's names.
        files: For a mirror, the SHA-256 of each file.
        loras: Records of the LoRAs that were added.
    """

    name: str
    pipe: Any
    model: str
    commit: str | None
    call: Mapping[str, Any]
    files: Mapping[str, str]
    loras: tuple[Mapping[str, Any], ...] = ()

    @property
    def arguments(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the pipeline's call."""
        return call_arguments(type(self.pipe))


@dataclass(frozen=True)
class LoadedPipeline:
    """A model that is ready to generate.

    Attributes:
        stages: Pipelines in the order of execution; exactly one is `main`.
        device: Device of the computation.
        dtype: Precision of the weights.
        offload: Offloading to main memory: `none`, `model` or `sequential`.
    """

    stages: tuple[PipelineStage, ...]
    device: torch.device
    dtype: str
    offload: str

    @property
    def main(self) -> PipelineStage:
        """The model itself, without prior and upscalers."""
        return next(s for s in self.stages if s.name == MAIN)

    @property
    def not_numbers(self) -> str:
        """The text for values that are not numbers, with the precision and what to do."""
        widest = self.dtype == "float32"
        advice = "the checkpoint is probably damaged" if widest else "try another dtype (float32)"
        return f"not numbers in {self.dtype}; {advice}"


def load(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> LoadedPipeline:
    """Load a model and its further stages; download missing files unless the setup is offline.

    `pipeline_class` is the name of a class that replaces the checkpoint's own.

    Raises:
        BadModel: The model does not exist or cannot be loaded.
        BadOption: A pipeline does not accept an option.
    """
    options = setup.options
    device = select_device(setup.device)
    dtype = precision(device.type) if options.dtype == "auto" else options.dtype
    plan = make_plan(setup, pipeline_class)
    stages = tuple(
        _load_stage(name, *plan[name], setup, dtype)
        for name in ("prior", "", "upscaler", "upscaler2")
        if name in plan
    )
    for stage in stages:
        check_size(stage.model, "" if stage.name == MAIN else f"{stage.name}.", stage.pipe, stage.call)
    return LoadedPipeline(stages, device, dtype, place([s.pipe for s in stages], device, options.offload))


def _load_stage(
    name: str,
    source: CheckpointSource,
    cls: type[DiffusionPipeline],
    call: Mapping[str, Any],
    setup: Setup[DiffusersOptions],
    dtype: str,
) -> PipelineStage:
    """Load one pipeline of a chain; the model itself gets the LoRAs."""
    folder = _find_folder(source, cls, setup.options, setup.offline)
    pipe = _pipeline(source, cls, folder, setup, dtype)
    return PipelineStage(
        name or MAIN,
        pipe,
        source.shown,
        None if source.folder else commit_of(source, setup.offline),
        call,
        used_files(source, folder),
        () if name else tuple(add_loras(pipe, setup.options.lora, source.spec, setup.offline)),
    )


def prefetch(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> None:
    """Download the files that `load` needs. Raises the errors of `load`."""
    check_loras(setup.options.lora, f"diffusers:{setup.argument}", offline=False)
    check_denoiser(setup.options)
    for source, cls, _ in make_plan(setup, pipeline_class).values():
        folder = _find_folder(source, cls, setup.options, offline=False)
        find_replaced_part(source, read_index(folder), setup.options, offline=False)  # fetches a config


def _find_folder(source: CheckpointSource, cls: type, options: DiffusersOptions, offline: bool) -> Path:
    """Return the folder of a source's files; download missing files."""
    if (folder := source.folder) is not None:
        return folder
    commit = commit_of(source, offline)
    if source.file is not None:
        return fetch_configs(source, commit, offline)
    why = None if offline or constants.HF_HUB_OFFLINE else hub_files.find_outage()
    local = offline or why is not None  # what is here needs no network
    try:
        fetched = Path(
            DiffusionPipeline.download(
                source.model,
                revision=commit,
                variant=source.variant,
                use_safetensors=None if options.pickles else True,
                local_files_only=local,
                trust_remote_code=options.remote_code,
                **_find_skipped_parts(source, cls, options),
            )
        )
    except Exception as error:  # errors of the hub, the network or the library
        if local:
            raise make_missing_error(source, describe_error(error), why) from error
        if "safetensors" in str(error) and not options.pickles and (refused := find_hub_pickles(source, commit)):
            raise refused from error
        raise hub_files.make_hub_error(str(source), source.model, error) from error
    check_pinned(source, commit, fetched)
    return fetched


def _find_skipped_parts(source: CheckpointSource, cls: type, options: DiffusersOptions) -> dict[str, None]:
    """Return the parts that are not loaded from the checkpoint."""
    takes = init_arguments(cls)
    return {name: None for name in find_skipped_parts(source, cls.__name__, options) if name in takes}


def _pipeline(
    source: CheckpointSource,
    cls: type[DiffusionPipeline],
    folder: Path,
    setup: Setup[DiffusersOptions],
    dtype: str,
) -> Any:
    """Load one pipeline from its files into main memory."""
    options = setup.options
    index = read_index(folder)
    parts = list_parts(index)
    without: dict[str, Any] = {**_find_skipped_parts(source, cls, options)}
    if source.file is None:
        check_pickles(source, folder, [p for p in parts if p not in without], options.pickles)
    if source.file is None and (problem := next(problems(source, folder, without, options), None)):
        told = setup.offline and source.folder is None
        raise make_missing_error(source, problem) if told else BadModel(f"{source}: {problem}")
    replaced = find_replaced_part(source, index, options, setup.offline)
    try:
        with _no_progress_bars(), whole_weights(source):
            further: dict[str, Any] = {
                "dtype": getattr(torch, dtype),
                **without,
                **({replaced: load_denoiser(options, getattr(torch, dtype))} if replaced else {}),
                **({"requires_safety_checker": False} if "safety_checker" in without else {}),
                # otherwise images would depend on whether another package is installed
                **({"add_watermarker": False} if "add_watermarker" in init_arguments(cls) else {}),
            }
            if source.file is not None:
                pipe = load_single_file(cls, source.file, folder, **further)
            else:
                pipe = cls.from_pretrained(
                    folder,
                    variant=source.variant,
                    use_safetensors=None if options.pickles else True,
                    local_files_only=True,
                    trust_remote_code=options.remote_code,
                    **further,
                )
    except (ImportError, T2IError):
        raise
    except Exception as error:
        if setup.offline and source.folder is None and isinstance(error, OSError):
            raise make_missing_error(source, describe_error(error)) from error
        raise BadModel(
            f"{source}: does not load as {cls.__name__}: {_explain_mismatch(error) or describe_error(error)}"
        ) from error
    pipe.set_progress_bar_config(disable=True)
    own = options.stages[source.option] if source.option else options
    if scheduler := find_scheduler(own, index):
        pipe.scheduler = scheduler.from_config(pipe.scheduler.config, **own.scheduler_options)
    return pipe


def _explain_mismatch(error: BaseException) -> str | None:
    """Return the message for weights that do not fit the config, without the library's advice to ignore that."""
    shape = r"torch\.Size\((\[.*?\])\)"
    if found := re.search(rf"because (\S+) expected shape {shape}, but got {shape}", str(error)):
        name, wanted, given = found.groups()
        return f"{name} has the shape {given}, but the config requires {wanted}; use files of one model"
    return None


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Turn off the libraries' progress bars, which would disturb the run's own."""
    logs = [log for log in (diffusers.utils.logging, transformers.utils.logging) if log.is_progress_bar_enabled()]
    for log in logs:
        log.disable_progress_bar()
    try:
        yield
    finally:
        for log in logs:
            log.enable_progress_bar()
