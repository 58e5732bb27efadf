"""Files of weights: whether one is whole, told from its bytes, and why one cannot be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..api.text import describe_error, fit_one_line

SAFE = ".safetensors"


def damage(file: Path) -> str | None:
    """Say what is wrong with a file of safetensors, by its length and its header: 8 bytes that say the header's
    length, the header as JSON, and the tensors one after the other, whose places it says."""
    size = file.stat().st_size
    with file.open("rb") as open_file:
        header = int.from_bytes(open_file.read(8), "little")
        if size < 8 or header > size - 8:
            return f"is cut off, or no safetensors ({size} bytes)"
        try:
            tensors = json.loads(open_file.read(header))
            end = max((t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__"), default=0)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return "is no safetensors: its header cannot be read"
    whole = 8 + header + int(end)
    return None if whole == size else f"has {size} bytes and should have {whole}"


def unreadable(error: BaseException, what: str = "weights") -> str:
    """Say in one line why a file cannot be read, without torch's advice to read pickles without care.

    what: all that its pickle may hold
    """
    cause = error.__cause__ or error
    if wanted := re.search(r"GLOBAL ([\w.]+)", str(cause)):
        return f"its pickle wants {wanted[1]}, which is no part of {what}"
    if found := re.search(r"WeightsUnpickler error:\s*(.+)", str(cause)):
        return fit_one_line(f"its pickle cannot be read with care: {found[1]}")
    return describe_error(cause)
