"""What the presets tell of pipelines, so that diffusers need not be imported to know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .options import CallOptions, DiffusersOptions
from .presets import KNOWN


def class_in_presets(model: str, option: str, pipeline_class: str | None = None) -> str | None:
    """Return the class that a repository's pipeline has, by the presets; None: it is in none.

    option:          that of the stage; empty for a model itself
    pipeline_class:  the one that takes the place of a model's own
    """
    for known in KNOWN:
        if option and model == known.options.get(option, {}).get("model"):
            return known.stage_pipelines[option]
        if not option and model == known.repository:
            return pipeline_class or known.pipeline
    return None


def fit_by_presets(classes: Mapping[str, str], options: DiffusersOptions) -> bool:
    """Whether the presets tell already that pipelines draw from texts and take what options set.

    classes: of the model itself, under an empty name, and of its stages, by the names of their options
    """
    chains = ({"": known.pipeline, **known.stage_pipelines} for known in KNOWN)
    return dict(classes) in chains and all(
        any(_within(options.stages[option] if option else options, theirs) for theirs in _options_of(name, option))
        for option, name in classes.items()
    )


def _options_of(pipeline: str, option: str) -> Iterator[Mapping[str, Any]]:
    """Yield the options that presets set for a class: as a model of its own, or as the stage of this option."""
    for known in KNOWN:
        if {"": known.pipeline, **known.stage_pipelines}.get(option) == pipeline:
            yield known.options[option] if option else known.options


def _within(own: CallOptions, theirs: Mapping[str, Any]) -> bool:
    """Whether options set no more than others; numbers and texts that all classes take in one way may differ."""
    usual = ("steps", "guidance", "negative_prompt", "height", "width")
    return (
        all(name in theirs for name in usual if getattr(own, name) is not None)
        and own.scheduler in (None, theirs.get("scheduler"))
        and not own.scheduler_options
        and own.call.items() <= theirs.get("call", {}).items()
    )
