"""Another scheduler, or another configuration of it, in the place of a checkpoint's own."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import diffusers
from t2i_core.api.errors import BadOption, did_you_mean

from .options import CallOptions

_SCALES = "scale_model_input"
"""What pipelines of diffusion models call, and schedulers of another kind (flow matching) do not have."""


def replacement(options: CallOptions, index: Mapping[str, Any], where: str = "") -> Any:
    """Return the class of the scheduler that options put in the place of a pipeline's own; None: they do not.

    index: the pipeline's
    where: what options are called before their names (`upscaler.`)

    Raises BadOption where there is no such scheduler, none to be replaced, it cannot do what the pipeline asks of
    its own, or takes no such configuration.
    """
    if not (options.scheduler or options.scheduler_options):
        return None
    _, own = index.get("scheduler") or (None, None)
    if own is None:
        pipeline = index["_class_name"]
        raise BadOption(f"option {where}scheduler: {pipeline} has no one scheduler that could be replaced")
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
    unknown = options.scheduler_options.keys() - inspect.signature(cls.__init__).parameters.keys()
    if unknown:
        raise BadOption(f"option {where}scheduler_options: {name} has no {', '.join(sorted(unknown))}")
    return cls
