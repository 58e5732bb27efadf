"""Contracts, statistics and the evaluation of t2i.

Everything public can be imported from here; each name is loaded when first used, so that a plugin's light
module costs no more than what it names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see: the same names, as `_HOME` has them
    from .components import API_VERSION as API_VERSION
    from .components import PHOTOGRAPHS as PHOTOGRAPHS
    from .components import Component as Component
    from .components import Defaults as Defaults
    from .components import Domain as Domain
    from .components import GeneratorInfo as GeneratorInfo
    from .components import JudgeInfo as JudgeInfo
    from .components import MetricInfo as MetricInfo
    from .components import Preset as Preset
    from .components import PromptSourceInfo as PromptSourceInfo
    from .components import Setup as Setup
    from .errors import BadPrompts as BadPrompts
    from .errors import NoJudge as NoJudge
    from .errors import T2IError as T2IError
    from .evaluation import ModelRequest as ModelRequest
    from .evaluation import evaluate as evaluate
    from .generation import Failure as Failure
    from .generation import Generated as Generated
    from .generation import Generator as Generator
    from .generation import ImageRequest as ImageRequest
    from .hookspecs import hookimpl as hookimpl
    from .hookspecs import hookspec as hookspec
    from .images import Image as Image
    from .images import Instance as Instance
    from .images import Truth as Truth
    from .judging import Judge as Judge
    from .judging import Query as Query
    from .metrics import Analysis as Analysis
    from .metrics import Answer as Answer
    from .metrics import Derive as Derive
    from .metrics import Excluded as Excluded
    from .metrics import Measure as Measure
    from .metrics import Metric as Metric
    from .metrics import Need as Need
    from .metrics import Note as Note
    from .metrics import Observed as Observed
    from .metrics import PerTable as PerTable
    from .metrics import Row as Row
    from .metrics import Rows as Rows
    from .metrics import Sample as Sample
    from .metrics import Study as Study
    from .metrics import Unit as Unit
    from .observations import Caption as Caption
    from .observations import ClassScores as ClassScores
    from .observations import Detections as Detections
    from .observations import Embedding as Embedding
    from .observations import Features as Features
    from .observations import LikelihoodTerms as LikelihoodTerms
    from .observations import Pixels as Pixels
    from .observations import Preference as Preference
    from .observations import Reward as Reward
    from .observations import Segments as Segments
    from .options import ExecutionOption as ExecutionOption
    from .options import Options as Options
    from .prompts import ObjectClass as ObjectClass
    from .prompts import Prompt as Prompt
    from .prompts import Relation as Relation
    from .prompts import Scene as Scene
    from .prompts import SceneObject as SceneObject
    from .runs import Run as Run
    from .runs import load_run as load_run

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
    "Pixels": "observations",
    "Preference": "observations",
    "Reward": "observations",
    "LikelihoodTerms": "observations",
    "Measure": "metrics",
    "Metric": "metrics",
    "Need": "metrics",
    "Note": "metrics",
    "Analysis": "metrics",
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
    "BadPrompts": "errors",
    "NoJudge": "errors",
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
