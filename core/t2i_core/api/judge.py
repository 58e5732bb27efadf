"""The judge's contract: queries in, each out again with its observation or a failure."""

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


@dataclass(frozen=True)
class Query:
    """What one observation is about. How many images and texts it holds is said by the capability's class.

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
    """A model that looks at images. It may also have `close()`."""

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Observation | Failure]]:
        """Yield each query, the same object, with its observation of this capability or a failure.

        Any order will do. The queries are taken lazily: take as many at a time as are worked on together. Keep
        what a scoring rule may still need (detections down to a low confidence): thresholds belong to metrics.
        What is raised, and what is left out, is tried again alone, and then is a failure of that query only.
        """
        ...
