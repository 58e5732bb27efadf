"""Sizes of files as people read them."""

from __future__ import annotations

from pydantic import ByteSize


def format_size(size: int) -> str:
    """Write a number of bytes for a reader: `1.2GB`."""
    return ByteSize(size).human_readable(decimal=True)
