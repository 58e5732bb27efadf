"""The device that a name means."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from t2i_core.api.errors import BadOption
from t2i_torch_support.device import (
    check_device,
    get_device_type,
    read_peak_memory,
    reset_peak_memory,
    select_device,
)


@pytest.fixture
def machine(monkeypatch):
    """Say which GPUs there are."""

    def has(cuda: int = 0, mps: bool = False) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return has


def test_the_best_there_is(machine):
    for cuda, mps, best in ((2, False, "cuda"), (0, True, "mps"), (0, False, "cpu")):
        machine(cuda, mps)
        assert select_device(None) == torch.device(best)


def test_devices_that_are_here(machine):
    machine(cuda=2, mps=True)
    for name in ("cpu", "cuda", "cuda:1", "mps"):
        check_device(name)
        assert select_device(name) == torch.device(name)


@pytest.mark.parametrize("name", ["gpu", "meta", "xpu", "hpu", "cuda:", "cuda:x", "cuda:-1", ""])
def test_unknown_devices_are_refused(machine, name):
    machine(cuda=2, mps=True)
    for told in (select_device, check_device):
        with pytest.raises(BadOption, match=f"device '{name}': must be cpu, cuda, cuda:1 or mps"):
            told(name)


def test_devices_that_are_not_here(machine):
    machine()
    for name, said in (("mps", "this machine has none"), ("cuda", "has no CUDA device$")):
        for told in (select_device, check_device):
            with pytest.raises(BadOption, match=f"device '{name}': .*{said}"):
                told(name)
    machine(cuda=1)
    with pytest.raises(BadOption, match=r"'cuda:1': this machine has 1 CUDA device$"):
        select_device("cuda:1")


def test_the_kind_of_a_device_is_told_wherever_it_is(machine):
    machine()
    for name, kind in (("cuda:1", "cuda"), ("cuda", "cuda"), ("mps", "mps"), ("cpu", "cpu"), (None, "cpu")):
        assert get_device_type(name) == kind
    machine(mps=True)
    assert get_device_type(None) == "mps"


def test_no_torch_is_imported_where_no_gpu_is_named():
    program = "import sys; from t2i_torch_support.device import check_device, get_device_type; "
    program += "check_device(None); check_device('cpu'); get_device_type('cuda'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_peak_memory_is_that_of_gpus_alone() -> None:
    reset_peak_memory(torch.device("cpu"))
    assert read_peak_memory(torch.device("cpu")) is None
