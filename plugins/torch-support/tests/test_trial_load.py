"""Weights that do not fit are told before they are needed, and what fits is not loaded for that."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from t2i_torch_support.trial_load import try_load


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Weights of 4 MB."""
    torch.save(torch.nn.Linear(1000, 1000).state_dict(), tmp_path / "w.pth")
    return tmp_path / "w.pth"


class Loader:
    """Counts what it has loaded, by device, as plugins do."""

    def __init__(self, file: Path, outputs: int = 1000, reads_values: bool = False) -> None:
        self.file, self.outputs, self.reads_values = file, outputs, reads_values
        self.devices: list[str] = []

    def __call__(self) -> None:
        network = torch.nn.Linear(1000, self.outputs)
        self.devices.append(network.weight.device.type)
        network.load_state_dict(torch.load(self.file, map_location="cpu", weights_only=True))
        if self.reads_values:
            network.weight[0, 0].item()


def test_matching_weights_are_tried_without_memory_or_messages(file: Path) -> None:
    load = Loader(file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try_load(load)
    assert load.devices == ["meta"]
    assert torch.zeros(1).device.type == "cpu"
    assert torch.load(file, weights_only=True)["weight"].shape == (1000, 1000)


def test_mismatched_weights_raise_the_error_of_loading(file: Path) -> None:
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        try_load(Loader(file, outputs=3))


def test_models_that_cannot_be_tried_without_memory_are_loaded(file: Path) -> None:
    """A network that looks at values while it is built is none the worse for it."""
    load = Loader(file, reads_values=True)
    try_load(load)
    assert load.devices == ["meta", "cpu"]


def test_a_pickle_of_the_old_format_is_taken(file: Path) -> None:
    """Which cannot be mapped into memory."""
    torch.save(torch.load(file, weights_only=True), file, _use_new_zipfile_serialization=False)
    try_load(Loader(file))
