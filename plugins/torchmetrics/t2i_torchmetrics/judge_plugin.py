"""The plugin module of the judges. Only the factories import torch, torchmetrics and torchvision."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, ObjectClass, Setup, hookimpl

from t2i_torchmetrics.options import InceptionOptions, InceptionWeightsOptions

if TYPE_CHECKING:
    from t2i_core.api import Judge

OUTPUTS = 1008
"""Number of outputs of the network: 1000 classes of ImageNet and eight untrained ones."""


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    """Return the descriptors of the two Inception networks."""
    return [
        JudgeInfo(
            name="inception-v3",
            summary="The Inception network of 2015, which FID, IS and KID use.",
            options=InceptionOptions,
            capabilities={"features": frozenset(), "classify": frozenset()},
            create=_create,
            labels=_labels,
            code=("judge_plugin.py", "options.py", "inception.py", "weights.py"),
            loading=Loading(weights=_weights, check=_check, prefetch=_prefetch),
            about=About(
                citation="Szegedy et al.: Rethinking the Inception Architecture for Computer Vision. CVPR 2016; "
                "Obukhov et al.: torch-fidelity. 2020",
                licence="Apache-2.0",
                memory_gb=1.5,
                notes="Its classes have no names, so only the Inception Score can use its classification.",
            ),
        ),
        JudgeInfo(
            name="inception-v3-torchvision",
            summary="torchvision's Inception network, prepared as in DM-GAN's FID, which DALL-Eval uses.",
            options=InceptionWeightsOptions,
            capabilities={"features": frozenset()},
            create=_create_torchvision,
            code=("judge_plugin.py", "options.py", "torchvision_inception.py", "weights.py"),
            loading=Loading(
                weights=_torchvision_weights, check=_check_torchvision, prefetch=_prefetch_torchvision
            ),
            about=About(
                citation="Szegedy et al.: Rethinking the Inception Architecture for Computer Vision. CVPR 2016; "
                "Zhu et al.: DM-GAN. CVPR 2019. arXiv:1904.01310",
                licence="BSD-3-Clause (torchvision), trained on ImageNet, whose images are for research",
                memory_gb=1.5,
                notes="Another network than that of most published FID: values do not compare.",
            ),
        ),
    ]


def _create(setup: Setup[InceptionOptions]) -> Judge:
    from t2i_torchmetrics.inception import Inception

    return Inception(setup)


def _labels(_: str | None, options: InceptionOptions) -> tuple[ObjectClass, ...]:
    return tuple(ObjectClass(f"output {i} of inception-v3") for i in range(OUTPUTS))


def _weights(_: str | None, options: InceptionOptions) -> Iterable[Path | str]:
    from t2i_torchmetrics import weights

    return [options.checkpoint or weights.TENSORFLOW.sha256]


def _check(setup: Setup[InceptionOptions]) -> None:
    from t2i_torch_support.device import check_device

    from t2i_torchmetrics import weights

    check_device(setup.device)
    weights.TENSORFLOW.check(setup.options, setup.offline)
    if setup.options.checkpoint and not setup.dry:
        from t2i_torchmetrics import inception

        inception.network(setup.options, setup.options.checkpoint)  # its 100 MB are loaded in a second


def _prefetch(setup: Setup[InceptionOptions]) -> None:
    from t2i_torchmetrics import weights

    weights.TENSORFLOW.fetch(setup.options, setup.offline)


def _create_torchvision(setup: Setup[InceptionWeightsOptions]) -> Judge:
    from t2i_torchmetrics.torchvision_inception import TorchvisionInception

    return TorchvisionInception(setup)


def _torchvision_weights(_: str | None, options: InceptionWeightsOptions) -> Iterable[Path | str]:
    from t2i_torchmetrics import weights

    return [options.checkpoint or weights.TORCHVISION.sha256]


def _check_torchvision(setup: Setup[InceptionWeightsOptions]) -> None:
    from t2i_torch_support.device import check_device

    from t2i_torchmetrics import weights

    check_device(setup.device)
    weights.TORCHVISION.check(setup.options, setup.offline)
    if setup.options.checkpoint and not setup.dry:
        from t2i_torchmetrics.torchvision_inception import load_network

        load_network(setup.options.checkpoint)


def _prefetch_torchvision(setup: Setup[InceptionWeightsOptions]) -> None:
    from t2i_torchmetrics import weights

    weights.TORCHVISION.fetch(setup.options, setup.offline)
