"""Loading pipelines through diffusers: classes, calls, weights, stages."""

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
from .hub import commit_of, hub_pickles, not_here
from .lacking import whole_weights
from .mirrors import check_pinned, used_files
from .noise import MAIN
from .options import DiffusersOptions, precision
from .planning import init_arguments, planned
from .schedulers import replacement
from .sizes import check_size
from .sources import CheckpointSource, check_pickles, left_out, parts_of, read_index
from .wholeness import problems


@dataclass(frozen=True)
class PipelineStage:
    """One loaded pipeline of a chain.

    name:      `main`, or the option that names it (`prior`, `upscaler`)
    model:     repository or folder
    commit:    of a repository
    call:      the arguments that the options set, by the pipeline's own names
    files:     SHA-256 of each file, of a mirror
    """

    name: str
    pipe: Any
    model: str
    commit: str | None
    call: Mapping[str, Any]
    files: Mapping[str, str]

    @property
    def arguments(self) -> Mapping[str, inspect.Parameter]:
        """The arguments of its call."""
        return call_arguments(type(self.pipe))


@dataclass(frozen=True)
class LoadedPipeline:
    """A model that is ready to draw.

    stages:   in the order of work; exactly one is `main`
    device:   where it works
    dtype:    of its weights
    offload:  what is kept in main memory meanwhile: `none`, `model`, `sequential`
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
        """What is said of values that are not numbers: where they came up, and what to do."""
        widest = self.dtype == "float32"
        advice = "most likely the checkpoint is damaged" if widest else "try another dtype (float32)"
        return f"not numbers in {self.dtype}; {advice}"


def load(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> LoadedPipeline:
    """Load a model and its further stages; what is not here is fetched, unless the setup is offline.

    pipeline_class: name of the class that takes the place of the checkpoint's own

    Raises BadModel where there is no such model, BadOption where a pipeline does not take what options set.
    """
    options = setup.options
    device = select_device(setup.device)
    dtype = precision(device.type) if options.dtype == "auto" else options.dtype
    plan = planned(setup, pipeline_class)
    stages = tuple(
        PipelineStage(
            name or MAIN,
            _pipeline(source, cls, folder, setup, dtype),
            source.model,
            None if source.folder else commit_of(source, setup.offline),
            call,
            used_files(source, folder),
        )
        for name in ("prior", "", "upscaler", "upscaler2")
        if name in plan
        for source, cls, call in [plan[name]]
        for folder in [_folder_of(source, cls, options, setup.offline)]
    )
    for stage in stages:
        check_size(stage.model, "" if stage.name == MAIN else f"{stage.name}.", stage.pipe, stage.call)
    return LoadedPipeline(stages, device, dtype, place([s.pipe for s in stages], device, options.offload))


def prefetch(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> None:
    """Fetch what loading will want. Raises what `load` raises."""
    for source, cls, _ in planned(setup, pipeline_class).values():
        _folder_of(source, cls, setup.options, offline=False)


def _folder_of(source: CheckpointSource, cls: type, options: DiffusersOptions, offline: bool) -> Path:
    """Return the folder of a source's files, fetched where need be."""
    if (folder := source.folder) is not None:
        return folder
    commit = commit_of(source, offline)
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
                **_left_out(source, cls, options),
            )
        )
    except Exception as error:  # the hub's, the network's, the library's
        if local:
            raise not_here(source, describe_error(error), why) from error
        if "safetensors" in str(error) and not options.pickles and (refused := hub_pickles(source, commit)):
            raise refused from error
        raise hub_files.make_hub_error(str(source), source.model, error) from error
    check_pinned(source, commit, fetched)
    return fetched


def _left_out(source: CheckpointSource, cls: type, options: DiffusersOptions) -> dict[str, None]:
    """Parts that are neither fetched nor loaded: an unwanted safety filter, a text encoder that a stage shares."""
    takes = init_arguments(cls)
    return {name: None for name in left_out(source, cls.__name__, options) if name in takes}


def _pipeline(
    source: CheckpointSource,
    cls: type[DiffusionPipeline],
    folder: Path,
    setup: Setup[DiffusersOptions],
    dtype: str,
) -> Any:
    """Make one pipeline from its files, in main memory."""
    options = setup.options
    index = read_index(folder)
    parts = parts_of(index)
    without: dict[str, Any] = {**_left_out(source, cls, options)}
    check_pickles(source, folder, [p for p in parts if p not in without], options.pickles)
    if problem := next(problems(source, folder, without, options), None):
        told = setup.offline and source.folder is None
        raise not_here(source, problem) if told else BadModel(f"{source}: {problem}")
    try:
        with _no_progress_bars(), whole_weights(source):
            pipe = cls.from_pretrained(
                folder,
                dtype=getattr(torch, dtype),
                variant=source.variant,
                use_safetensors=None if options.pickles else True,
                local_files_only=True,
                trust_remote_code=options.remote_code,
                **without,
                **({"requires_safety_checker": False} if "safety_checker" in without else {}),
                # or else images would depend on whether another package is there
                **({"add_watermarker": False} if "add_watermarker" in init_arguments(cls) else {}),
            )
    except (ImportError, T2IError):
        raise
    except Exception as error:
        if setup.offline and source.folder is None and isinstance(error, OSError):
            raise not_here(source, describe_error(error)) from error
        raise BadModel(
            f"{source}: does not load as {cls.__name__}: {_unfit(error) or describe_error(error)}"
        ) from error
    pipe.set_progress_bar_config(disable=True)
    own = options.stages[source.option] if source.option else options
    if scheduler := replacement(own, index):
        pipe.scheduler = scheduler.from_config(pipe.scheduler.config, **own.scheduler_options)
    return pipe


def _unfit(error: BaseException) -> str | None:
    """Say where weights are of another model than the config, without a library's advice to load them anyway."""
    shape = r"torch\.Size\((\[.*?\])\)"
    if found := re.search(rf"because (\S+) expected shape {shape}, but got {shape}", str(error)):
        name, wanted, given = found.groups()
        return f"{name} has the shape {given}, and its config wants {wanted}: they are of different models"
    return None


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Weights that are here already load in seconds: bars for it would only tear the run's own."""
    logs = [log for log in (diffusers.utils.logging, transformers.utils.logging) if log.is_progress_bar_enabled()]
    for log in logs:
        log.disable_progress_bar()
    try:
        yield
    finally:
        for log in logs:
            log.enable_progress_bar()
