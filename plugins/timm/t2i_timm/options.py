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


class ClassifierOptions(Options):
    """Options of every classifier."""

    preprocessing: Preprocessing = Field(
        "model",
        description="model: as in the evaluation of the published weights. paper: resize the whole image to the "
        "model's size, bilinear (text of the hypernymy paper). reference: resize the whole image to the model's "
        "size, bicubic, in 8 bits, then proceed as model (numbers of that paper).",
    )
    dtype: Literal["float32", "float16", "bfloat16"] = Field("float32", description="Precision of the model.")
    checkpoint: Path | None = Field(
        None,
        description="File with other weights of this architecture: safetensors, or a pickle of weights alone.",
    )
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Expected SHA-256 of the weights file.")


class TimmOptions(ClassifierOptions):
    """Options of timm's models."""

    labels: LabelList = Field(
        "auto",
        description="Classes, as one of timm's lists of ImageNet. auto: those that the checkpoint names, "
        "otherwise the list with the same number of classes.",
    )
    revision: str | None = Field(
        None, description="Commit, tag or branch of the model's repository. Default: the newest or local one."
    )
