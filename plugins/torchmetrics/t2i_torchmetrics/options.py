"""Options of the metrics and of the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from t2i_core.api import BoundedOptions, Options, OtherNames


class ClipScoreOptions(BoundedOptions):
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


class SetOptions(BoundedOptions):
    """Options of metrics of a model's set of images."""

    repetitions: bool = Field(
        True,
        description="Count every image. false: count images of one text and seed once, and byte-equal images (of "
        "the reference too) once.",
    )


class ReferenceOptions(SetOptions):
    """Options of metrics that compare with reference images."""

    reference: Path = Field(description="Folder with the reference images, including subfolders.")


class FidOptions(ReferenceOptions):
    """Options of `fid`."""

    reference: Path = Field(
        description="Folder with the reference images, including subfolders; or a file FILE.npz with their mean "
        "`mu` and covariance `sigma`, from the same network."
    )
    network: Literal["tensorflow", "torchvision", "dinov2", "clip"] | None = Field(
        None,
        description="Network of the features. tensorflow: the judge inception-v3, of most published FID. "
        "torchvision: the judge inception-v3-torchvision, of DM-GAN's FID, which DALL-Eval uses. dinov2: the "
        "judge dinov2-vit-l14, of FD-DINOv2. clip: the judge clip-vit-l14. Default: the judge of the metric or of "
        "the mini world.",
    )
    infinity: bool = Field(
        False,
        description="Extrapolate to infinitely many images (FD-infinity), from the distances of 15 subsets of "
        "different sizes: without the bias of small sets, but with a wider interval.",
    )
    seed: int = Field(0, ge=0, description="Seed of the subsets of `infinity`.")


class KidOptions(ReferenceOptions):
    """Options of `kid`."""

    subsets: int = Field(100, ge=1, description="Number of subsets to average over.")
    subset_size: int = Field(1000, ge=2, description="Maximum number of images of each side in a subset.")
    seed: int = Field(0, ge=0, description="Seed of the random subsets.")
    network: Literal["tensorflow", "dinov2", "clip"] | None = Field(
        None,
        description="Network of the features. tensorflow: the judge inception-v3, of KID. dinov2 and clip: the "
        "judges dinov2-vit-l14 and clip-vit-l14, of the kernel distance KD. Default: the judge of the metric or "
        "of the mini world.",
    )


class CmmdOptions(ReferenceOptions):
    """Options of `cmmd`."""

    sigma: float = Field(10, gt=0, description="Width of the Gaussian kernel on embeddings of unit length.")


class PrdcOptions(ReferenceOptions):
    """Options of `prdc`."""

    neighbours: Annotated[int, OtherNames("k", "nearest_k")] = Field(
        5, ge=1, description="The neighbour whose distance is the radius of an image's neighbourhood."
    )


class VendiOptions(SetOptions):
    """Options of `vendi`."""

    order: Annotated[Annotated[float, Field(ge=0)] | Literal["inf"], OtherNames("q")] = Field(
        1, description="Order of the entropy: 1 as published; more (up to inf) gives rare images less weight."
    )


class InceptionScoreOptions(SetOptions):
    """Options of `is`."""

    splits: int = Field(
        10,
        ge=1,
        description="Number of equal parts of the images to average over; fewer if a part would have less than "
        "two images.",
    )
    seed: int = Field(0, ge=0, description="Seed of the split.")


class InceptionWeightsOptions(Options):
    """Options of judges whose weights may come from a file."""

    checkpoint: Path | None = Field(
        None, description="File with other weights of this network: safetensors, or a pickle of weights alone."
    )
    sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="Expected SHA-256 of the file `checkpoint`."
    )


class InceptionOptions(InceptionWeightsOptions):
    """Options of the judge `inception-v3`."""

    resize: Literal["tensorflow", "antialias"] = Field(
        "tensorflow",
        description="Resizing to 299 pixels. tensorflow: bilinear without antialiasing, as in published FID. "
        "antialias: with antialiasing, the default of torchmetrics.",
    )
