"""Options of the metrics and of the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class ClipScoreOptions(Options):
    """What `clipscore` takes."""

    w: float = Field(
        100,
        gt=0,
        description="What the cosine is multiplied by: 100 as torchmetrics, 2.5 as the paper of CLIPScore, 1 for "
        "the plain cosine (of negative ones 0).",
    )
    prefix: str = Field(
        "",
        description="What is put before each prompt; the paper of CLIPScore puts 'A photo depicts ' there.",
    )


class ReferenceOptions(Options):
    """What metrics take that compare with reference images."""

    reference: Path = Field(description="Folder with the reference images; those in folders within it count too.")


class KidOptions(ReferenceOptions):
    """What `kid` takes."""

    subsets: int = Field(100, ge=1, description="How many subsets the distance is averaged over.")
    subset_size: int = Field(
        1000, ge=2, description="Images of a subset, of either side; fewer where there are fewer."
    )
    seed: int = Field(0, ge=0, description="Seed of the draw of subsets.")


class InceptionScoreOptions(Options):
    """What `is` takes."""

    splits: int = Field(
        10,
        ge=1,
        description="Equal parts of the images that the score is averaged over; fewer where there are not two "
        "images for each.",
    )
    seed: int = Field(0, ge=0, description="Seed of the split.")


class InceptionOptions(Options):
    """What the judge `inception-v3` takes."""

    resize: Literal["tensorflow", "antialias"] = Field(
        "tensorflow",
        description="How images come to 299 pixels. tensorflow: bilinear without antialiasing, as the published "
        "FID. antialias: with it, as torchmetrics does by default.",
    )
    checkpoint: Path | None = Field(
        None, description="File with other weights of this network: safetensors, or a pickle of weights alone."
    )
    sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="What the file of `checkpoint` must have as SHA-256."
    )
