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

_COCO_IMAGE = re.compile(r"coco-image-([0-9]+)|([0-9]+)_mscoco_[0-9]+|COCO_\w+_([0-9]+)")


def entries(folder: Path, pattern: str, suffixes: tuple[str, ...]) -> Iterator[FolderEntry]:
    """Yield the images below a folder whose paths match the pattern, sorted by path."""
    parts = re.split(r"(\{\w+\}|\*)", pattern)
    expression = re.compile("".join(PLACES.get(part, re.escape(part)) for part in parts))
    for name in sorted(_names(str(folder), suffixes)):
        if match := expression.fullmatch(name):
            found = match.groupdict()
            text, seed, image = found.get("text"), found.get("seed"), found.get("image")
            prompt = Prompt(found.get("id") or make_id(text), text) if text else None
            file = folder / name
            number = int(image) if image else None
            yield FolderEntry(str(file), file, int(seed) if seed else None, found.get("id"), prompt, image=number)


def find_coco_image(prompt: Prompt) -> int | None:
    """Return the number of the COCO image that a prompt's caption is of; None if its cluster and id name none.

    The numbers are those of `coco-image-391895` (clusters of the prompt source coco), `391895_mscoco_0` (uids of
    DALL-Eval's lists) and `COCO_val2014_000000391895` (COCO's own file names).
    """
    found = _COCO_IMAGE.fullmatch(prompt.cluster_id)
    return int(next(filter(None, found.groups()))) if found else None


def _names(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the images' paths relative to the folder, with slashes."""
    for place, _, files in os.walk(folder):
        within = os.path.relpath(place, folder).replace(os.sep, "/")
        prefix = "" if within == "." else f"{within}/"
        yield from (prefix + name for name in files if name.lower().endswith(suffixes))
