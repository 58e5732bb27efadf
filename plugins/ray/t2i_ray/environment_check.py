"""A check that all machines of a cluster see an environment. Without it Ray starts no worker, and is silent."""

from __future__ import annotations

import os.path
import socket
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from t2i_core.api.errors import BadFolder

_SECONDS = 60.0
"""Time that a machine has to answer; a silent one is left to Ray."""


def check_environment(python: str, whose: str) -> None:
    """Check that the Python of an environment is on all machines of the cluster.

    Args:
        python: Its path.
        whose: The component that needs it, for messages.

    Raises:
        BadFolder: If it is not on a machine.
    """
    nodes: list[dict[str, Any]] = [each for each in ray.nodes() if each["Alive"]]  # type: ignore[no-untyped-call]
    hosts = {each["NodeID"]: str(each["NodeManagerHostname"]) for each in nodes}
    if list(hosts.values()) == [socket.gethostname()]:
        return
    look: Any = ray.remote(os.path.exists)
    asked = {
        look.options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(
            python
        ): host
        for node, host in hosts.items()
    }
    for answer in ray.wait(list(asked), num_returns=len(asked), timeout=_SECONDS)[0]:
        try:
            found = ray.get(answer)
        except RayError:  # the machine is gone meanwhile
            continue
        if not found:
            raise BadFolder(
                f"{whose}: its environment is not on the machine {asked[answer]} ({python}); set T2I_CACHE_DIR to "
                "a folder that all machines have at the same path, and have the same Python on all of them"
            )
