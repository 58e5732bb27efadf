"""Warnings about doubtful distances between sets of images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from t2i_torchmetrics.images import Seen

ENOUGH_FOR_FID = 10_000
"""Number of images that Heusel et al. recommend at least (README of bioinf-jku/TTUR)."""
OF_PUBLISHED_IS = 50_000
"""Number of images and splits in Salimans et al. (2016, section 4)."""


def warn_fid(generated: int | None, reference: int | None, dimensions: int) -> Iterator[str]:
    """Yield warnings about too few images for a Frechet distance; a number that is not known gives none."""
    for which, n in (("generated", generated), ("reference", reference)):
        if n is None:
            continue
        if n <= dimensions:
            yield (
                f"fid: {n} {which} images for {dimensions} features: their covariance does not have full rank, "
                f"at least {dimensions + 1} images are needed; the distance is far too high"
            )
        elif n < ENOUGH_FOR_FID:
            yield (
                f"fid: {n} {which} images, fewer than the {ENOUGH_FOR_FID} that are recommended: the distance is "
                "too high, and its interval does not hold this bias; compare only sets of the same size"
            )


NAMES = {
    ("fid", "dinov2-vit-l14"): "FD-DINOv2: the Frechet distance of features of DINOv2 ViT-L/14",
    ("fid", "clip-vit-l14"): "FD-CLIP: the Frechet distance of embeddings of CLIP ViT-L/14",
    ("kid", "dinov2-vit-l14"): "KD-DINOv2: the kernel distance of features of DINOv2 ViT-L/14",
    ("kid", "clip-vit-l14"): "KD-CLIP: the kernel distance of embeddings of CLIP ViT-L/14",
}
"""Names of distances, by metric and by judge."""


def describe_network(metric: str, judge: str) -> Iterator[str]:
    """Yield what a distance is called whose features are not those of the TensorFlow network."""
    if judge == "inception-v3-torchvision":
        yield (
            f"{metric}: features of torchvision's ImageNet network, prepared as in DM-GAN, which DALL-Eval uses; "
            f"values do not compare with {metric.upper()} by the TensorFlow network of most papers"
        )
    elif (name := NAMES.get((metric, judge))) is not None:
        yield f"{metric}: this is {name}; it has another scale than {metric.upper()} of Inception features"


def describe_statistics(file: Path, dimensions: int) -> str:
    """Return what is known about a reference that is a file of mean and covariance."""
    return (
        f"fid: the reference is the mean and covariance of {dimensions} features in {file.name}; the file names "
        "neither its network nor its images, so check that both are those of the paper: DM-GAN's coco_val.npz "
        "(DALL-Eval) needs network=torchvision"
    )


def warn_shared(metric: str, shared: int) -> Iterator[str]:
    """Yield a warning if images of a set are also in the reference."""
    if shared:
        yield f"{metric}: {shared} of the images are also in the reference, so they look better than they are"


def warn_is(images: int, splits: int, asked: int) -> Iterator[str]:
    """Yield warnings about fewer splits than requested, and fewer images than in published scores."""
    if splits < asked:
        yield (
            f"is: {splits} split{'s' * (splits != 1)} in place of {asked}: {images} images give no more of two "
            "images each, and the score of a single image is 1 whatever it shows"
        )
    if images < OF_PUBLISHED_IS:
        yield (
            f"is: {images} images in {splits} split{'s' * (splits != 1)}, published scores are of "
            f"{OF_PUBLISHED_IS}: the score grows with the images of a split; compare only sets of the same size"
        )


def warn_kid(size: int, asked: int) -> Iterator[str]:
    """Yield a warning if subsets are smaller than requested."""
    if size < asked:
        yield f"kid: subsets of {size} images, because one side has fewer than {asked}; KID stays unbiased"


def warn_prdc(generated: int, reference: int) -> Iterator[str]:
    """Yield a warning if the two sides differ in size."""
    if generated != reference:
        yield (
            f"prdc: {generated} generated and {reference} reference images: recall and coverage depend on both "
            "numbers; compare only sets of the same size, against the same reference"
        )


def describe_vendi(images: int) -> str:
    """Return on which number of images a Vendi score depends."""
    return f"vendi: of {images} images, and grows with their number; compare only sets of the same size"


def describe_infinity(images: int, value: float) -> Iterator[str]:
    """Yield what an extrapolated distance is, and that it was below 0 if it was."""
    yield (
        f"fid: extrapolated to infinitely many images from subsets of {images} images (FD-infinity); it compares "
        "with other extrapolated values alone, and keeps the bias of few reference images"
    )
    if value < 0:
        yield f"fid: extrapolated to {value:.3g} by chance; it is shown as 0"


def count_repetitions(metric: str, dropped: int) -> Iterator[str]:
    """Yield how many images were not counted because they repeat others, if any were."""
    if dropped:
        yield f"{metric}: images that repeat others count once, {dropped} left out (option repetitions)"


def warn_differences(metric: str, generated: Seen, reference: Seen) -> Iterator[str]:
    """Yield warnings about different formats and sizes of the two sides' files, which the network sees too."""
    if set(generated.formats) != set(reference.formats) or len(generated.formats) > 1:
        yield (
            f"{metric}: the generated images are {_list_counts(generated.formats)}, the reference images "
            f"{_list_counts(reference.formats)}: the traces of lossy compression are part of the distance"
        )
    if set(generated.sizes) != set(reference.sizes):
        sizes = [
            _list_counts(Counter({f"{w} x {h}": n for (w, h), n in s.sizes.items()}))
            for s in (generated, reference)
        ]
        yield (
            f"{metric}: the generated images are of {sizes[0]} pixels, the reference images of {sizes[1]}: how "
            "each was scaled and cut is part of the distance"
        )


def _list_counts(counted: Counter[Any]) -> str:
    if len(counted) == 1:
        return str(next(iter(counted)))
    said = ", ".join(f"{name} ({n})" for name, n in counted.most_common(3))
    return f"{said}{', ...' if len(counted) > 3 else ''}"
