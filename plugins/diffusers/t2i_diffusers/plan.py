"""The pipeline classes and call arguments of a model, found before any weights are downloaded or loaded."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import diffusers
from diffusers import DiffusionPipeline
from t2i_core.api import Setup
from t2i_core.api.errors import BadModel, BadOption, did_you_mean

from .attend_excite import PIPELINE as ATTEND_EXCITE
from .attend_excite import check_parts
from .calls import Plan, call_of, check_chain
from .hub import index_folder
from .options import CallOptions, DiffusersOptions
from .preset_classes import class_in_presets
from .schedulers import find_scheduler
from .sources import CheckpointSource, check_place, read_index, sources


def make_plan(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> Plan:
    """Return the classes and call arguments from the pipelines' indexes alone.

    `pipeline_class` is the name of a class that replaces the checkpoint's own.

    Raises:
        BadModel: A pipeline is not supported or does not fit the chain.
        BadOption: A pipeline does not accept an option.
    """
    own: dict[str, CallOptions] = {"": setup.options, **setup.options.stages}
    plan: Plan = {}
    for source in sources(setup.argument, setup.options):
        check_place(source)
        index = read_index(index_folder(source, setup.offline))
        if pipeline_class == ATTEND_EXCITE and not source.option:
            check_parts(source, index)
        cls = _find_class(source, pipeline_class if pipeline_class and not source.option else index["_class_name"])
        find_scheduler(own[source.option], index, f"{source.option}." if source.option else "")
        if setup.options.lora and not source.option and not hasattr(cls, "load_lora_weights"):
            raise BadOption(f"option lora: {cls.__name__} takes no LoRA")
        plan[source.option] = source, cls, call_of(cls, own[source.option], source)
    check_chain(plan)
    return plan


def check_absent(setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> None:
    """Raise BadOption if options do not fit the classes that a preset states for its repositories.

    Used before anything of the repositories is downloaded.
    """
    own: dict[str, CallOptions] = {"": setup.options, **setup.options.stages}
    for source in sources(setup.argument, setup.options):
        name = class_in_presets(source.model, source.option, pipeline_class)
        if source.folder is not None or name is None:
            continue
        cls, options = _find_class(source, name), own[source.option]
        has_one = "scheduler" in init_arguments(cls)
        if options.scheduler or not has_one:  # the checkpoint's own scheduler is not known
            index = {"_class_name": name, "scheduler": [None, options.scheduler if has_one else None]}
            find_scheduler(options, index, f"{source.option}." if source.option else "")
        call_of(cls, options, source)


def init_arguments(cls: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class's constructor by name."""
    return inspect.signature(cls.__init__).parameters


def _find_class(source: CheckpointSource, name: str) -> type[DiffusionPipeline]:
    cls = getattr(diffusers, name, None)
    if not (isinstance(cls, type) and issubclass(cls, DiffusionPipeline)):
        known = [n for n in dir(diffusers) if n.endswith("Pipeline")]
        near = did_you_mean(name, known)
        raise BadModel(f"{source}: diffusers {diffusers.__version__} has no pipeline {name}{near}")
    _alias_moved_packages(cls)
    return cls


def _alias_moved_packages(cls: type) -> None:
    """Make packages importable by the old names in published indexes; diffusers moves deprecated packages."""
    package, _, name = cls.__module__.rpartition(".")[0].rpartition(".")
    if package == "diffusers.pipelines.deprecated" and not hasattr(diffusers.pipelines, name):
        setattr(diffusers.pipelines, name, import_module(f"{package}.{name}"))
