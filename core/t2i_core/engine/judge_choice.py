"""Choice of the judge that serves a metric's need, with advice if the metric's own judge is not installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..api.errors import MissingDependency, NoJudge, UnknownName
from ..api.metric_input import Need
from ..api.plugin_info import Domain, MetricInfo
from ..api.resolver import JudgeChoice, Resolver
from .component import Component
from .request import Request


def choose_judge(
    need: Need,
    metric: Component[MetricInfo],
    preferred: Sequence[tuple[str, str]],
    domain: Domain,
    request: Request,
    resolver: Resolver[Component[Any]],
    settle: Callable[[Component[Any]], Component[Any]],
) -> JudgeChoice[Component[Any]]:
    """Return the judge that serves a need.

    Args:
        need: The metric's need.
        metric: The metric. If its own judge is not installed, its `Defaults.absent` gives the advice.
        preferred: Names and reasons, as `Resolver.choose_judge` takes them.
        domain: The domain of the images.
        request: The judges and options that the user named.
        resolver: Finds components by name.
        settle: Settles a component's options for this machine.

    Raises:
        NoJudge: If no judge can serve, or several could.
        MissingDependency: If the judge needs a module that is not installed.
    """
    own = metric.info.defaults
    name = own.judges.get(need.capability)
    advice = own.absent.get(need.capability) if name in [spec for spec, _ in preferred] else None
    try:
        choice = resolver.choose_judge(
            need.capability, need.requires, request.judges, preferred, domain, request.options
        )
    except NoJudge as error:
        if advice is None or name is None or request.judges:
            raise
        try:
            resolver.component("judge", name, request.options)
        except (MissingDependency, UnknownName):
            raise NoJudge(
                f"metric {metric.spec!r} needs the judge {name!r}, which is not installed: {advice}"
            ) from error
        raise
    try:
        return replace(choice, judge=settle(choice.judge))
    except MissingDependency as error:
        if advice is None or choice.judge.spec != name:
            raise
        raise MissingDependency(f"{error}; {advice}") from error
