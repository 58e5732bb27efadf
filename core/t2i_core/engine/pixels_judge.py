"""The judge that core is itself: it answers `pixels`, so that a metric may measure images without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..api.judge import Capability, Query
from ..api.observation import Pixels
from ..api.options import Options
from ..api.plugin_info import JudgeInfo, Setup
from ..api.resolver import JudgeChoice
from .component import Component, settle_component


class _Looking:
    def __init__(self, setup: Setup[Options]) -> None:
        pass

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Pixels]]:
        for query in queries:
            yield query, Pixels()


ITSELF = JudgeInfo(
    name=Pixels.capability,
    summary="The image itself.",
    capabilities={Pixels.capability: frozenset()},
    create=_Looking,
    code=(),  # it says nothing that a change of code could alter
)


def choose_pixels() -> JudgeChoice[Component[JudgeInfo]]:
    """Return what serves every need of pixels."""
    return JudgeChoice(settle_component(ITSELF), (), "the metric measures the image itself")
