"""Options of the metrics and of the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class ClipScoreOptions(Options):
    """Options of `clipscore`."""

    w: float = Field(
        100,
        gt=0,
        description="Factor on the cosine: 100 as in torchmetrics, 2.5 as in the CLIPScore paper, 1 for the plain "
        "cosine. Negative cosines count as 0.",
    )
    prefix: str = Field(
        "",
        description="Text before each prompt; the CLIPScore paper uses 'A photo depicts '.",
    )


class SetOptions(Options):
    """Options of metrics of a model's set of images."""

    repetitions: bool = Field(
        True,
        description="Count every image. false: count images of one text and seed once, and byte-equal images (of "
        "the reference too) once.",
    )


class ReferenceOptions(SetOptions):
    """Options of metrics that compare with reference images."""

    reference: Path = Field(description="Folder with the reference images, including subfolders.")


class KidOptions(ReferenceOptions):
    """Options of `kid`."""

    subsets: int = Field(100, ge=1, description="Number of subsets to average over.")
    subset_size: int = Field(1000, ge=2, description="Maximum number of images of each side in a subset.")
    seed: int = Field(0, ge=0, description="Seed of the random subsets.")


class InceptionScoreOptions(SetOptions):
    """Options of `is`."""

    splits: int = Field(
        10,
        ge=1,
        description="Number of equal parts of the images to average over; fewer if a part would have less than "
        "two images.",
    )
    seed: int = Field(0, ge=0, description="Seed of the split.")


class InceptionOptions(Options):
    """Options of the judge `inception-v3`."""

    resize: Literal["tensorflow", "antialias"] = Field(
        "tensorflow",
        description="Resizing to 299 pixels. tensorflow: bilinear without antialiasing, as in published FID. "
        "antialias: with antialiasing, the default of torchmetrics.",
    )
    checkpoint: Path | None = Field(
        None, description="File with other weights of this network: safetensors, or a pickle of weights alone."
    )
    sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="Expected SHA-256 of the file `checkpoint`."
    )
