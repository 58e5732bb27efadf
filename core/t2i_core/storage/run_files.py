"""Names of the files that a run writes into its folder. Files of other names there are the user's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import NamedTuple

from ..files.atomic_write import parse_unfinished_name
from ..files.real_folder import RealFolder
from .manifest_file import LOCK, MANIFEST

MARK = ".plan"
"""Says whose folder this is where run.json cannot."""

SPENT = ".spent"
"""Spending of paid components in the commands without --shard. Each shard has its own file, `.spent-I-of-N`."""

PROGRESS = ".progress"
"""Progress of a run under way. A run that ends without an error removes it."""

IMAGES = "images"
"""The folder of the links to the images."""

EXPORTS = ".exports"
"""Lists the files that sinks wrote."""

EVIDENCE = "evidence.jsonl"
"""Evidence for the values of the worst samples."""

PROMPTS = "prompts.jsonl"
"""The prompts, in the form of a file of prompts."""

_MODEL = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
"""A model's name in paths, as `slug` writes it."""

_SHARD = "(-[0-9]+-of-[0-9]+)?"

_MODEL_FOLDER = re.compile(_MODEL)
_IMAGE_FOLDER_FILE = re.compile(r"metadata\.jsonl|[0-9]{5,}-[0-9]+\.png")
_RUN_FILE = re.compile(
    rf"{re.escape(MANIFEST)}|{re.escape(MARK)}|(samples|measurements|failures)\.csv|{re.escape(EVIDENCE)}"
    rf"|{re.escape(PROMPTS)}"
    rf"|{re.escape(EXPORTS)}|{re.escape(PROGRESS)}|{re.escape(SPENT)}{_SHARD}"
)
_LOCK = re.compile(rf"{re.escape(LOCK)}{_SHARD}")
_LEDGER = re.compile(rf"{re.escape(SPENT)}{_SHARD}")


class OwnFile(NamedTuple):
    """A regular file that a run wrote.

    Attributes:
        folder: The open folder that the file lies in.
        name: The file's name in that folder; for an unfinished file, the name with which it was written.
        finished_name: The name that the file has, or would have, when it is complete.
        stat: What the system says about the file.
    """

    folder: RealFolder
    name: str
    finished_name: str
    stat: os.stat_result

    @property
    def is_finished(self) -> bool:
        """True if the file is complete and not left by a killed process."""
        return self.name == self.finished_name


def make_run_image_name(place: str, prompt_number: int, seed: int) -> str:
    """Return the path of an image within the run's folder."""
    return f"images/{place}/{prompt_number:05d}-{seed}.png"


def is_own_path(path: PurePosixPath) -> bool:
    """Return whether a path within a run's folder is kept for the run: its tables, run.json, locks and images.

    Upper and lower case count as the same, because some file systems do not tell them apart.
    """
    first = path.parts[0].casefold()
    first = parse_unfinished_name(first) or first
    return first == "images" or any(pattern.fullmatch(first) for pattern in (_RUN_FILE, _LOCK))


def list_own_files(run: RealFolder, exports: Iterable[PurePosixPath]) -> Iterator[OwnFile]:
    """Yield the files that a run and its sinks wrote into its folder, finished or not, except for the locks.

    Args:
        run: The folder.
        exports: The paths of the sinks' files within it.
    """
    for model in list_model_folders(run):
        with run.folder(f"images/{model}") as folder:
            yield from _named(folder, _IMAGE_FOLDER_FILE)
    for path in exports:
        with _open_parent(run, path) as folder:
            yield from _named(folder, re.compile(re.escape(path.name)))
    yield from _named(run, _RUN_FILE)


def list_model_folders(run: RealFolder) -> list[str]:
    """Return the names in a run's folder of images that may be a model's."""
    with run.folder("images") as images:
        return [name for name in images.names() if _MODEL_FOLDER.fullmatch(name)]


def list_lock_names(run: RealFolder) -> list[str]:
    """Return the names of the locks in a run's folder: the run's own, and one for each shard."""
    return [name for name in run.names() if _LOCK.fullmatch(name)]


def is_ledger(name: str) -> bool:
    """Return whether a file of a run's folder says what paid components spent."""
    return _LEDGER.fullmatch(name) is not None


@contextmanager
def _open_parent(run: RealFolder, path: PurePosixPath) -> Iterator[RealFolder]:
    if len(path.parts) == 1:
        yield run
        return
    with run.folder(str(path.parent)) as folder:
        yield folder


def _named(folder: RealFolder, pattern: re.Pattern[str]) -> Iterator[OwnFile]:
    for name in folder.names():
        finished_name = parse_unfinished_name(name) or name
        if pattern.fullmatch(finished_name) and (stat := folder.file(name)) is not None:
            yield OwnFile(folder, name, finished_name, stat)
