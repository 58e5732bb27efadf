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
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BadOption(f"device {name!r}: want cpu, cuda, cuda:1 or mps") from error
    count = torch.cuda.device_count() if device.type == "cuda" else 1
    if device.type == "cuda" and (device.index or 0) >= count:
        raise BadOption(f"device {name!r}: this machine has {count or 'no'} CUDA device{'s' * (count > 1)}")
    return device
