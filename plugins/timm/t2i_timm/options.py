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
    """What every classifier takes."""

    preprocessing: Preprocessing = Field(
        "model",
        description="model: as who published the weights evaluated them. paper: the whole image resized to the "
        "model's size, bilinear (text of the hypernymy paper). reference: the whole image resized to the model's "
        "size, bicubic, in 8 bits, and then as the model (that paper's numbers).",
    )
    dtype: Literal["float32", "float16", "bfloat16"] = Field("float32", description="Precision of the model.")
    checkpoint: Path | None = Field(
        None,
        description="File with other weights of this architecture: safetensors, or a pickle of weights alone.",
    )
    sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="What the weights' file must have as SHA-256."
    )


class TimmOptions(ClassifierOptions):
    """What timm's models take beyond."""

    labels: LabelList = Field(
        "auto",
        description="The classes, as one of timm's lists of ImageNet. auto: those that the checkpoint names, else "
        "the list of as many classes as it has.",
    )
    revision: str | None = Field(
        None, description="Commit, tag or branch of the model's repository on the hub; none: what is there."
    )
