"""Canonical JSON and its digests, which are keys of stored results."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_data(data: Any) -> str:
    """Return the SHA-256 (hex) of plain data, which is the same in every process."""
    return digest_text(encode_canonically(data))


def encode_canonically(data: Any) -> str:
    """Return plain data as canonical JSON (sorted keys, no spaces), the text that `digest_data` digests."""
    return _CANONICAL.encode(data)


def digest_text(text: str) -> str:
    """Return the SHA-256 (hex) of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
