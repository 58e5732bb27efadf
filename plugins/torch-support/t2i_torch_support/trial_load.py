"""A trial load: whether weights fit their network, found out without loading them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch


def try_load(load: Callable[[], object]) -> None:
    """Raise the errors of `load`, usually without its time and memory. For a component's `check`.

    On torch's meta device tensors have names and shapes but no values, and of a file only these are read: a
    ViT-L/14 of 1.7 GB takes less than a second. If the trial fails, the network is loaded for real, because the
    failure may be the meta device's fault.

    Args:
        load: Builds a network on torch's default device and loads weights into it, as for its real use.
    """
    try:
        with warnings.catch_warnings(), _map_pickles(), torch.device("meta"):
            # copying nothing is what is wanted here
            warnings.filterwarnings("ignore", "for .*: copying from a non-meta parameter")
            load()
    except Exception:  # of many kinds, a loader's own T2IErrors too
        load()


def _map_pickles() -> AbstractContextManager[object]:
    """Map pickles of weights into memory instead of reading them."""
    try:
        from torch.utils.serialization import config
    except ImportError:  # torch 2.6: they are read
        return nullcontext()
    # torch adds `patch` to this module while it is imported
    found: AbstractContextManager[object] = config.patch("load.mmap", True)  # type: ignore[attr-defined]
    return found
