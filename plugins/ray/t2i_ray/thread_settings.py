"""Settings of the threads and GPUs of workers, which libraries read from the environment when they are loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping

THREADS = ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
"""Numbers of threads, and of processes of joblib and loky."""

GPUS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""GPUs that a process may use. Ray sets them for workers that have some, and leaves them alone for the others."""

_SAME = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OPENBLAS_THREAD_TIMEOUT")


def make_environment(threads: int, gpus: float, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment variables of a worker.

    Args:
        threads: A worker's share of its machine's cores. It is the limit, and the driver's own number another.
        gpus: GPUs of a worker; one without sees none.
        environ: The driver's environment.
    """
    made = {name: environ[name] for name in _SAME if name in environ}
    if gpus == 0:
        made |= dict.fromkeys(GPUS, "")
    for name in THREADS:
        own = environ.get(name, "")
        made[name] = str(min(threads, int(own)) if own.isdigit() else threads)
    return made
