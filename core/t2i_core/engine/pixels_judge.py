"""Core's own judge, which answers `pixels`, so that a metric can measure images without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..api.judge import Capability, Query
from ..api.observation import Pixels
from ..api.options import Options
from ..api.plugin_info import JudgeInfo, Setup
from ..api.resolver import JudgeChoice
from .component import Component, settle_component


class _PixelsJudge:
    def __init__(self, setup: Setup[Options]) -> None:
        pass

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Pixels]]:
        for query in queries:
            yield query, Pixels()


ITSELF = JudgeInfo(
    name=Pixels.capability,
    summary="The image itself.",
    capabilities={Pixels.capability: frozenset()},
    create=_PixelsJudge,
    code=(),  # no change of code could alter its answers
)


def choose_pixels() -> JudgeChoice[Component[JudgeInfo]]:
    """Return the choice of this judge, for every need of pixels."""
    return JudgeChoice(settle_component(ITSELF), (), "the metric measures the image itself")
