"""A run's manifest, run.json: how it is written and read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..api.errors import BadFolder
from ..files.regular_file import MANIFEST_BYTES, read_regular

MANIFEST = "run.json"


LOCK = ".lock"
"""The file that the process at work on a run holds locked."""


class DamagedManifest(BadFolder):
    """A run.json that is not JSON, or not a run's manifest."""


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return a run folder's manifest; None if the file is missing.

    Raises:
        DamagedManifest: If it is damaged.
        BadFolder: If it cannot be opened.
    """
    try:
        text = read_regular(folder / MANIFEST, MANIFEST_BYTES, folder).decode("utf-8")
        data = json.loads(text, parse_float=_parse_finite, parse_constant=_parse_finite)
        if not (isinstance(data, dict) and isinstance(data.get("plan"), str)):
            raise ValueError("not the manifest of a run")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFolder(f"{folder / MANIFEST}: cannot be opened ({error.strerror}); fix that") from error
    except (ValueError, RecursionError) as error:
        raise DamagedManifest(
            f"{folder / MANIFEST}: cannot be read ({error}); give the run's command again to rewrite it"
        ) from error
    return data


def encode_manifest(manifest: Mapping[str, Any]) -> bytes:
    """Return the content of run.json. Raises ValueError if a number is not finite."""
    text = json.dumps(manifest, allow_nan=False, indent=1, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _parse_finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number
