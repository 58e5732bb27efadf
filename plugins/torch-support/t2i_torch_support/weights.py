"""Checks of weights files for damage and digest, and explanations of load errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

from t2i_core.api.errors import BadModel
from t2i_core.api.text import describe_error, fit_one_line
from t2i_core.files.digest import digest_file

SAFE = ".safetensors"


def check_file(file: Path, sha256: str | None, spec: str) -> Path:
    """Return a file if it exists, is complete and has the expected digest.

    Args:
        file: A file on this machine; safetensors are checked for damage.
        sha256: Beginning of the file's SHA-256 (hex); None: any.
        spec: The component that the user named, with which the message begins.

    Raises:
        BadModel: If it is not.
    """
    if not file.is_file():
        raise BadModel(f"{spec}: file {file} does not exist")
    if file.suffix == SAFE and (problem := find_damage(file)):
        raise BadModel(f"{spec}: cannot be loaded from {file}: it {problem}")
    if sha256 and not (found := digest_file(file)).startswith(sha256):
        raise BadModel(f"{spec}: {file} is not the file that was asked for: its SHA-256 is {found}, not {sha256}")
    return file


def find_damage(file: Path) -> str | None:
    """Return what is wrong with a safetensors file, by its length and its header; None if nothing is.

    The format: 8 bytes with the header's length, the header as JSON with the offsets of all tensors, the tensors.
    """
    size = file.stat().st_size
    with file.open("rb") as open_file:
        header = int.from_bytes(open_file.read(8), "little")
        if size < 8 or header > size - 8:
            return f"is cut off, or not safetensors ({size} bytes)"
        try:
            tensors = json.loads(open_file.read(header))
            end = max((t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__"), default=0)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return "is not safetensors: its header cannot be read"
    whole = 8 + header + int(end)
    return None if whole == size else f"has {size} bytes and should have {whole}"


def explain_load_error(error: BaseException, what: str = "weights") -> str:
    """Return in one line why a file cannot be loaded, without torch's advice to load pickles unchecked.

    Args:
        error: What the loader raised.
        what: What the file's pickle may hold.
    """
    cause = error.__cause__ or error
    if wanted := re.search(r"GLOBAL ([\w.]+)", str(cause)):
        return f"its pickle contains {wanted[1]}, which does not belong in {what}"
    if found := re.search(r"WeightsUnpickler error:\s*(.+)", str(cause)):
        return fit_one_line(f"its pickle cannot be read with care: {found[1]}")
    return describe_error(cause)
