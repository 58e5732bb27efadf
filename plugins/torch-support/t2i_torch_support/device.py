"""The device that a model runs on. Imports torch only if necessary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2i_core.api.errors import BadOption

if TYPE_CHECKING:
    import torch


def select_device(name: str | None) -> torch.device:
    """Return the device of this name; for None, the best that this machine has.

    Raises:
        BadOption: As `check_device`.
    """
    import torch

    if name is not None:
        check_device(name)
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def get_device_type(name: str | None) -> str:
    """Return `cpu`, `cuda` or `mps` for a device name, whether or not the device exists; for None, of the best."""
    return select_device(None).type if name is None else name.partition(":")[0]


def check_device(name: str | None) -> None:
    """Check that this machine has a device.

    Call it in a component's `check`, so that users see the error before weights are loaded.

    Raises:
        BadOption: The name is not valid, or this machine has no such device.
    """
    if name in (None, "cpu"):
        return
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or not (index.isdecimal() or name == kind):
        raise BadOption(f"device {name!r}: must be cpu, cuda, cuda:1 or mps")
    import torch

    if kind == "mps" and not torch.backends.mps.is_available():
        raise BadOption(f"device {name!r}: this machine has none (Apple's GPUs alone, and a torch built for them)")
    if kind == "cuda" and int(index or 0) >= (count := torch.cuda.device_count()):
        raise BadOption(f"device {name!r}: this machine has {count or 'no'} CUDA device{'s' * (count > 1)}")


def reset_peak_memory(device: torch.device) -> None:
    """Begin to measure the largest memory that is allocated on a GPU; does nothing elsewhere."""
    import torch

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def read_peak_memory(device: torch.device) -> float | None:
    """Return the largest memory that this process has allocated on a GPU, in GB (10^9 bytes); None elsewhere."""
    import torch

    return torch.cuda.max_memory_allocated(device) / 1e9 if device.type == "cuda" else None
