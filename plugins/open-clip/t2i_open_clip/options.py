"""Options of the embedders."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class WeightsOptions(Options):
    """Options of every judge: precision, and the file of the CLIP's weights."""

    dtype: Literal["float32", "float16", "bfloat16"] = Field("float32", description="Precision of the model.")
    revision: str | None = Field(
        None, description="Commit, tag or branch of the weights' repository. Default: the newest or local one."
    )
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Expected SHA-256 of the weights file.")


class ClipOptions(WeightsOptions):
    """Options of every CLIP that embeds."""

    quick_gelu: bool | None = Field(
        None,
        description="Whether to use QuickGELU activations, as in OpenAI's training. Default: according to the "
        "model or its published weights; a weights file does not record it.",
    )


class Hpsv2Options(WeightsOptions):
    """Options of Human Preference Score v2."""

    version: Literal["2.0", "2.1"] = Field("2.0", description="Version of the published weights.")
    antialias: bool = Field(
        True, description="Whether images are resized with antialiasing; torchvision before 0.17 did not."
    )


class AestheticOptions(WeightsOptions):
    """Options of LAION's aesthetic predictors."""

    version: Literal["v1", "v2"] = Field(
        "v2", description="Version of the head: v2 is improved-aesthetic-predictor, v1 the first, linear one."
    )
    clip: str = Field(
        "ViT-L-14-quickgelu/openai",
        description="CLIP whose embeddings the head reads, as an argument of open-clip; the published heads need "
        "the default.",
    )
    head_sha256: str | None = Field(
        None,
        pattern="^[0-9a-f]{64}$",
        description="Expected SHA-256 of the head's file. Default: the published one of v2; of v1 none is known, "
        "so the file must stay the one that was first seen on this machine.",
    )
