"""Pipeline classes according to the presets, known without importing diffusers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .options import CallOptions, DiffusersOptions
from .presets import KNOWN


def class_in_presets(model: str, option: str, pipeline_class: str | None = None) -> str | None:
    """Return the pipeline class of a repository according to the presets, or None if no preset has it.

    Args:
        model: The repository.
        option: Option name of the stage; empty for the model itself.
        pipeline_class: Class that replaces the model's own.
    """
    for known in KNOWN:
        if option and model == known.options.get(option, {}).get("model"):
            return known.stage_pipelines[option]
        if not option and model == known.repository:
            return pipeline_class or known.pipeline
    return None


def fit_by_presets(classes: Mapping[str, str], options: DiffusersOptions) -> bool:
    """Return whether the presets show that pipelines draw from texts and accept the options.

    Args:
        classes: Class of the model under an empty name, and of its stages by option name.
        options: Options of the user.
    """
    chains = ({"": known.pipeline, **known.stage_pipelines} for known in KNOWN)
    return dict(classes) in chains and all(
        any(_within(options.stages[option] if option else options, theirs) for theirs in _options_of(name, option))
        for option, name in classes.items()
    )


def _options_of(pipeline: str, option: str) -> Iterator[Mapping[str, Any]]:
    """Yield the options that presets set for a class, as a model or as the stage of an option."""
    for known in KNOWN:
        if {"": known.pipeline, **known.stage_pipelines}.get(option) == pipeline:
            yield known.options[option] if option else known.options


def _within(own: CallOptions, theirs: Mapping[str, Any]) -> bool:
    """Return whether options set no more than other options; values that all classes accept may differ."""
    usual = ("steps", "guidance", "negative_prompt", "height", "width")
    return (
        all(name in theirs for name in usual if getattr(own, name) is not None)
        and own.scheduler in (None, theirs.get("scheduler"))
        and not own.scheduler_options
        and own.call.items() <= theirs.get("call", {}).items()
    )
