"""Clusters of several machines that are all this one."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NODE: dict[str, Any] = {
    "num_cpus": 4,
    "num_gpus": 0,
    "object_store_memory": 100 << 20,
    "include_log_monitor": False,  # a run does not show what workers print
}
"""Arguments of a machine that a cluster gets."""


@contextmanager
def start_cluster(count: int) -> Iterator[Any]:
    """Start a cluster, connect to it as a run would, and end it afterwards.

    Its attribute `client_address` is the address for Ray's client.
    """
    # the cluster's own processes read them, too; under `uv run` they would copy this folder to every worker
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    # no worker of Ray before one is asked for: there would be one for each processor of each machine
    os.environ |= {"RAY_enable_worker_prestart": "0", "RAY_prestart_worker_first_driver": "0"}
    import ray
    from ray.cluster_utils import Cluster
    from t2i_ray.cluster import connect

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    head = {**NODE, "include_dashboard": False, "ray_client_server_port": port}
    started = Cluster(initialize_head=True, head_node_args=head)
    started.client_address = f"ray://127.0.0.1:{port}"
    try:
        for _ in range(count - 1):
            started.add_node(**NODE)
        with connect(started.address):
            yield started
    finally:
        ray.shutdown()
        started.shutdown()
