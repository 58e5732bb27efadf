"""Small checkpoints of real architectures, saved by the libraries themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from t2i_torch_support.testing import one_thread  # noqa: F401  for all tests of this folder

Save = Callable[..., Path]


@pytest.fixture(scope="session")
def save_timm() -> Save:
    """Saves a small ViT of timm, 32 pixels, random weights, by timm's own function."""

    def save(folder: Path, num_classes: int, **config: Any) -> Path:
        import timm
        from timm.models import save_for_hf

        torch.manual_seed(0)
        model = timm.create_model(
            "vit_tiny_patch16_224",
            num_classes=num_classes,
            img_size=32,
            patch_size=8,
            embed_dim=24,
            depth=2,
            num_heads=2,
        )
        torch.nn.init.normal_(model.head.weight)  # as timm makes it, all logits are alike
        save_for_hf(model, str(folder), model_config=config, safe_serialization=True)
        return folder

    return save


@pytest.fixture(scope="session")
def tiny_timm(tmp_path_factory: pytest.TempPathFactory, save_timm: Save) -> Path:
    """A small ViT with ImageNet's 1000 classes."""
    return save_timm(tmp_path_factory.mktemp("timm") / "vit", num_classes=1000)
