"""Small checkpoints, built once per run, and images of several sizes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api.image import Image
from t2i_torch_support.testing import one_thread  # noqa: F401  for all tests of this folder


@pytest.fixture(scope="session")
def tiny() -> Any:
    """The module `tiny.py` beside this file."""
    return load_module("tiny")


@pytest.fixture(scope="session")
def original_detr() -> Any:
    """The module `original_detr.py` beside this file."""
    return load_module("original_detr")


@pytest.fixture(scope="session")
def answer_checkpoints() -> Any:
    """The module `answer_checkpoints.py` beside this file."""
    return load_module("answer_checkpoints")


def load_module(stem: str) -> Any:
    """Load a module beside this file, which pytest does not put on the path."""
    name = f"t2i_transformers_{stem}"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{stem}.py"))
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the checkpoints lie."""
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="session")
def tiny_detr(tiny: Any, checkpoints: Path) -> Path:
    """A DETR with random weights."""
    return tiny.save_detr(checkpoints / "detr")


@pytest.fixture(scope="session")
def coloured_detr(tiny: Any, checkpoints: Path) -> Path:
    """A DETR with a head of colours, both with random weights."""
    return tiny.save_coloured(checkpoints / "coloured-detr", "detr")


@pytest.fixture(scope="session")
def coloured_rt_detr(tiny: Any, checkpoints: Path) -> Path:
    """An RT-DETR with a head of colours, both with random weights; every image becomes a square."""
    return tiny.save_coloured(checkpoints / "coloured-rt-detr", "RTDetr")


@pytest.fixture(scope="session")
def tiny_mask2former(tiny: Any, checkpoints: Path) -> Path:
    """A Mask2Former with random weights; as of the published ones, every image becomes a square."""
    return tiny.save_mask2former(checkpoints / "mask2former", {"height": 64, "width": 64})


@pytest.fixture(scope="session")
def tiny_blip(tiny: Any, checkpoints: Path) -> Path:
    """A BLIP with random weights."""
    return tiny.save_blip(checkpoints / "blip")


@pytest.fixture(scope="session")
def tiny_clip(tiny: Any, checkpoints: Path) -> Path:
    """A CLIP with random weights."""
    return tiny.save_clip(checkpoints / "clip")


@pytest.fixture(scope="session")
def tiny_siglip(tiny: Any, checkpoints: Path) -> Path:
    """A SigLIP with random weights."""
    return tiny.save_siglip(checkpoints / "siglip")


@pytest.fixture(scope="session")
def tiny_qwen(tiny: Any, checkpoints: Path) -> Path:
    """A Qwen2.5-VL with random weights."""
    return tiny.save_qwen(checkpoints / "qwen")


@pytest.fixture(scope="session")
def telling_qwen(tiny: Any, checkpoints: Path) -> Path:
    """A Qwen2.5-VL that says the same of any two images, whatever they show."""
    return tiny.save_qwen(checkpoints / "telling", tiny.SAYS)


@pytest.fixture
def images(tiny: Any, tmp_path: Path) -> list[Image]:
    """Five images of three sizes."""
    return tiny.sizes(tmp_path)


@pytest.fixture(scope="session")
def tiny_vit(tiny: Any, checkpoints: Path) -> Path:
    """A ViT that classifies into three classes, with random weights."""
    return tiny.save_vit(checkpoints / "vit")
