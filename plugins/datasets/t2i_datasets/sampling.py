"""Seeded samples that depend on what is sampled alone: not on its order, nor on any library's generator."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

ItemT = TypeVar("ItemT")


def rank(seed: int, key: str | int) -> bytes:
    """Where an item stands in the order that a seed gives: the SHA-256 of both."""
    return hashlib.sha256(f"{seed}:{key}".encode()).digest()


def sample(items: Iterable[ItemT], count: int | None, seed: int, key: Callable[[ItemT], str | int]) -> list[ItemT]:
    """Return `count` of the items in the order given, or all of them where there are no more.

    A larger sample of the same seed holds every smaller one. No more items are held than are returned.
    """
    numbered = enumerate(items)
    if count is None:
        return [item for _, item in numbered]
    chosen = heapq.nsmallest(count, ((rank(seed, key(item)), n, item) for n, item in numbered), lambda c: c[:2])
    return [item for _, _, item in sorted(chosen, key=lambda c: c[1])]
