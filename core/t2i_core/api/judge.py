"""The contract of judges: each query is answered with an observation or a failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .failure import Failure
    from .image import Image
    from .observation import Observation

Capability = str
"""The name of a capability (`detect`): `t2i_core.api.observation.list_capabilities` has them all."""


FOR_PEOPLE = "people"
"""The param of a query that only judges of people's answers (`JudgeInfo.by_people`) get. No other judge's answer
depends on it, so it is not in other answers' keys."""


@dataclass(frozen=True)
class Query:
    """The subject of one observation. The capability's class says how many images and texts it holds.

    Attributes:
        images: The images, in the order shown.
        texts: The texts.
        params: Plain data that the capability takes beyond images and texts (trials and steps of a likelihood, a
            number of a repeat, definitions shown to a judge of preferences); part of the answer's key.
    """

    images: tuple[Image, ...] = ()
    texts: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """A model that answers queries about images.

    It may also have `settings`, plain data about itself, and `close()`.
    """

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Observation | Failure]]:
        """Yield each query, the same object, with its observation of this capability or a failure.

        Yield in any order. Keep what a scoring rule may need later (detections down to a low confidence), because
        thresholds belong to metrics. If it raises or leaves queries out, t2i tries them again one by one; then
        only that query fails.

        Args:
            capability: The capability to answer.
            queries: The queries. Take them lazily, one batch at a time.
        """
        ...
