"""`--device auto`: which device and executor it stands for."""

from __future__ import annotations

import pytest
from t2i_core.api.extension import Extension
from t2i_core.engine import device_choice, gpus
from t2i_core.engine.device_choice import settle_device
from t2i_core.engine.gpus import Gpu, select_visible
from t2i_core.engine.request import Request
from t2i_core.testing import StaticResolver

RAY = Extension("t2i.executors", "ray", "t2i-ray", "0", "t2i_ray.plugin:EXECUTOR")


class Installed(StaticResolver):
    def list_extensions(self, group):
        return (RAY,) if group == RAY.group else ()


@pytest.mark.parametrize(
    ("asked", "count", "resolver", "settled", "said"),
    [
        ({}, 4, Installed(), "local", None),
        ({"device": "auto"}, 4, Installed(), "ray", "4 GPUs, by executor ray"),
        ({"device": "auto"}, 4, StaticResolver(), "local", "the first of 4 GPUs; install t2i[ray]"),
        ({"device": "auto"}, 1, Installed(), "local", "the GPU"),
        ({"device": "auto"}, 0, Installed(), "local", "the best device"),
        ({"device": "auto", "executor": "local"}, 4, Installed(), "local", "because of --executor local"),
        ({"device": "auto", "executor": "ray"}, 0, Installed(), "ray", "executor ray"),
    ],
)
def test_auto_takes_all_gpus_by_ray_or_the_best_device(monkeypatch, asked, count, resolver, settled, said):
    monkeypatch.setattr(device_choice, "count_usable_gpus", lambda: count)
    request, note = settle_device(Request(**asked), resolver)
    assert (request.device, request.executor) == (None, settled)
    assert note is None if said is None else said in note


@pytest.mark.parametrize(
    ("build", "why"),
    [
        ("cuda 12.8", "no NVIDIA GPU is found"),
        ("rocm 6.4", "torch is built for rocm 6.4, not for NVIDIA GPUs"),
        ("cpu", "torch is built for cpu, not for NVIDIA GPUs"),
        (None, "torch is not installed"),
    ],
)
def test_auto_says_why_it_takes_no_gpu(monkeypatch, build, why):
    monkeypatch.setattr(device_choice, "count_usable_gpus", lambda: 0)
    monkeypatch.setattr(device_choice, "read_torch_build", lambda: build)
    _, note = settle_device(Request(device="auto"), StaticResolver())
    assert note == f"device auto: the best device, because {why}"


def test_a_named_device_stays():
    request, note = settle_device(Request(device="cuda:1"), StaticResolver())
    assert (request.device, request.executor, note) == ("cuda:1", "local", None)


@pytest.mark.parametrize(
    ("visible", "left"),
    [
        (None, "0123"),
        ("", ""),
        ("2,0", "20"),
        (" 1 , 3", "13"),
        ("0,-1,1", "0"),  # CUDA reads no further than an entry that names no GPU
        ("0,9,1", "0"),
        ("GPU-c,GPU-a", "20"),
        ("GPU-", ""),  # ambiguous
        ("MIG-1", ""),
    ],
)
def test_visible_gpus_are_those_that_cuda_gives(visible, left):
    four = [Gpu(str(n), f"GPU-{'abcd'[n]}", "H100", "81559", "81000", "570") for n in range(4)]
    assert "".join(gpu.index for gpu in select_visible(four, visible)) == left


@pytest.mark.parametrize(("build", "count"), [("cuda 12.8", 2), ("cpu", 0), (None, 0)])
def test_gpus_count_if_torch_is_built_for_them(monkeypatch, build, count):
    two = [Gpu(str(n), f"GPU-{n}", "H100", "81559", "81000", "570") for n in range(2)]
    monkeypatch.setattr(gpus, "read_torch_build", lambda: build)
    monkeypatch.setattr(gpus, "list_gpus", lambda: (two, ""))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus.count_usable_gpus() == count
