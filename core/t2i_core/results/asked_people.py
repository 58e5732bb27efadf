"""Questions to people in place of a metric's judge."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..api.errors import NoJudge
from ..api.judge import Capability
from ..api.metric import AdaptiveMetric, Metric, SetMetric, StackedMetric
from ..api.metric_input import Need


def list_asked_needs(name: str, metric: Metric, offered: Collection[Capability]) -> list[Need]:
    """Return the needs of a metric that people serve by themselves, or the alternatives that they serve.

    Adapters do not count: a metric must declare what people are asked, or ask for their preference.

    Args:
        name: Name of the metric.
        metric: The created metric.
        offered: The capabilities that people have: `answer` and `prefer`.

    Raises:
        NoJudge: If people cannot be asked what the metric needs.
    """
    if isinstance(metric, SetMetric | StackedMetric):
        raise NoJudge(f"people cannot be asked this: {name} measures vectors, which people do not give")
    if isinstance(metric, AdaptiveMetric) and metric.adaptive:
        raise NoJudge(f"people cannot be asked this: {name} chooses what it asks next by its judge's answers")
    if not metric.needs:
        raise NoJudge(f"people cannot be asked this: {name} asks no judge")
    return list(_choose_ways(name, metric, offered))


def _choose_ways(name: str, metric: Metric, offered: Collection[Capability]) -> Iterator[Need]:
    replaced: set[str] = set()
    for need in metric.needs:
        if need.name in replaced:
            continue
        found = next((way for way in need.ways if way.is_judged and way.capability in offered), None)
        if found is None or found.per == "run" or found.images != "generated":
            raise NoJudge(
                f"people cannot be asked this: {name} needs {need.capability} and declares no question "
                "in its place"
            )
        if found.after:
            raise NoJudge(
                f"people cannot be asked this: what {name} asks about {found.name} depends on its answers about "
                f"{found.after}"
            )
        replaced |= found.replaces
        yield found
