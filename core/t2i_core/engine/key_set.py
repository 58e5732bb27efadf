"""A set of keys that takes little memory: runs of millions of samples hold one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

_KEY_BYTES = 32


class KeySet:
    """Keys (SHA-256) from which some are removed one after another; 33 bytes each, a third of what a `set` takes.

    Args:
        packed: The keys, one after another, 32 bytes each; some may occur several times. The set sorts them in
            place and keeps them.
    """

    def __init__(self, packed: bytearray) -> None:
        self._keys = np.frombuffer(packed, f"S{_KEY_BYTES}")
        self._keys.sort()
        self._is_there = np.ones(len(self._keys), np.bool_)
        self._is_there[1:] = self._keys[1:] != self._keys[:-1]
        self._count = int(self._is_there.sum())

    def __len__(self) -> int:
        return self._count

    def select(self, keys: Sequence[str]) -> list[str]:
        """Return those of some keys (hex) that are in the set, in their order."""
        if not keys or not self._count:
            return []
        wanted = np.array([bytes.fromhex(key) for key in keys], self._keys.dtype)
        places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        found = (self._keys[places] == wanted) & self._is_there[places]
        return [key for key, there in zip(keys, found, strict=True) if there]

    def discard(self, key: str) -> bool:
        """Remove a key (hex); return whether it was there."""
        wanted = bytes.fromhex(key).rstrip(b"\0")  # as numpy gives them; for one key, bisect is faster than numpy
        place = bisect_left(self._keys, wanted)
        if place == len(self._keys) or self._keys[place] != wanted or not self._is_there[place]:
            return False
        self._is_there[place] = False
        self._count -= 1
        return True
