"""The plugin module of the metrics. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, Defaults, Loading, Measure, MetricInfo, Setup, hookimpl

from t2i_torchmetrics import reference
from t2i_torchmetrics.options import ClipScoreOptions, InceptionScoreOptions, KidOptions, ReferenceOptions

if TYPE_CHECKING:
    from t2i_core.api import Metric

#: modules that measuring depends on, without the judge
_CODE = ("plugin.py", "options.py", "vectors.py", "remarks.py", "repetitions.py")
_OF_DISTANCES = (*_CODE, "reference.py", "images.py", "sides.py")


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the descriptors of the four metrics."""
    return [
        MetricInfo(
            name="clipscore",
            summary="Similarity of image and prompt: cosine of their CLIP embeddings, at least 0.",
            options=ClipScoreOptions,
            about=About(
                citation="Hessel et al.: CLIPScore: A Reference-free Evaluation Metric for Image Captioning. "
                "EMNLP 2021. arXiv:2104.08718"
            ),
            create=_clipscore,
            code=(*_CODE, "clipscore.py"),
            measures=(
                Measure(
                    "clipscore",
                    "w max(cosine, 0), mean over images.",
                    low=0,
                    high="w",
                    facets=("*", "prompt", "seed"),
                ),
            ),
            defaults=Defaults(judges={"embed": "clip-vit-b32"}),
        ),
        MetricInfo(
            name="fid",
            summary="Distance of the images from reference images: Frechet distance of Inception features.",
            options=ReferenceOptions,
            create=_fid,
            code=(*_OF_DISTANCES, "fid.py"),
            loading=Loading(weights=_reference, check=_check_reference),
            measures=(
                Measure("fid", "Frechet distance of features.", low=0, higher_is_better=False, facets=("*",)),
            ),
            defaults=Defaults(judges={"features": "inception-v3"}),
            about=About(
                citation="Heusel et al.: GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash "
                "Equilibrium. NeurIPS 2017. arXiv:1706.08500",
                notes="Biased upward for few images; compare sets of the same size, against the same reference.",
            ),
        ),
        MetricInfo(
            name="is",
            summary="Inception Score: confidence of a classifier on each image, and variety of all images.",
            options=InceptionScoreOptions,
            create=_inception_score,
            code=(*_CODE, "inception_score.py"),
            measures=(
                Measure("is", "exp of the mean KL(p(y|x) || p(y)), mean over splits.", low=1, facets=("*",)),
            ),
            defaults=Defaults(judges={"classify": "inception-v3"}),
            about=About(
                citation="Salimans et al.: Improved Techniques for Training GANs. NeurIPS 2016. arXiv:1606.03498",
                notes="Grows with the number of images in a split; compare sets of the same size.",
            ),
        ),
        MetricInfo(
            name="kid",
            summary="Distance of the images from reference images: kernel distance of Inception features.",
            options=KidOptions,
            about=About(citation="Binkowski et al.: Demystifying MMD GANs. ICLR 2018. arXiv:1801.01401"),
            create=_kid,
            code=(*_OF_DISTANCES, "kid.py"),
            loading=Loading(weights=_reference, check=_check_reference),
            measures=(
                Measure(
                    "kid",
                    "Squared MMD of features, unbiased; may be below 0 by chance.",
                    higher_is_better=False,
                    facets=("*",),
                ),
            ),
            defaults=Defaults(judges={"features": "inception-v3"}),
        ),
    ]


def _clipscore(setup: Setup[ClipScoreOptions]) -> Metric:
    from t2i_torchmetrics.clipscore import ClipScore

    return ClipScore(setup)


def _fid(setup: Setup[ReferenceOptions]) -> Metric:
    from t2i_torchmetrics.fid import FrechetDistance

    return FrechetDistance(setup)


def _inception_score(setup: Setup[InceptionScoreOptions]) -> Metric:
    from t2i_torchmetrics.inception_score import InceptionScore

    return InceptionScore(setup)


def _kid(setup: Setup[KidOptions]) -> Metric:
    from t2i_torchmetrics.kid import KernelDistance

    return KernelDistance(setup)


def _reference(_: str | None, options: ReferenceOptions) -> Iterable[Path]:
    return reference.files(options.reference)


def _check_reference(setup: Setup[ReferenceOptions]) -> None:
    reference.check(setup.options.reference)
