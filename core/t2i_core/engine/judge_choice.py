"""Choice of the judge that serves a metric's need, with advice if the metric's own judge is not installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..api.adapter import expand, find_sources
from ..api.errors import MissingDependency, NoJudge, UnknownName
from ..api.judge import Query
from ..api.metric_input import Need, ask_about_image
from ..api.plugin_info import Defaults, JudgeInfo, MetricInfo
from ..api.resolver import JudgeChoice, split_judge
from .component import Component
from .component_finder import ComponentFinder
from .settled_metric import SettledMetric

Choice = JudgeChoice[Component[Any]]
Panel = tuple[tuple[str, ...], ...]
"""For each need of a metric, the judges that the user names for it (`--judge`)."""


def list_panels(needs: Sequence[Need], finder: ComponentFinder) -> list[Panel]:
    """Return the panels of judges that each give their own results: one for each judge that the user names.

    A judge serves all needs that it can, and the first other judge that can serves the rest. For a need that no
    judge can serve, all are named, so that its choice says why. Equal panels are one.

    Args:
        needs: The needs of a metric.
        finder: Knows the judges that the user named, and finds them.
    """
    words = tuple(dict.fromkeys(finder.request.judges))
    served_by = [_list_serving(need, words, finder) for need in needs]
    panels = [
        tuple((word if word in serving else serving[0],) if serving else words for serving in served_by)
        for word in words
    ]
    return list(dict.fromkeys(panels)) or [tuple(() for _ in needs)]


def name_panel(panel: Panel) -> str:
    """Return the judges that the user names for the needs of a metric, as the user names them."""
    return ", ".join(dict.fromkeys(word for words in panel for word in words))


def _list_serving(need: Need, words: Sequence[str], finder: ComponentFinder) -> list[str]:
    """Return the named judges that serve a need: those named with its capability, or else all that can."""
    if not need.is_judged:
        return []
    capabilities = {way.capability for way in need.ways}
    if named := [word for word in words if split_judge(word)[0] in capabilities]:
        return named
    sources = {source for capability in capabilities for source in find_sources(capability)}
    return [
        word
        for word in words
        if split_judge(word)[0] is None and not sources.isdisjoint(_list_offered(word, finder))
    ]


def _list_offered(name: str, finder: ComponentFinder) -> Mapping[str, Any]:
    """Return the capabilities that a judge offers itself, without adapters."""
    judge: Component[JudgeInfo] = finder.resolver.component("judge", name, finder.request.options)
    return judge.info.capabilities


def choose_judge(
    need: Need, settled: SettledMetric, named: tuple[str, ...], finder: ComponentFinder
) -> tuple[Need, Choice]:
    """Return the judge that serves a need, and the need itself or the alternative that it serves.

    Alternatives are tried in order: those for which the user names a judge, with its capability if any are
    (`--judge answer=NAME`), or else those for which the domain or the metric names one, first those for which
    the domain names one for this very metric. Otherwise only the need itself is tried.

    Args:
        need: The metric's need.
        settled: The metric. If its own judge is not installed, its `Defaults.absent` gives the advice.
        named: The judges that the user names for the need.
        finder: Finds judges, and settles them for this machine.

    Raises:
        NoJudge: If no judge can serve, or several could.
        MissingDependency: If the judge needs a module that is not installed.
    """
    if not named:
        _refuse_absent(need, settled)
    ways = _list_named(need, named, finder) or _list_default(need, settled)
    errors: list[NoJudge] = []
    for way in ways:
        try:
            choice = _choose(way, settled, named, finder)
            _refuse_nameless_classes(way, settled.component, choice)
        except NoJudge as error:
            errors.append(error)
            continue
        choice = _settle(choice, way, settled.component, finder)
        return way, choice if way is need else replace(choice, why=f"{choice.why}; {_explain(way, need)}")
    if len(ways) < len(need.ways) and not named:
        others = " or ".join(f"--judge {each.capability}=NAME" for each in need.alternatives)
        hint = f"or name a judge to ask in place of {need.capability}: {others}"
        raise NoJudge(f"{errors[0]}; {hint}") from errors[0]
    raise errors[0]


def _refuse_absent(need: Need, settled: SettledMetric) -> None:
    """Refuse a need if the domain says that it has no judge of it; the metric's options may name one."""
    absent = settled.domain.metrics.get(settled.component.info.name, Defaults()).absent
    if need.capability in absent and need.capability not in settled.defaults.judges:
        raise NoJudge(f"no judge of {need.capability} for {settled.domain.name}; {absent[need.capability]}")


def _list_named(need: Need, named: Sequence[str], finder: ComponentFinder) -> list[Need]:
    """Return the ways of a need for which the user names a judge; those with their capability have priority."""
    if not need.alternatives:
        return []
    words = [split_judge(word) for word in named]
    with_capability = {capability for capability, _ in words}
    if asked := [way for way in need.ways if way.capability in with_capability]:
        return asked
    offered = {each for capability, name in words if capability is None for each in _list_offered(name, finder)}
    return [way for way in need.ways if not offered.isdisjoint(find_sources(way.capability))]


def _list_default(need: Need, settled: SettledMetric) -> list[Need]:
    """Return the ways of a need for which nobody named a judge, in the order in which they are tried."""
    there = settled.domain.metrics.get(settled.component.info.name, Defaults()).judges
    ways = [each for each in need.ways if each is need or each.capability in settled.defaults.judges]
    return sorted(ways, key=lambda way: way.capability not in there)


def _refuse_nameless_classes(need: Need, metric: Component[MetricInfo], choice: Choice) -> None:
    """Refuse a judge that must be told the choices if the metric asks about the image alone."""
    if need.queries is ask_about_image and not expand(choice.chain, Query()):
        people = "people cannot be asked this: " if choice.judge.info.by_people else ""
        raise NoJudge(
            f"{people}metric {metric.spec!r} asks for {need.capability} without naming any classes, and judge "
            f"{choice.judge.spec!r} can only choose among named ones; name another --judge"
        )


def _explain(way: Need, need: Need) -> str:
    """Return in words what is asked in place of a need."""
    asked = f': "{way.question}"' if way.question else ""
    return f"{way.capability} in place of {need.capability}{asked}"


def _list_preferred(need: Need, settled: SettledMetric) -> list[tuple[str, str]]:
    """Return the judge that domain or metric name for a capability, with the reason."""
    if need.capability not in settled.defaults.judges:
        return []
    name = settled.defaults.judges[need.capability]
    metric, domain = settled.component, settled.domain
    if need.capability in settled.instance.judges:
        return [(name, f"the options of metric {metric.name!r} name it for {need.capability}")]
    there = domain.metrics.get(metric.info.name, Defaults())
    by_domain = name in {*domain.judges.values(), *there.judges.values()}
    whose = f"the domain {domain.name!r}" if by_domain else f"metric {metric.name!r}"
    return [(name, f"{whose} names it for {need.capability}")]


def _choose(need: Need, settled: SettledMetric, named: tuple[str, ...], finder: ComponentFinder) -> Choice:
    """Return the resolver's choice; if the metric's own judge is not installed, the error has its advice."""
    metric, options = settled.component, finder.request.options
    name, advice = _find_advice(need, metric)
    preferred = _list_preferred(need, settled)
    try:
        return finder.resolver.choose_judge(
            need.capability, need.requires, named, preferred, settled.domain, options
        )
    except NoJudge as error:
        if advice is None or name is None or name not in dict(preferred) or named:
            raise
        try:
            finder.resolver.component("judge", name, options)
        except (MissingDependency, UnknownName):
            raise NoJudge(
                f"metric {metric.spec!r} needs the judge {name!r}, which is not installed: {advice}"
            ) from error
        raise


def _settle(choice: Choice, need: Need, metric: Component[MetricInfo], finder: ComponentFinder) -> Choice:
    name, advice = _find_advice(need, metric)
    try:
        return replace(choice, judge=finder.settle(choice.judge))
    except MissingDependency as error:
        if advice is None or choice.judge.spec != name:
            raise
        raise MissingDependency(f"{error}; {advice}") from error


def _find_advice(need: Need, metric: Component[MetricInfo]) -> tuple[str | None, str | None]:
    """Return the metric's own judge for a need, and what to do if it is not installed."""
    own = metric.info.defaults
    return own.judges.get(need.capability), own.absent.get(need.capability)
