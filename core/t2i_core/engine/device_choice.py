"""The device `auto`: all GPUs of this machine if an executor can use them, else the best device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..api.resolver import Resolver
from .executors import GROUP
from .gpus import count_usable_gpus, read_torch_build
from .request import AUTO, LOCAL, Request

ALL_GPUS = "ray"
"""The executor that uses several GPUs."""


def settle_device(request: Request, resolver: Resolver[Any]) -> tuple[Request, str | None]:
    """Return a request whose device and executor are settled, and a note on what `auto` means here.

    An executor that the user names stays.

    Args:
        request: The request.
        resolver: Knows which executors are installed.
    """
    if request.device != AUTO:
        return replace(request, executor=request.executor or LOCAL), None
    gpus = count_usable_gpus()
    if request.executor not in (None, LOCAL):
        return replace(request, device=None), f"device auto: what executor {request.executor} gives each worker"
    if gpus <= 1:
        note = "the GPU" if gpus else f"the best device, because {_explain_no_gpu()}"
    elif request.executor == LOCAL:
        note = f"the first of {gpus} GPUs, because of --executor local"
    elif any(each.name == ALL_GPUS for each in resolver.list_extensions(GROUP)):
        return replace(
            request, device=None, executor=ALL_GPUS
        ), f"device auto: {gpus} GPUs, by executor {ALL_GPUS}"
    else:
        note = f"the first of {gpus} GPUs; install t2i[{ALL_GPUS}] to use all"
    return replace(request, device=None, executor=LOCAL), f"device auto: {note}"


def _explain_no_gpu() -> str:
    """Return why torch can use no NVIDIA GPU."""
    build = read_torch_build()
    if build is None:
        return "torch is not installed"
    return (
        "no NVIDIA GPU is found"
        if build.startswith("cuda")
        else f"torch is built for {build}, not for NVIDIA GPUs"
    )
