"""Placement of pipelines on devices, and offloading to main memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

ROOM = 2 * 2**30
"""Bytes of GPU memory to leave free for computation when weights are placed."""


def place(pipes: Sequence[Any], device: torch.device, offload: str) -> str:
    """Place pipelines on a device, and return the offloading: `none`, `model` or `sequential`."""
    if device.type == "cpu":
        offload = "none"  # the weights are in main memory already
    elif offload == "auto":
        offload = _as_much_as_it_takes(pipes, device)
    for pipe in pipes:
        if offload == "none":
            pipe.to(device, silence_dtype_warnings=True)  # it wrongly warns that float16 cannot run on a CPU
        elif offload == "model":
            pipe.enable_model_cpu_offload(device=device)
        else:
            pipe.enable_sequential_cpu_offload(device=device)
    return offload


def _as_much_as_it_takes(pipes: Sequence[Any], device: torch.device) -> str:
    if device.type != "cuda":
        return "none"  # mps shares main memory
    sizes = weights_bytes(pipes)
    free, _ = torch.cuda.mem_get_info(device)
    if sum(sizes) + ROOM <= free:
        return "none"
    return "model" if max(sizes) + ROOM <= free else "sequential"


def weights_bytes(pipes: Sequence[Any]) -> list[int]:
    """Return the bytes of each model in some pipelines; a shared model counts once."""
    modules = {id(m): m for pipe in pipes for m in pipe.components.values() if isinstance(m, torch.nn.Module)}
    return [
        sum(t.numel() * t.element_size() for t in (*module.parameters(), *module.buffers()))
        for module in modules.values()
    ]
