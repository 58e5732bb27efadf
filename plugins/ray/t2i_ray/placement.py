"""The number of workers that a cluster has room for, and their share of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from t2i_core.api.errors import BadOption


class Machine(NamedTuple):
    """A machine of the cluster, with its CPUs and GPUs as Ray counts them."""

    cpus: float
    gpus: float


@dataclass(frozen=True)
class Placement:
    """The workers of one component.

    Attributes:
        workers: Their number.
        cpus: CPUs that Ray reserves for each.
        gpus: GPUs that Ray reserves for each.
        threads: Number of threads that the libraries of each may use.
        room: Number of workers that the cluster has room for now.
    """

    workers: int
    cpus: float
    gpus: float
    threads: int
    room: int


_CPUS = (1, 0.5, 0.25, 0.1, 0.05, 0.01)
"""CPUs of a worker: one, or less where more workers are asked for than there are CPUs."""

_MANY = 1_000_000
"""Number of workers that there is room for if they reserve nothing."""


def place_workers(
    machines: Sequence[Machine], workers: int | None, gpus_per_worker: float | None, device: str | None
) -> Placement:
    """Choose the number of workers and what Ray reserves for each.

    Args:
        machines: The machines of the cluster.
        workers: Number of workers that the user asked for. If None, one per GPU, or else one per two CPUs.
        gpus_per_worker: GPUs of a worker. If None, one if the cluster has GPUs, else none.
        device: The device that the user asked for.

    Raises:
        BadOption: If the cluster has no room for a single worker, the device is a certain GPU or one that workers
            do not get, or the number of GPUs is above 1 and not whole, which Ray cannot reserve.
    """
    if gpus_per_worker is not None and gpus_per_worker > 1 and gpus_per_worker % 1:
        raise BadOption(f"--gpus-per-worker must be a whole number or less than 1 (got {gpus_per_worker:g})")
    if device is not None and device.startswith("cuda:"):
        raise BadOption(f"--device {device} names one GPU, and workers have theirs from Ray; write --device cuda")
    gpus = gpus_per_worker
    if gpus is None:
        gpus = 1 if device != "cpu" and any(machine.gpus >= 1 for machine in machines) else 0
    if gpus == 0 and device == "cuda":
        raise BadOption("--device cuda needs GPUs, and the workers have none; write --device cpu")
    cpus = sum(machine.cpus for machine in machines)
    room = sum(_count(machine.gpus, gpus) for machine in machines) if gpus else None
    if room == 0:
        most = max((machine.gpus for machine in machines), default=0)
        raise BadOption(
            f"no machine of the cluster has {gpus:g} GPUs for a worker (the most is {most:g}); "
            "lower --gpus-per-worker, or use --device cpu"
        )
    count = workers or room or max(1, int(cpus // 2))
    reserved = next((each for each in _CPUS if has_room(machines, count, each, gpus)), 0)
    threads = max(1, int(min(cpus / count, max((machine.cpus for machine in machines), default=1))))
    return Placement(count, reserved, gpus, threads, count if room is None else room)


def has_room(machines: Sequence[Machine], workers: int, cpus: float, gpus: float) -> bool:
    """Return whether the machines have room for the workers, or for as many as their GPUs allow."""
    with_gpus = [min(workers, _count(machine.gpus, gpus)) for machine in machines]
    room = sum(min(most, _count(machine.cpus, cpus)) for machine, most in zip(machines, with_gpus, strict=True))
    return room >= max(1, min(workers, sum(with_gpus)))


def _count(there: float, each: float) -> int:
    return floor(there / each + 1e-6) if each else _MANY
