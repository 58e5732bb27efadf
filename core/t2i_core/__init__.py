"""Contracts, statistics and the evaluation of t2i.

Everything public can be imported from here; each name is loaded when first used, so that a plugin's light
module costs no more than what it names.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "hookimpl": "hookspecs",
    "hookspec": "hookspecs",
    "Prompt": "prompts",
    "Scene": "prompts",
    "SceneObject": "prompts",
    "ObjectClass": "prompts",
    "Relation": "prompts",
    "Options": "options",
    "ExecutionOption": "options",
    "API_VERSION": "components",
    "Component": "components",
    "Defaults": "components",
    "Domain": "components",
    "PHOTOGRAPHS": "components",
    "GeneratorInfo": "components",
    "JudgeInfo": "components",
    "MetricInfo": "components",
    "PromptSourceInfo": "components",
    "Preset": "components",
    "Setup": "components",
    "Failure": "generation",
    "Generated": "generation",
    "Generator": "generation",
    "ImageRequest": "generation",
    "Image": "images",
    "Truth": "images",
    "Instance": "images",
    "Judge": "judging",
    "Query": "judging",
    "Detections": "observations",
    "Segments": "observations",
    "ClassScores": "observations",
    "Embedding": "observations",
    "Features": "observations",
    "Caption": "observations",
    "Preference": "observations",
    "Reward": "observations",
    "LikelihoodTerms": "observations",
    "Measure": "metrics",
    "Metric": "metrics",
    "Need": "metrics",
    "Note": "metrics",
    "Answer": "metrics",
    "Derive": "metrics",
    "Excluded": "metrics",
    "Study": "metrics",
    "Observed": "metrics",
    "PerTable": "metrics",
    "Row": "metrics",
    "Rows": "metrics",
    "Sample": "metrics",
    "Unit": "metrics",
    "T2IError": "errors",
    "ModelRequest": "evaluation",
    "evaluate": "evaluation",
    "Run": "runs",
    "load_run": "runs",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
