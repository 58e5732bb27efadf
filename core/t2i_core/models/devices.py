"""The device that a model works on. torch is imported only where it must be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..api.errors import BadOption

if TYPE_CHECKING:
    import torch


def best_device(name: str | None) -> torch.device:
    """Return the device of this name; None: the best there is. Raises what `check` raises."""
    import torch

    if name is not None:
        check(name)
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def kind_of(name: str | None) -> str:
    """Return what kind of device this is, `cpu`, `cuda` or `mps`, be it here or not; None: the best there is."""
    return best_device(None).type if name is None else name.partition(":")[0]


def check(name: str | None) -> None:
    """Raise BadOption where a name is no device, or one that this machine has not.

    For a component's `check`, so that nobody learns it only when weights are loaded.
    """
    if name in (None, "cpu"):
        return
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or not (index.isdecimal() or name == kind):
        raise BadOption(f"device {name!r}: want cpu, cuda, cuda:1 or mps")
    import torch

    if kind == "mps" and not torch.backends.mps.is_available():
        raise BadOption(f"device {name!r}: this machine has none (Apple's GPUs alone, and a torch built for them)")
    if kind == "cuda" and int(index or 0) >= (count := torch.cuda.device_count()):
        raise BadOption(f"device {name!r}: this machine has {count or 'no'} CUDA device{'s' * (count > 1)}")
