"""A load that is tried out before it is needed: whether weights fit their network is told without loading them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch


def try_out(load: Callable[[], object]) -> None:
    """Raise what `load` would raise, mostly without its time and memory. For a component's `check`.

    load: builds a network by torch's default device and puts weights into it, as it is done when it is needed

    On torch's meta device tensors have names, shapes and no values, and of a file only what says these is read: a
    ViT-L/14 of 1.7 GB takes less than a second. A network that cannot be built so is loaded once for real; so is
    one whose trial fails, for that may be the trial's own fault: what is refused here is what could not be loaded.
    """
    try:
        with warnings.catch_warnings(), _unread(), torch.device("meta"):
            # which is what is wanted
            warnings.filterwarnings("ignore", "for .*: copying from a non-meta parameter")
            load()
    except Exception:  # of many kinds, a loader's own T2IErrors too
        load()


def _unread() -> AbstractContextManager[object]:
    """Have pickles of weights mapped into memory instead of read."""
    try:
        from torch.utils.serialization import config
    except ImportError:  # torch 2.6: they are read
        return nullcontext()
    # torch adds `patch` to this module while it is imported
    found: AbstractContextManager[object] = config.patch("load.mmap", True)  # type: ignore[attr-defined]
    return found
