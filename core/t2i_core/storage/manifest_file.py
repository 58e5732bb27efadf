"""A run's manifest, run.json: how it is written, sealed and read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..api.digest import digest_data
from ..api.errors import BadFolder
from ..files.regular_file import MANIFEST_BYTES, read_regular

if TYPE_CHECKING:
    pass


MANIFEST = "run.json"


LOCK = ".lock"
"""The file that the process at work on a run holds locked."""


class DamagedManifest(BadFolder):
    """A run.json that is not as it was written."""


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return a run folder's manifest; None where there is none.

    Raises DamagedManifest where it was damaged, and BadFolder where it cannot be opened.
    """
    try:
        text = read_regular(folder / MANIFEST, MANIFEST_BYTES, folder).decode("utf-8")
        data = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if not isinstance(data, dict):
            raise ValueError("want a JSON object")
        if data.pop(_SEAL, None) != digest_data(data):
            raise ValueError("altered since it was written")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFolder(f"{folder / MANIFEST}: cannot be opened ({error.strerror}); mend that") from error
    except (ValueError, RecursionError) as error:
        raise DamagedManifest(
            f"{folder / MANIFEST}: cannot be read ({error}); the run's own command, given again, writes it anew"
        ) from error
    return data


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


_SEAL = "seal"


def seal_manifest(manifest: Mapping[str, Any]) -> str:
    """A manifest as the text of run.json, with a digest of itself."""
    plain = json.loads(json.dumps(manifest, allow_nan=False))
    return json.dumps({**plain, _SEAL: digest_data(plain)}, indent=1, ensure_ascii=False)
