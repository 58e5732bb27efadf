"""Creation of actors: the one place that says how Ray starts a worker."""

from __future__ import annotations

from typing import Any

import ray

from .placement import Placement
from .worker import Worker

CALLS = 3
"""Calls that a worker takes at a time: two blocks, so that it never waits for the next one, and another call."""


def create_actor(placement: Placement, python: str | None = None) -> Any:
    """Start a worker; return its handle at once.

    Args:
        placement: What Ray reserves for it.
        python: The Python executable that it runs in. If None, the cluster's own.
    """
    return (
        ray.remote(Worker)
        .options(
            num_cpus=placement.cpus,
            num_gpus=placement.gpus,
            max_restarts=0,  # the driver starts another one, because it knows what to ask again
            max_task_retries=0,
            max_concurrency=CALLS,
            scheduling_strategy="SPREAD",
            runtime_env={"py_executable": python} if python else None,
        )
        .remote()
    )
