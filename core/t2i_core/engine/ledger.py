"""What a process learns about the samples and queries of its own run; nothing of it is stored."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..api.failure import Failure
from .sample import PlannedSample

_KEY_BYTES = 32

Item = tuple[PlannedSample, ...]
"""What one observation is asked about: a sample, or those of two models on one prompt and seed."""


class QueryKeys:
    """The keys of the queries of one need, item after item, packed: they are computed once."""

    def __init__(self) -> None:
        self._keys = bytearray()
        self._ends = array("Q")

    def append(self, keys: Sequence[str]) -> None:
        """Add the keys of the next item's queries; none where the item cannot be asked about."""
        self._keys += bytes.fromhex("".join(keys))
        self._ends.append(len(self._keys))

    def of(self, index: int) -> list[str]:
        """Return the keys of an item's queries."""
        start, end = self._ends[index - 1] if index else 0, self._ends[index]
        return [self._keys[at : at + _KEY_BYTES].hex() for at in range(start, end, _KEY_BYTES)]


@dataclass
class Ledger:
    """Record failed images and queries, images that were regenerated, and the keys of all queries.

    Failures are not kept: the next run tries again.

    Attributes:
        images: Why there is no image, by the sample's key.
        observations: Why there is no answer, by the query's key.
        healed: Digests of images that were damaged and are made again, once.
        queries: The keys of queries, by the need (`id` of the served need) and the labels of the models.
    """

    images: dict[str, Failure] = field(default_factory=dict)
    observations: dict[str, Failure] = field(default_factory=dict)
    healed: set[str] = field(default_factory=set)
    queries: dict[tuple[int, tuple[str, ...]], QueryKeys] = field(default_factory=dict)
