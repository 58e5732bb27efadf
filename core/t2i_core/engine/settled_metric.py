"""A metric settled for the images of one domain."""

from __future__ import annotations

from dataclasses import dataclass

from ..api.metric import Metric
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import Defaults, Domain, MetricInfo
from .component import Component
from .component_finder import ComponentFinder
from .request_values import split_prompts


@dataclass(frozen=True)
class SettledMetric:
    """A metric settled for one domain.

    Attributes:
        component: The metric with its options.
        instance: The metric itself.
        domain: The domain.
        defaults: The metric's prompts, seeds and judges; the domain's replace its own.
    """

    component: Component[MetricInfo]
    instance: Metric
    domain: Domain
    defaults: Defaults


def settle_metric(asked: str | MetricInfo, domain: Domain, finder: ComponentFinder) -> SettledMetric:
    """Find a metric, check it, and make it for one domain.

    Args:
        asked: Its name or descriptor.
        domain: The domain of the images.
        finder: Finds components.

    Raises:
        T2IError: If it cannot be found, or its options are wrong.
    """
    found: Component[MetricInfo] = finder.find("metric", asked)
    there = domain.metrics.get(found.info.name, Defaults())
    own = found.info.defaults
    named = dict(map(split_prompts, finder.request.default_prompts))
    if there.options:
        # the domain's options come first, so that the user's replace them
        found = finder.find("metric", asked, {**there.options, **finder.options_for("metric", found.name)})
    finder.check(found)
    with guard_plugin(found, "to be made"):
        instance = found.info.create(found.setup())
    suited = {capability: judge for capability, judge in own.judges.items() if capability not in there.absent}
    defaults = Defaults(
        prompts=named.get(found.name) or there.prompts or own.prompts or named.get(""),
        seeds=there.seeds or own.seeds,
        judges={**suited, **domain.judges, **there.judges, **instance.judges},
    )
    return SettledMetric(found, instance, domain, defaults)
