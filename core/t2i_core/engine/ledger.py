"""Record of a process about the samples and queries of its run; it is not stored."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..api.failure import Failure
from .sample import PlannedSample

_KEY_BYTES = 32

Item = tuple[PlannedSample, ...]
"""The samples of one observation: a sample, or two models' samples of one prompt and seed."""


class QueryKeys:
    """The keys of the queries of one need, item after item, packed; each is computed once."""

    def __init__(self) -> None:
        self._keys = bytearray()
        self._images = array("q")
        self._ends = array("Q")

    def append(self, keys: Sequence[str], images: Sequence[int]) -> None:
        """Add the keys of the next item's queries; none where the item cannot be asked about.

        Args:
            keys: The keys.
            images: For each key a hash of the images that it was made from.
        """
        self._keys += bytes.fromhex("".join(keys))
        self._images.extend(images)
        self._ends.append(len(self._images))

    def of(self, index: int) -> list[str]:
        """Return the keys of an item's queries."""
        start, end = self._span(index)
        return [self._keys[at * _KEY_BYTES : (at + 1) * _KEY_BYTES].hex() for at in range(start, end)]

    def images_of(self, index: int) -> Sequence[int]:
        """Return for each of an item's keys the hash of the images that it was made from."""
        start, end = self._span(index)
        return self._images[start:end]

    def _span(self, index: int) -> tuple[int, int]:
        return (self._ends[index - 1] if index else 0), self._ends[index]


@dataclass
class Ledger:
    """Record of failed images and queries, of images to regenerate, and of the keys of all queries.

    Failures are not stored: the next run tries again.

    Attributes:
        images: Failures by the sample's key.
        observations: Failures by the query's key.
        healed: Digests of damaged images that are generated again, once.
        queries: The keys of queries, by the need (`id` of the served need) and the labels of the models.
    """

    images: dict[str, Failure] = field(default_factory=dict)
    observations: dict[str, Failure] = field(default_factory=dict)
    healed: set[str] = field(default_factory=set)
    queries: dict[tuple[int, tuple[str, ...]], QueryKeys] = field(default_factory=dict)
