"""A pipeline's parts, under whatever names."""

from __future__ import annotations

from typing import Any

import pytest
from t2i_core.errors import BadModel


@pytest.mark.parametrize(
    ("pipeline", "denoiser", "autoencoder"),
    [
        ("StableDiffusionPipeline", "UNet2DConditionModel", "AutoencoderKL"),
        ("IFPipeline", "UNet2DConditionModel", "NoneType"),
        ("LDMTextToImagePipeline", "UNet2DConditionModel", "AutoencoderKL"),
        ("FluxPipeline", "FluxTransformer2DModel", "AutoencoderKL"),
        ("KandinskyPipeline", "UNet2DConditionModel", "VQModel"),
    ],
)
def test_parts_are_found(pipeline: str, denoiser: str, autoencoder: str, model: Any) -> None:
    from t2i_diffusers.parts import parts

    loaded = model(pipeline).loaded
    found = parts(loaded)
    assert found.pipe is loaded.main.pipe
    assert type(found.denoiser).__name__ == denoiser
    assert type(found.autoencoder).__name__ == autoencoder
    assert type(found.scheduler).__name__.endswith("Scheduler")


def test_a_chain_in_one_pipeline_has_none(model: Any) -> None:
    from t2i_diffusers.parts import parts

    with pytest.raises(BadModel, match="UnCLIPPipeline has not one denoiser"):
        parts(model("UnCLIPPipeline").loaded)
