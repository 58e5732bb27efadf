"""Choice of the judge that serves a metric's need, with advice if the metric's own judge is not installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..api.adapter import expand, find_sources
from ..api.errors import MissingDependency, NoJudge, UnknownName
from ..api.judge import Query
from ..api.metric_input import Need, ask_about_image
from ..api.plugin_info import Defaults, Domain, MetricInfo
from ..api.resolver import JudgeChoice, Resolver, split_judge
from .component import Component
from .request import Request

Choice = JudgeChoice[Component[Any]]
Panel = tuple[tuple[str, ...], ...]
"""For each need of a metric, the judges that the user names for it (`--judge`)."""


def list_panels(needs: Sequence[Need], request: Request, resolver: Resolver[Component[Any]]) -> list[Panel]:
    """Return the panels of judges that each give their own results: one for each judge that the user names.

    A judge serves all needs that it can, and the first other judge that can serves the rest. For a need that no
    judge can serve, all are named, so that its choice says why. Equal panels are one.

    Args:
        needs: The needs of a metric.
        request: The judges and options that the user named.
        resolver: Finds components by name.
    """
    words = tuple(dict.fromkeys(request.judges))
    served_by = [_list_serving(need, words, request, resolver) for need in needs]
    panels = [
        tuple((word if word in serving else serving[0],) if serving else words for serving in served_by)
        for word in words
    ]
    return list(dict.fromkeys(panels)) or [tuple(() for _ in needs)]


def _list_serving(
    need: Need, words: Sequence[str], request: Request, resolver: Resolver[Component[Any]]
) -> list[str]:
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
        if split_judge(word)[0] is None
        and not sources.isdisjoint(resolver.component("judge", word, request.options).info.capabilities)
    ]


def choose_judge(
    need: Need,
    metric: Component[MetricInfo],
    defaults: Defaults,
    domain: Domain,
    request: Request,
    resolver: Resolver[Component[Any]],
    settle: Callable[[Component[Any]], Component[Any]],
) -> tuple[Need, Choice]:
    """Return the judge that serves a need, and the need itself or the alternative that it serves.

    Alternatives are tried in order: those for which the user names a judge, with its capability if any are
    (`--judge answer=NAME`), or else those for which the domain or the metric names one. Otherwise only
    the need itself is tried.

    Args:
        need: The metric's need.
        metric: The metric. If its own judge is not installed, its `Defaults.absent` gives the advice.
        defaults: The settings of metric and domain together.
        domain: The domain of the images.
        request: The judges and options that the user named.
        resolver: Finds components by name.
        settle: Settles a component's options for this machine.

    Raises:
        NoJudge: If no judge can serve, or several could.
        MissingDependency: If the judge needs a module that is not installed.
    """
    ways = _list_named(need, request, resolver) or [
        each for each in need.ways if each is need or each.capability in defaults.judges
    ]
    errors: list[NoJudge] = []
    for way in ways:
        try:
            choice = _choose(way, metric, defaults, domain, request, resolver)
            _refuse_nameless_classes(way, metric, choice)
        except NoJudge as error:
            errors.append(error)
            continue
        choice = _settle(choice, way, metric, settle)
        return way, choice if way is need else replace(choice, why=f"{choice.why}; {_explain(way, need)}")
    if len(ways) < len(need.ways) and not request.judges:
        others = " or ".join(f"--judge {each.capability}=NAME" for each in need.alternatives)
        hint = f"or name a judge to ask in place of {need.capability}: {others}"
        raise NoJudge(f"{errors[0]}; {hint}") from errors[0]
    raise errors[0]


def _list_named(need: Need, request: Request, resolver: Resolver[Component[Any]]) -> list[Need]:
    """Return the ways of a need for which the user names a judge; those with their capability have priority."""
    if not need.alternatives:
        return []
    words = [split_judge(word) for word in request.judges]
    with_capability = {capability for capability, _ in words}
    if named := [way for way in need.ways if way.capability in with_capability]:
        return named
    offers = [
        resolver.component("judge", name, request.options).info.capabilities
        for capability, name in words
        if capability is None
    ]
    return [
        way
        for way in need.ways
        if any(source in offered for offered in offers for source in find_sources(way.capability))
    ]


def _refuse_nameless_classes(need: Need, metric: Component[MetricInfo], choice: Choice) -> None:
    """Refuse a judge that must be told the choices if the metric asks about the image alone."""
    if need.queries is ask_about_image and not expand(choice.chain, Query()):
        raise NoJudge(
            f"metric {metric.spec!r} asks for {need.capability} without naming any classes, and judge "
            f"{choice.judge.spec!r} can only choose among named ones; name another --judge"
        )


def _explain(way: Need, need: Need) -> str:
    """Return in words what is asked in place of a need."""
    asked = f': "{way.question}"' if way.question else ""
    return f"{way.capability} in place of {need.capability}{asked}"


def _list_preferred(
    need: Need, metric: Component[MetricInfo], defaults: Defaults, domain: Domain
) -> list[tuple[str, str]]:
    """Return the judge that domain or metric name for a capability, with the reason."""
    if need.capability not in defaults.judges:
        return []
    name = defaults.judges[need.capability]
    there = domain.metrics.get(metric.info.name, Defaults())
    by_domain = name in {*domain.judges.values(), *there.judges.values()}
    whose = f"the domain {domain.name!r}" if by_domain else f"metric {metric.name!r}"
    return [(name, f"{whose} names it for {need.capability}")]


def _choose(
    need: Need,
    metric: Component[MetricInfo],
    defaults: Defaults,
    domain: Domain,
    request: Request,
    resolver: Resolver[Component[Any]],
) -> Choice:
    """Return the resolver's choice; if the metric's own judge is not installed, the error has its advice."""
    name, advice = _find_advice(need, metric)
    preferred = _list_preferred(need, metric, defaults, domain)
    try:
        return resolver.choose_judge(
            need.capability, need.requires, request.judges, preferred, domain, request.options
        )
    except NoJudge as error:
        if advice is None or name is None or name not in dict(preferred) or request.judges:
            raise
        try:
            resolver.component("judge", name, request.options)
        except (MissingDependency, UnknownName):
            raise NoJudge(
                f"metric {metric.spec!r} needs the judge {name!r}, which is not installed: {advice}"
            ) from error
        raise


def _settle(
    choice: Choice, need: Need, metric: Component[MetricInfo], settle: Callable[[Component[Any]], Component[Any]]
) -> Choice:
    name, advice = _find_advice(need, metric)
    try:
        return replace(choice, judge=settle(choice.judge))
    except MissingDependency as error:
        if advice is None or choice.judge.spec != name:
            raise
        raise MissingDependency(f"{error}; {advice}") from error


def _find_advice(need: Need, metric: Component[MetricInfo]) -> tuple[str | None, str | None]:
    """Return the metric's own judge for a need, and what to do if it is not installed."""
    own = metric.info.defaults
    return own.judges.get(need.capability), own.absent.get(need.capability)
