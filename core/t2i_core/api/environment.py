"""Python environments for single components, whose requirements conflict with those of others.

An executor builds them (`ExecutorInfo.build_environment`) in a folder of the cache, `environments/KEY`, and writes
a record beside them, by which `t2i doctor` lists and `t2i cache clean` removes them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from ..files.atomic_write import write_whole

ENVIRONMENT = "environment"
"""The option of every generator and judge that gives it its own environment."""

ENVIRONMENTS = "environments"
"""Folder of environments in the cache."""

RECORD = "environment.json"
"""File with an environment's record, in its folder."""


@dataclass(frozen=True)
class EnvironmentRequest:
    """The request for an environment.

    Attributes:
        whose: The component that needs it, for messages (`judge 'clip'`).
        requirements: The requirements that the user gave: one text separated by commas, or a list of texts.
        own: The installed distribution that offers the component; None if the requirements must name it.
        cache: The cache folder.
        offline: True if nothing may be downloaded.
        note: Called with a message before an environment is built, which may take minutes.
    """

    whose: str
    requirements: str | Sequence[str]
    own: str | None
    cache: Path
    offline: bool = False
    note: Callable[[str], None] = lambda message: None


@dataclass(frozen=True)
class Environment:
    """An environment that is built.

    Attributes:
        python: Its interpreter.
        requirements: Its requirements, in a normal form and order.
        versions: The installed version of each distribution that the requirements name.
    """

    python: Path
    requirements: tuple[str, ...]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class EnvironmentRecord:
    """The record of an environment on the disk.

    Attributes:
        requirements: Its requirements.
        versions: The installed version of each distribution that they name, of Python and of the executor's parts.
        bytes: Size of its files.
        used: Time of its last use, in seconds since 1970.
    """

    requirements: tuple[str, ...]
    versions: Mapping[str, str]
    bytes: int
    used: float

    def write(self, folder: Path) -> None:
        """Write the record into the environment's folder."""
        write_whole(folder / RECORD, json.dumps(asdict(self), indent=1).encode())

    def mark_used(self, folder: Path) -> EnvironmentRecord:
        """Write the record with the present time as its last use; return it."""
        used = replace(self, used=time.time())
        used.write(folder)
        return used


def read_environment(folder: Path) -> EnvironmentRecord | None:
    """Return the record of an environment's folder; None if it has no valid one."""
    try:
        data: Any = json.loads((folder / RECORD).read_bytes())
        return EnvironmentRecord(
            tuple(str(text) for text in data["requirements"]),
            {str(name): str(version) for name, version in data["versions"].items()},
            int(data["bytes"]),
            float(data["used"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def lock_environments(folder: Path, timeout: float = -1) -> FileLock:
    """Return the lock under which environments are built and removed.

    Args:
        folder: The folder of environments.
        timeout: Seconds to wait for it; -1 for ever.
    """
    return FileLock(folder / ".lock", timeout=timeout)
