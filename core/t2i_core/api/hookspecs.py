"""The five hooks by which plugins offer components.

A plugin is a distribution with entry points in the groups `t2i.generators`, `t2i.judges`, `t2i.metrics`,
`t2i.prompt_sources` and `t2i.sinks`. An entry point's name is the component's name; its target is the plugin's
light module, which must import neither torch nor numpy at its top. The module's hook returns descriptors (or
presets):

    [project.entry-points."t2i.metrics"]
    sharpness = "t2i_sharpness.plugin"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from .plugin_info import GeneratorInfo, JudgeInfo, MetricInfo, Preset, PromptSourceInfo, SinkInfo

PROJECT = "t2i"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def t2i_generators() -> Iterable[GeneratorInfo | Preset]:  # type: ignore[empty-body]
    """Offer models that generate images from prompts.

    >>> import numpy as np
    >>> from t2i_core.api import Generated, GeneratorInfo, hookimpl
    >>> class Grey:
    ...     def generate(self, requests):
    ...         for request in requests:
    ...             yield request, Generated(np.full((64, 64, 3), 128, np.uint8))
    >>> @hookimpl
    ... def t2i_generators():
    ...     return [GeneratorInfo(name="grey", summary="Grey squares.", create=lambda setup: Grey())]
    """


@hookspec
def t2i_judges() -> Iterable[JudgeInfo | Preset]:  # type: ignore[empty-body]
    """Offer judges: models or people that answer questions about images.

    Enter the judge once under `t2i.judges` and once more under `t2i.judges.CAPABILITY` for each capability, so
    that t2i can choose a judge without importing any.

    >>> from t2i_core.api import JudgeInfo, Reward, hookimpl
    >>> class Brightness:
    ...     def observe(self, capability, queries):
    ...         for query in queries:
    ...             yield query, Reward(float(query.images[0].pixels.mean()))
    >>> @hookimpl
    ... def t2i_judges():
    ...     return [
    ...         JudgeInfo(
    ...             name="brightness",
    ...             summary="Mean pixel value.",
    ...             capabilities={"reward": frozenset()},
    ...             create=lambda setup: Brightness(),
    ...         )
    ...     ]
    """


@hookspec
def t2i_metrics() -> Iterable[MetricInfo | Preset]:  # type: ignore[empty-body]
    """Offer metrics: the observations that they need, and the rows that they measure from them.

    >>> from t2i_core.api import Measure, Metric, MetricInfo, Need, Row, hookimpl
    >>> class MeanReward(Metric):
    ...     needs = (Need("reward", capability="reward", queries=lambda samples: [samples[0].query_with_text()]),)
    ...     def measure(self, unit):
    ...         for observed in unit.observed:
    ...             yield Row("reward", observed.one("reward").value)
    >>> @hookimpl
    ... def t2i_metrics():
    ...     return [
    ...         MetricInfo(
    ...             name="mean-reward",
    ...             summary="Mean reward of a model's images.",
    ...             create=MeanReward,
    ...             measures=(Measure("reward", "Mean reward."),),
    ...         )
    ...     ]
    """


@hookspec
def t2i_prompt_sources() -> Iterable[PromptSourceInfo | Preset]:  # type: ignore[empty-body]
    """Offer lists of prompts, with the scene that each one expects, if it is known.

    >>> from t2i_core.api import ObjectClass, Prompt, PromptSourceInfo, Scene, SceneObject, hookimpl
    >>> def cats(setup):
    ...     cat = ObjectClass("cat", "cat.n.01")
    ...     yield Prompt(id="cat", text="a photo of a cat", scene=Scene((SceneObject(cat),)))
    >>> @hookimpl
    ... def t2i_prompt_sources():
    ...     return [PromptSourceInfo(name="cats", summary="One cat.", prompts=cats)]
    """


@hookspec
def t2i_sinks() -> Iterable[SinkInfo | Preset]:  # type: ignore[empty-body]
    """Offer sinks: places where the results of a finished run go, such as a tracker or a file of another format.

    >>> import json
    >>> from t2i_core.api import SinkInfo, hookimpl
    >>> from t2i_core.results.export_file import write_export
    >>> class Scores:
    ...     def write(self, run, progress):
    ...         with write_export(run, "scores.json") as file:
    ...             json.dump({result.label: result.score for result in run.results}, file)
    ...         progress.note(f"scores: {run.path / 'scores.json'}")
    >>> @hookimpl
    ... def t2i_sinks():
    ...     return [SinkInfo(name="scores", summary="The scores as JSON.", create=lambda setup: Scores())]
    """
