"""Needs of a metric, each served by a judge, by the model itself, or by the pixels of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..api.adapter import expand
from ..api.errors import BrokenPlugin, NoJudge
from ..api.judge import Query
from ..api.metric_input import Need
from ..api.observation import find_capability
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import GeneratorInfo, MetricInfo, SelfJudgingInfo
from .component import Component
from .component_finder import ComponentFinder
from .job import Served
from .judge_choice import Panel, choose_judge
from .pixels_judge import choose_pixels
from .preflight import lower_floor, refuse_high_floor
from .sample import Model
from .settled_metric import SettledMetric


def serve_needs(
    settled: SettledMetric, models: Sequence[Model], panel: Panel, finder: ComponentFinder
) -> tuple[Served, ...]:
    """Find the judge for each need, but for those that another one, as it is served, makes unnecessary.

    Args:
        settled: The metric, settled for the models' domain.
        models: The models that are measured.
        panel: The judges that the user names for each need.
        finder: Settles and checks the judges.

    Raises:
        NoJudge: If a need cannot be served.
        BrokenPlugin: If a need comes after one that is not asked before it.
    """
    found: list[Served] = []
    for need, named in zip(settled.instance.needs, panel, strict=True):
        if not any(need.name in _list_unneeded(served) for served in found):
            _refuse_unfit_order(need, found, settled.component)
            found.append(_serve(need, settled, models, named, finder))
    return tuple(found)


def _list_unneeded(served: Served) -> frozenset[str]:
    """Return the names of the later needs that a need makes unnecessary, as it is served."""
    gives = served.choice.judge.info.capabilities[served.asked] if served.need.spares and served.choice else ()
    return served.need.replaces.union(*(served.need.spares.get(field, ()) for field in gives))


def _refuse_unfit_order(need: Need, earlier: Sequence[Served], metric: Component[MetricInfo]) -> None:
    if not need.after:
        return
    first = next((served.need for served in earlier if served.need.name == need.after), None)
    if first is None or first.per == "run" or first.images != need.images:
        raise BrokenPlugin(
            f"{describe_component(metric)} declares the need {need.name!r} after {need.after!r}, which must be a "
            "need declared before it, asked for each item about the same images"
        )


def _serve(
    need: Need, settled: SettledMetric, models: Sequence[Model], named: tuple[str, ...], finder: ComponentFinder
) -> Served:
    """Find the judge that serves a need or one of its alternatives."""
    metric = settled.component
    if need.source == "model":
        for model in models:
            _check_own_judgement(model.component, need, metric, finder)
        return Served(need, None, finder.codes.of_derived(need, metric))
    if not find_capability(need.capability).judged:
        return Served(need, choose_pixels(), finder.codes.of_derived(need, metric))
    need, choice = choose_judge(need, settled, named, finder)
    judge = lower_floor(need, choice.judge)
    if judge is not choice.judge:
        finder.notes.append(
            f"judge {judge.spec!r} keeps detections down to {need.confidence:g}, which metric {metric.spec!r} uses"
        )
        choice = replace(choice, judge=judge)
    finder.mark_used(choice.judge)
    finder.check(choice.judge)
    if need.derive is not None and len(expand(choice.chain, Query())) != 1:
        raise NoJudge(
            f"metric {metric.spec!r} derives numbers from {need.capability} and one image, but "
            f"{choice.judge.spec!r} combines several answers to give it; name another --judge"
        )
    refuse_high_floor(need, metric, choice.judge)
    return Served(need, choice, finder.codes.of_derived(need, metric))


def _check_own_judgement(
    model: Component[GeneratorInfo], need: Need, metric: Component[MetricInfo], finder: ComponentFinder
) -> None:
    """Refuse a model that cannot judge itself, as far as it tells before anything is loaded."""
    info = model.info
    if not isinstance(info, SelfJudgingInfo) or need.capability not in info.capabilities:
        raise NoJudge(
            f"metric {metric.spec!r} asks the model itself for {need.capability}, "
            f"which {describe_component(model)} does not offer"
        )
    if info.check_judge is not None:
        setup = model.setup(finder.request.device, offline=finder.offline)
        with guard_plugin(model, f"to check whether it can be asked for {need.capability}"):
            info.check_judge(setup, need.capability, need.params)
