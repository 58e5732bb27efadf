"""Canonical JSON and its digests, which are keys of stored results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
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


def drop_places(value: Any) -> Any:
    """Return plain data in which each path of a file or folder is its name alone, without the folders above it."""
    if isinstance(value, str):
        return _drop_folders(value)
    if isinstance(value, Mapping):
        return {key: drop_places(each) for key, each in value.items()}
    return [drop_places(each) for each in value] if isinstance(value, list | tuple) else value


def _drop_folders(text: str) -> str:
    try:
        path = Path(text).expanduser()
        return path.name if path.is_absolute() or (path.name != text and path.exists()) else text
    except (OSError, ValueError, RuntimeError):  # no name of a file
        return text
