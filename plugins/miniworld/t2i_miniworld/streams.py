"""Random streams that depend only on their keys.

Every draw of the mini world comes from a stream whose key names the decision: ``stream("layout", prompt, seed,
salt)``, ``stream("drop", prompt, seed, salt, slot)``. So the number of values that one decision uses never changes
another decision.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def digest(*key: str | int) -> int:
    """Return a 128-bit hash of a key, equal in every process and on every machine."""
    encoded = json.dumps(key, ensure_ascii=True, separators=(",", ":")).encode()
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=16).digest(), "big")


def stream(*key: str | int) -> np.random.Generator:
    """Return a new generator for ``key``, independent of those for other keys."""
    return np.random.Generator(np.random.PCG64(digest(*key)))
