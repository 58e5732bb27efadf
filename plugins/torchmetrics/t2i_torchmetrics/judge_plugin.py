"""The plugin module of the judge. Only the factory imports torch and torchmetrics."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, ObjectClass, Setup, hookimpl

from t2i_torchmetrics.options import InceptionOptions

if TYPE_CHECKING:
    from t2i_core.api import Judge

SHA256 = "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2"
"""SHA-256 of the published weights."""
OUTPUTS = 1008
"""Number of outputs of the network: 1000 classes of ImageNet and eight untrained ones."""


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    """Return the descriptor of the Inception network."""
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
        )
    ]


def _create(setup: Setup[InceptionOptions]) -> Judge:
    from t2i_torchmetrics.inception import Inception

    return Inception(setup)


def _labels(_: str | None, options: InceptionOptions) -> tuple[ObjectClass, ...]:
    return tuple(ObjectClass(f"output {i} of inception-v3") for i in range(OUTPUTS))


def _weights(_: str | None, options: InceptionOptions) -> Iterable[Path | str]:
    return [options.checkpoint or SHA256]


def _check(setup: Setup[InceptionOptions]) -> None:
    from t2i_torch_support.device import check_device

    from t2i_torchmetrics import weights

    check_device(setup.device)
    weights.check(setup.options, setup.offline)
    if setup.options.checkpoint and not setup.dry:
        from t2i_torchmetrics import inception

        inception.network(setup.options, setup.options.checkpoint)  # its 100 MB are loaded in a second


def _prefetch(setup: Setup[InceptionOptions]) -> None:
    from t2i_torchmetrics import weights

    weights.fetch(setup.options, setup.offline)
