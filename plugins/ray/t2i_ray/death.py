"""Why a worker died, in Ray's words."""

from __future__ import annotations

import re

from ray.exceptions import NodeDiedError, OutOfMemoryError, RayActorError, RayError, WorkerCrashedError
from t2i_core.api.text import fit_one_line

DEATHS = (RayActorError, OutOfMemoryError, NodeDiedError, WorkerCrashedError)
"""Errors of Ray that say that a worker is dead. Not all of them are RayActorErrors."""

_DETAIL = re.compile(r"Worker exit detail: (.*?)(?: Some common causes include:|$)", re.DOTALL)
_NODE = re.compile(r"\bnode (?:has |was |is )?(?:died|dead|terminated)", re.IGNORECASE)


def explain_death(error: RayError) -> str:
    """Return the reason of a worker's death in one line."""
    if isinstance(error, OutOfMemoryError):
        return "Ray killed it because its machine was low on memory"
    text = str(error)
    found = _DETAIL.search(text)
    lines = [line for line in (found[1] if found else text).splitlines() if not line.startswith("\t")]
    return fit_one_line(" ".join(lines).strip())


def is_death_of_node(error: RayError) -> bool:
    """Return whether a worker died with its machine."""
    if isinstance(error, NodeDiedError) or (isinstance(error, RayActorError) and error.preempted):
        return True
    return not isinstance(error, OutOfMemoryError) and _NODE.search(str(error)) is not None


def failed_to_start(error: RayError) -> bool:
    """Return whether a worker died because its process could not import this package."""
    return isinstance(error, RayActorError) and error.actor_init_failed
