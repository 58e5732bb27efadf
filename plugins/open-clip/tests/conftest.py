"""A small CLIP of open_clip's own classes, saved by its own functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from t2i_torch_support.testing import one_thread  # noqa: F401  for all tests of this folder

CONFIG: dict[str, Any] = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
PREPROCESSING = {
    "mean": (0.5, 0.4, 0.3),
    "std": (0.2, 0.3, 0.4),
    "interpolation": "bilinear",
    "resize_mode": "squash",
}


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with config and weights."""
    import open_clip
    from open_clip.push_to_hf_hub import save_config_for_hf
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("open-clip") / "tiny"
    folder.mkdir()
    torch.manual_seed(0)
    model = open_clip.CLIP(**CONFIG)
    open_clip.set_model_preprocess_cfg(model, {"size": 32, "mode": "RGB", **PREPROCESSING})
    save_config_for_hf(model, folder / "open_clip_config.json", CONFIG)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return folder
