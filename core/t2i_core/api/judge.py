"""The judge's contract: queries in, each out again with its observation or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from .failure import Failure
    from .image import Image
    from .observation import Observation

Capability = Literal[
    "detect", "segment", "classify", "embed", "features", "caption", "prefer", "reward", "likelihood", "pixels"
]
CAPABILITIES: tuple[Capability, ...] = (
    "detect",
    "segment",
    "classify",
    "embed",
    "features",
    "caption",
    "prefer",
    "reward",
    "likelihood",
)
"""What judges offer. `pixels` is not among them: core answers it itself."""


@dataclass(frozen=True)
class Query:
    """What one observation is about.

    | capability                               | images        | texts                 |
    |------------------------------------------|---------------|-----------------------|
    | detect, segment                          | 1             | none, or the classes to look for |
    | classify, features, caption, pixels      | 1             | none                  |
    | embed                                    | 1, or none    | none, or 1            |
    | reward                                   | 1             | the prompt            |
    | prefer                                   | 2, in the order shown | the prompt    |
    | likelihood                               | 1             | the candidate captions |

    params: plain data that the capability takes beyond images and texts (trials and steps of a likelihood, a
            number of a repeat, definitions shown to a judge of preferences); part of the answer's key
    """

    images: tuple[Image, ...] = ()
    texts: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """A model that looks at images. It may also have `close()`."""

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Observation | Failure]]:
        """Yield each query, the same object, with its observation of this capability or why there is none.

        Any order will do. The queries are taken lazily: take as many at a time as are worked on together. Keep
        what a scoring rule may still need (detections down to a low confidence): thresholds belong to metrics.
        What is raised, and what is left out, is tried again alone, and then is a failure of that query only.
        """
        ...
