"""Options of the classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from t2i_core.api import Options

Preprocessing = Literal["model", "paper", "reference"]
LabelList = Literal[
    "auto",
    "imagenet-1k",
    "imagenet-12k",
    "imagenet-21k-goog",
    "imagenet-21k-miil",
    "imagenet-22k",
    "imagenet-22k-ms",
]


class NetworkOptions(Options):
    """Options of every network."""

    dtype: Literal["float32", "float16", "bfloat16"] = Field("float32", description="Precision of the model.")
    checkpoint: Path | None = Field(
        None,
        description="File with other weights of this architecture: safetensors, or a pickle of weights alone.",
    )
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Expected SHA-256 of the weights file.")


class ClassifierOptions(NetworkOptions):
    """Options of every classifier."""

    preprocessing: Preprocessing = Field(
        "model",
        description="model: as in the evaluation of the published weights. paper: resize the whole image to the "
        "model's size, bilinear (text of the hypernymy paper). reference: resize the whole image to the model's "
        "size, bicubic, in 8 bits, then proceed as model (numbers of that paper).",
    )


class TimmNetworkOptions(NetworkOptions):
    """Options of every network of timm."""

    revision: str | None = Field(
        None, description="Commit, tag or branch of the model's repository. Default: the newest or local one."
    )


class TimmOptions(ClassifierOptions, TimmNetworkOptions):
    """Options of timm's classifiers."""

    labels: LabelList = Field(
        "auto",
        description="Classes, as one of timm's lists of ImageNet. auto: those that the checkpoint names, "
        "otherwise the list with the same number of classes.",
    )


class TimmFeatureOptions(TimmNetworkOptions):
    """Options of timm's networks without their classifier."""

    size: int | None = Field(
        None, ge=8, description="Height and width of the network's images in pixels. Default: the network's own."
    )
    preprocessing: Literal["model", "whole"] = Field(
        "model",
        description="model: as in the evaluation of the published weights. whole: resize the whole image to the "
        "network's size, bicubic, in 8 bits, without cropping.",
    )
