"""The device that a name means."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from t2i_core.api.errors import BadOption
from t2i_core.models.devices import best_device, check, kind_of


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
        assert best_device(None) == torch.device(best)


def test_devices_that_are_here(machine):
    machine(cuda=2, mps=True)
    for name in ("cpu", "cuda", "cuda:1", "mps"):
        check(name)
        assert best_device(name) == torch.device(name)


@pytest.mark.parametrize("name", ["gpu", "meta", "xpu", "hpu", "cuda:", "cuda:x", "cuda:-1", ""])
def test_what_is_no_device_of_ours(machine, name):
    machine(cuda=2, mps=True)
    for told in (best_device, check):
        with pytest.raises(BadOption, match=f"device '{name}': want cpu, cuda, cuda:1 or mps"):
            told(name)


def test_devices_that_are_not_here(machine):
    machine()
    for name, said in (("mps", "this machine has none"), ("cuda", "has no CUDA device$")):
        for told in (best_device, check):
            with pytest.raises(BadOption, match=f"device '{name}': .*{said}"):
                told(name)
    machine(cuda=1)
    with pytest.raises(BadOption, match=r"'cuda:1': this machine has 1 CUDA device$"):
        best_device("cuda:1")


def test_the_kind_of_a_device_is_told_wherever_it_is(machine):
    machine()
    for name, kind in (("cuda:1", "cuda"), ("cuda", "cuda"), ("mps", "mps"), ("cpu", "cpu"), (None, "cpu")):
        assert kind_of(name) == kind
    machine(mps=True)
    assert kind_of(None) == "mps"


def test_no_torch_is_imported_where_no_gpu_is_named():
    program = "import sys; from t2i_core.models.devices import check, kind_of; check(None); check('cpu'); "
    program += "kind_of('cuda'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
