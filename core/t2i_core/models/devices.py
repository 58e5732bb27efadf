"""The device that a model works on."""

from __future__ import annotations

import torch

from t2i_core.errors import BadOption


def best_device(name: str | None) -> torch.device:
    """Return the device of this name; None: the best there is. Raises BadOption where it is no such device."""
    if name is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or not (index.isdecimal() or name == kind):
        raise BadOption(f"device {name!r}: want cpu, cuda, cuda:1 or mps")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise BadOption(f"device {name!r}: this machine has none (Apple's GPUs alone, and a torch built for them)")
    if kind == "cuda" and int(index or 0) >= (count := torch.cuda.device_count()):
        raise BadOption(f"device {name!r}: this machine has {count or 'no'} CUDA device{'s' * (count > 1)}")
    return torch.device(name)
