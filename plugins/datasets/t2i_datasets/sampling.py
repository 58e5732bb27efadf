"""Seeded samples that depend only on the items, not on their order or on a library's random generator."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

ItemT = TypeVar("ItemT")


def rank(seed: int, key: str | int) -> bytes:
    """Return an item's sort key under a seed: the SHA-256 of both."""
    return hashlib.sha256(f"{seed}:{key}".encode()).digest()


def sample(items: Iterable[ItemT], count: int | None, seed: int, key: Callable[[ItemT], str | int]) -> list[ItemT]:
    """Return a sample of `count` items in their order, or all items if there are no more.

    With the same seed, a larger sample contains a smaller one. Memory holds only the returned items.
    """
    numbered = enumerate(items)
    if count is None:
        return [item for _, item in numbered]
    chosen = heapq.nsmallest(count, ((rank(seed, key(item)), n, item) for n, item in numbered), lambda c: c[:2])
    return [item for _, _, item in sorted(chosen, key=lambda c: c[1])]
