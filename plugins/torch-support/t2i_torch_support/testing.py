"""Fixtures for tests that run small networks of torch: a `conftest.py` imports them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Run torch on one thread, unless `OMP_NUM_THREADS` sets the number.

    Small networks gain nothing from more threads, and lose much where other work runs beside them.
    """
    before = torch.get_num_threads()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
