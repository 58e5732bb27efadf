"""Random streams that depend on what they are for and on nothing else.

Every draw of the mini world comes from a stream named by what it decides: ``stream("layout", prompt,
seed, salt)``, ``stream("drop", prompt, seed, salt, slot)``. A fault that uses more or fewer numbers
than another therefore never shifts anybody else's.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def digest(*key: str | int) -> int:
    """Hash a key to 128 bits: equal keys give equal numbers in every process and on every machine."""
    encoded = json.dumps(key, ensure_ascii=True, separators=(",", ":")).encode()
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=16).digest(), "big")


def stream(*key: str | int) -> np.random.Generator:
    """Return a fresh generator for ``key``: independent of every other key's."""
    return np.random.Generator(np.random.PCG64(digest(*key)))
