"""Replacement of a checkpoint's scheduler, or of its configuration."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import diffusers
from t2i_core.api.errors import BadOption, did_you_mean

from .options import CallOptions

_SCALES = "scale_model_input"
"""Method that pipelines of diffusion models call and flow-matching schedulers lack."""


def find_scheduler(options: CallOptions, index: Mapping[str, Any], where: str = "") -> Any:
    """Return the class of the scheduler that options set, or None if they set none.

    Args:
        options: Options of the pipeline.
        index: Index of the pipeline.
        where: Prefix of the options' names, for messages (`upscaler.`).

    Raises:
        BadOption: The scheduler does not exist, does not fit the pipeline, or lacks a configuration key.
    """
    if not (options.scheduler or options.scheduler_options):
        return None
    _, own = index.get("scheduler") or (None, None)
    if own is None:
        pipeline = index["_class_name"]
        raise BadOption(f"option {where}scheduler: {pipeline} does not have exactly one scheduler to replace")
    name = options.scheduler or own
    cls = getattr(diffusers, name, None)
    if not (isinstance(cls, type) and issubclass(cls, diffusers.SchedulerMixin)):
        known = [n for n in dir(diffusers) if n.endswith("Scheduler")]
        raise BadOption(f"option {where}scheduler: diffusers has no scheduler {name!r}{did_you_mean(name, known)}")
    if hasattr(getattr(diffusers, own, None), _SCALES) and not hasattr(cls, _SCALES):
        pipeline = index["_class_name"]
        raise BadOption(
            f"option {where}scheduler: {name} does not fit {pipeline}: it has no {_SCALES}, as {own} has"
        )
    unknown = options.scheduler_options.keys() - inspect.signature(cls).parameters.keys()
    if unknown:
        raise BadOption(f"option {where}scheduler_options: {name} has no {', '.join(sorted(unknown))}")
    return cls
