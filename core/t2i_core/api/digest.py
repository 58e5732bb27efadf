"""Canonical JSON and its digests, under which results are kept."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_data(data: Any) -> str:
    """SHA-256 (hex) of plain data, the same in every process: keys sorted, no spaces, UTF-8."""
    return digest_text(encode_canonically(data))


def encode_canonically(data: Any) -> str:
    """Plain data as the text whose digest `digest_of` gives."""
    return _CANONICAL.encode(data)


def digest_text(text: str) -> str:
    """SHA-256 (hex) of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
