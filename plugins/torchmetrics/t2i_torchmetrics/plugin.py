"""The plugin module of the metrics. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import Defaults, Loading, Measure, MetricInfo, Setup, hookimpl
from t2i_core.api.errors import BadOption

from t2i_torchmetrics import reference
from t2i_torchmetrics.explanations import CLIPSCORE, CMMD, FID, INCEPTION_SCORE, KID, PRDC, VENDI
from t2i_torchmetrics.options import (
    ClipScoreOptions,
    CmmdOptions,
    FidOptions,
    InceptionScoreOptions,
    KidOptions,
    PrdcOptions,
    ReferenceOptions,
    VendiOptions,
)

if TYPE_CHECKING:
    from t2i_core.api import Metric

#: modules that measuring depends on, without the judge
_CODE = ("plugin.py", "options.py", "vectors.py", "remarks.py", "repetitions.py")
_OF_DISTANCES = (*_CODE, "reference.py", "images.py", "sides.py")


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the descriptors of the metrics."""
    return [
        MetricInfo(
            name="clipscore",
            summary="Similarity of image and prompt: cosine of their CLIP embeddings, at least 0.",
            options=ClipScoreOptions,
            about=CLIPSCORE,
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
            options=FidOptions,
            create=_fid,
            code=(*_OF_DISTANCES, "fid.py", "statistics_file.py"),
            loading=Loading(weights=_reference, check=_check_reference),
            measures=(
                Measure("fid", "Frechet distance of features.", low=0, higher_is_better=False, facets=("*",)),
            ),
            defaults=Defaults(judges={"features": "inception-v3"}),
            about=FID,
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
            about=INCEPTION_SCORE,
        ),
        MetricInfo(
            name="kid",
            summary="Distance of the images from reference images: kernel distance of Inception features.",
            options=KidOptions,
            about=KID,
            create=_kid,
            code=(*_OF_DISTANCES, "kid.py"),
            loading=Loading(weights=_reference, check=_check_images),
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
        MetricInfo(
            name="cmmd",
            summary="Distance of the images from reference images: kernel distance of CLIP embeddings.",
            options=CmmdOptions,
            about=CMMD,
            create=_cmmd,
            code=(*_OF_DISTANCES, "blocks.py", "cmmd.py", "subsets.py"),
            loading=Loading(weights=_reference, check=_check_images),
            measures=(
                Measure("cmmd", "1000 times the squared MMD.", low=0, higher_is_better=False, facets=("*",)),
            ),
            defaults=Defaults(judges={"features": "clip-vit-l14-336"}),
        ),
        MetricInfo(
            name="prdc",
            summary="Precision, recall, density and coverage of the images against reference images.",
            options=PrdcOptions,
            about=PRDC,
            create=_prdc,
            code=(*_OF_DISTANCES, "blocks.py", "neighbourhoods.py", "prdc.py", "subsets.py"),
            loading=Loading(weights=_reference, check=_check_images),
            measures=(
                Measure("precision", "Share of images near a reference image.", low=0, high=1, facets=("*",)),
                Measure("recall", "Share of reference images near an image.", low=0, high=1, facets=("*",)),
                Measure(
                    "density",
                    "Number of reference images whose neighbourhood holds an image, over k.",
                    low=0,
                    facets=("*",),
                ),
                Measure(
                    "coverage",
                    "Share of reference images with an image in their neighbourhood.",
                    low=0,
                    high=1,
                    facets=("*",),
                ),
            ),
            defaults=Defaults(judges={"features": "inception-v3"}),
        ),
        MetricInfo(
            name="vendi",
            summary="Variety of the images: their effective number.",
            options=VendiOptions,
            about=VENDI,
            create=_vendi,
            code=(*_CODE, "cmmd.py", "vendi.py"),
            measures=(Measure("vendi", "Effective number of different images.", low=1, facets=("*",)),),
            defaults=Defaults(judges={"features": "inception-v3"}),
        ),
    ]


def _clipscore(setup: Setup[ClipScoreOptions]) -> Metric:
    from t2i_torchmetrics.clipscore import ClipScore

    return ClipScore(setup)


def _fid(setup: Setup[FidOptions]) -> Metric:
    from t2i_torchmetrics.fid import FrechetDistance

    return FrechetDistance(setup)


def _inception_score(setup: Setup[InceptionScoreOptions]) -> Metric:
    from t2i_torchmetrics.inception_score import InceptionScore

    return InceptionScore(setup)


def _kid(setup: Setup[KidOptions]) -> Metric:
    from t2i_torchmetrics.kid import KernelDistance

    return KernelDistance(setup)


def _cmmd(setup: Setup[CmmdOptions]) -> Metric:
    from t2i_torchmetrics.cmmd import ClipDiscrepancy

    return ClipDiscrepancy(setup)


def _prdc(setup: Setup[PrdcOptions]) -> Metric:
    from t2i_torchmetrics.prdc import PrecisionRecall

    return PrecisionRecall(setup)


def _vendi(setup: Setup[VendiOptions]) -> Metric:
    from t2i_torchmetrics.vendi import VendiScore

    return VendiScore(setup)


def _reference(_: str | None, options: ReferenceOptions) -> Iterable[Path]:
    return reference.list_reference_files(options.reference)


def _check_reference(setup: Setup[ReferenceOptions]) -> None:
    reference.check(setup.options.reference)


def _check_images(setup: Setup[ReferenceOptions]) -> None:
    if reference.is_statistics(setup.options.reference):
        raise BadOption(
            f"option reference: {setup.options.reference} holds a mean and a covariance, which only fid takes; "
            "this metric needs the reference images themselves, so name their folder"
        )
    reference.check(setup.options.reference)
