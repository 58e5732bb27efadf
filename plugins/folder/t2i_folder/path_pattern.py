"""Images whose paths contain their prompts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from t2i_core.api.prompt import Prompt
from t2i_core.io.prompt_record import make_id

from .entries import FolderEntry
from .options import PLACES


def entries(folder: Path, pattern: str, suffixes: tuple[str, ...]) -> Iterator[FolderEntry]:
    """Yield the images below a folder whose paths match the pattern, sorted by path."""
    parts = re.split(r"(\{\w+\}|\*)", pattern)
    expression = re.compile("".join(PLACES.get(part, re.escape(part)) for part in parts))
    for name in sorted(_names(str(folder), suffixes)):
        if match := expression.fullmatch(name):
            found = match.groupdict()
            text, seed = found.get("text"), found.get("seed")
            prompt = Prompt(found.get("id") or make_id(text), text) if text else None
            file = folder / name
            yield FolderEntry(str(file), file, int(seed) if seed else None, found.get("id"), prompt)


def _names(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the images' paths relative to the folder, with slashes."""
    for place, _, files in os.walk(folder):
        within = os.path.relpath(place, folder).replace(os.sep, "/")
        prefix = "" if within == "." else f"{within}/"
        yield from (prefix + name for name in files if name.lower().endswith(suffixes))
