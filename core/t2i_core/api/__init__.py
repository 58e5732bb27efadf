"""The contracts of generators, judges, metrics, prompt sources and sinks.

Each name is loaded when it is first used, so that a light module loads only the names that it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers: the same names as in `_MODULES`
    from .adapter import register_adapter as register_adapter
    from .capabilities.answer import QuestionAnswer as QuestionAnswer
    from .capabilities.answer import VisualQuestion as VisualQuestion
    from .capabilities.attention import TextAttention as TextAttention
    from .capabilities.caption import Caption as Caption
    from .capabilities.classify import ClassScores as ClassScores
    from .capabilities.detect import Detections as Detections
    from .capabilities.embed import Embedding as Embedding
    from .capabilities.features import Features as Features
    from .capabilities.likelihood import LikelihoodTerms as LikelihoodTerms
    from .capabilities.prefer import Preference as Preference
    from .capabilities.read import ReadText as ReadText
    from .capabilities.reply import TextReply as TextReply
    from .capabilities.reward import Reward as Reward
    from .capabilities.segment import Segments as Segments
    from .errors import BadPrompts as BadPrompts
    from .errors import NoJudge as NoJudge
    from .errors import T2IError as T2IError
    from .evidence import Evidence as Evidence
    from .failure import Failure as Failure
    from .generator import Generated as Generated
    from .generator import Generator as Generator
    from .generator import ImageRequest as ImageRequest
    from .hookspecs import hookimpl as hookimpl
    from .hookspecs import hookspec as hookspec
    from .image import Image as Image
    from .image import Instance as Instance
    from .image import Truth as Truth
    from .judge import Judge as Judge
    from .judge import Query as Query
    from .metric import AdaptiveMetric as AdaptiveMetric
    from .metric import Metric as Metric
    from .metric import PairMetric as PairMetric
    from .metric import PromptMetric as PromptMetric
    from .metric import SetMetric as SetMetric
    from .metric import StackedMetric as StackedMetric
    from .metric import TableMetric as TableMetric
    from .metric_input import Answer as Answer
    from .metric_input import Derive as Derive
    from .metric_input import Need as Need
    from .metric_input import NeedJudge as NeedJudge
    from .metric_input import Observed as Observed
    from .metric_input import Sample as Sample
    from .metric_input import Unit as Unit
    from .metric_output import Excluded as Excluded
    from .metric_output import Measure as Measure
    from .metric_output import Note as Note
    from .metric_output import Row as Row
    from .metric_output import Rows as Rows
    from .observation import Observation as Observation
    from .observation import Pixels as Pixels
    from .observation import QueryShape as QueryShape
    from .observation import StackableObservation as StackableObservation
    from .options import BoundedOptions as BoundedOptions
    from .options import ExecutionOption as ExecutionOption
    from .options import Options as Options
    from .options import OtherNames as OtherNames
    from .plugin_info import PHOTOGRAPHS as PHOTOGRAPHS
    from .plugin_info import About as About
    from .plugin_info import Defaults as Defaults
    from .plugin_info import Domain as Domain
    from .plugin_info import ExistingImagesInfo as ExistingImagesInfo
    from .plugin_info import GeneratorInfo as GeneratorInfo
    from .plugin_info import JudgeInfo as JudgeInfo
    from .plugin_info import Loading as Loading
    from .plugin_info import MetricInfo as MetricInfo
    from .plugin_info import Preset as Preset
    from .plugin_info import Price as Price
    from .plugin_info import PromptSourceInfo as PromptSourceInfo
    from .plugin_info import SelfJudgingInfo as SelfJudgingInfo
    from .plugin_info import Setup as Setup
    from .plugin_info import SinkInfo as SinkInfo
    from .progress import Progress as Progress
    from .prompt import ObjectClass as ObjectClass
    from .prompt import Prompt as Prompt
    from .prompt import Relation as Relation
    from .prompt import Scene as Scene
    from .prompt import SceneObject as SceneObject
    from .prompt_question import PromptQuestion as PromptQuestion
    from .sink import Sink as Sink
    from .study import Analysis as Analysis
    from .study import Study as Study

_MODULES: dict[str, tuple[str, ...]] = {
    "hookspecs": (
        "hookimpl",
        "hookspec",
    ),
    "prompt": (
        "Prompt",
        "Scene",
        "SceneObject",
        "ObjectClass",
        "Relation",
    ),
    "prompt_question": ("PromptQuestion",),
    "options": (
        "Options",
        "BoundedOptions",
        "ExecutionOption",
        "OtherNames",
    ),
    "plugin_info": (
        "About",
        "Defaults",
        "Domain",
        "PHOTOGRAPHS",
        "Loading",
        "GeneratorInfo",
        "ExistingImagesInfo",
        "SelfJudgingInfo",
        "JudgeInfo",
        "MetricInfo",
        "PromptSourceInfo",
        "SinkInfo",
        "Preset",
        "Price",
        "Setup",
    ),
    "progress": ("Progress",),
    "sink": ("Sink",),
    "evidence": ("Evidence",),
    "failure": ("Failure",),
    "generator": (
        "Generated",
        "Generator",
        "ImageRequest",
    ),
    "image": (
        "Image",
        "Truth",
        "Instance",
    ),
    "judge": (
        "Judge",
        "Query",
    ),
    "observation": (
        "Observation",
        "QueryShape",
        "StackableObservation",
        "Pixels",
    ),
    "adapter": ("register_adapter",),
    "capabilities.answer": ("VisualQuestion", "QuestionAnswer"),
    "capabilities.attention": ("TextAttention",),
    "capabilities.caption": ("Caption",),
    "capabilities.classify": ("ClassScores",),
    "capabilities.detect": ("Detections",),
    "capabilities.embed": ("Embedding",),
    "capabilities.features": ("Features",),
    "capabilities.likelihood": ("LikelihoodTerms",),
    "capabilities.prefer": ("Preference",),
    "capabilities.read": ("ReadText",),
    "capabilities.reply": ("TextReply",),
    "capabilities.reward": ("Reward",),
    "capabilities.segment": ("Segments",),
    "metric": (
        "AdaptiveMetric",
        "Metric",
        "PairMetric",
        "PromptMetric",
        "SetMetric",
        "StackedMetric",
        "TableMetric",
    ),
    "metric_input": (
        "Answer",
        "Derive",
        "Need",
        "NeedJudge",
        "Observed",
        "Sample",
        "Unit",
    ),
    "metric_output": (
        "Excluded",
        "Measure",
        "Note",
        "Row",
        "Rows",
    ),
    "study": (
        "Analysis",
        "Study",
    ),
    "errors": (
        "BadPrompts",
        "NoJudge",
        "T2IError",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
