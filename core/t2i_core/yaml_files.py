"""YAML of users: things by name, read so that what is wrong is said in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from .errors import T2IError
from .texts import read_text


def read_mapping(path: Path, error: type[T2IError], want: str) -> dict[Any, Any]:
    """Return what a file holds, by name; at least one thing.

    want: what it must hold, in words

    Raises `error`, in one line that names the file, where it cannot be read, is no YAML, or holds no such thing.
    """
    try:
        data = yaml.safe_load(read_text(path, error))
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # a date that is none is a ValueError
        raise error(f"{path}: not YAML ({' '.join(str(problem).split())})") from problem
    if not isinstance(data, dict) or not data:
        raise error(f"{path}: want {want}")
    return data


def first_fault(error: ValidationError) -> str:
    """Say what pydantic found first, and where, places in lists from 1: `categories.2: want a name`."""
    fault = error.errors()[0]
    field = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in fault["loc"])
    message = fault["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message
