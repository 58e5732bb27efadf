"""The plugin: networks of timm and torchvision. Only the factories import them, torch and numpy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, ObjectClass, Preset, Setup, hookimpl
from t2i_core.api.errors import NotHere

from t2i_timm.options import ClassifierOptions, TimmFeatureOptions, TimmNetworkOptions, TimmOptions

if TYPE_CHECKING:
    from t2i_core.api import Judge

_LICENCE = "BSD-3-Clause (torchvision), trained on ImageNet, whose images are for research"
#: name -> architecture and weights of torchvision, what they are, and GB of memory
_PRESETS = {
    "vit-b16": ("vit_b_16.IMAGENET1K_V1", "ViT-B/16 on ImageNet-1k: the hypernymy paper's classifier.", 1.0),
    "convnext-b": (
        "convnext_base.IMAGENET1K_V1",
        "ConvNeXt-B on ImageNet-1k: the hypernymy paper's second classifier.",
        1.5,
    ),
    "resnet50": (
        "resnet50.IMAGENET1K_V1",
        "ResNet-50 on ImageNet-1k: the hypernymy paper's third classifier.",
        1.0,
    ),
}
#: Accuracy as torchvision publishes it, and expected calibration error by the hypernymy paper's Table 7.
_QUALITY = {"vit-b16": (".811", ".035"), "convnext-b": (".841", ".133"), "resnet50": (".761", ".036")}
_CITATIONS = {
    "vit-b16": "Dosovitskiy et al.: An Image is Worth 16x16 Words. ICLR 2021",
    "convnext-b": "Liu et al.: A ConvNet for the 2020s. CVPR 2022",
    "resnet50": "He et al.: Deep Residual Learning for Image Recognition. CVPR 2016",
}


@hookimpl
def t2i_judges() -> Iterable[JudgeInfo | Preset]:
    """Return the judges of timm and torchvision, and presets for models of papers."""
    return [
        JudgeInfo(
            name="timm",
            summary="Classifies images with any classifier of timm; its classes are WordNet synsets.",
            argument="NAME.TAG of timm (resnet50.a1_in1k), ORG/REPOSITORY on the hub, or a folder saved by timm",
            needs_argument=True,
            options=TimmOptions,
            capabilities={"classify": frozenset()},
            create=_timm,
            labels=_timm_labels,
            loading=Loading(weights=_timm_weights, check=_check_timm, resolve=_pin_timm, prefetch=_prefetch_timm),
            about=About(citation="Wightman: PyTorch Image Models", licence="the model's own: see its card"),
        ),
        JudgeInfo(
            name="timm-features",
            summary="Gives the features of any network of timm, for distances between sets of images.",
            argument="NAME.TAG of timm, ORG/REPOSITORY on the hub, or a folder saved by timm",
            needs_argument=True,
            options=TimmFeatureOptions,
            capabilities={"features": frozenset()},
            create=_features,
            loading=Loading(
                weights=_timm_weights, check=_check_features, resolve=_pin_features, prefetch=_prefetch_features
            ),
            about=About(citation="Wightman: PyTorch Image Models", licence="the model's own: see its card"),
        ),
        Preset(
            name="dinov2-vit-l14",
            summary="DINOv2 ViT-L/14 at 224 pixels, of the whole image: for distances as FD-DINOv2 takes them.",
            of="t2i-timm/timm-features",
            argument="timm/vit_large_patch14_dinov2.lvd142m",
            options={"size": 224, "preprocessing": "whole"},
            about=About(
                citation="Oquab et al.: DINOv2. TMLR 2024; Stein et al.: Exposing flaws of generative model "
                "evaluation metrics. NeurIPS 2023",
                licence="Apache-2.0",
                memory_gb=2.0,
            ),
        ),
        JudgeInfo(
            name="torchvision",
            summary="Classifies images with any ImageNet classifier of torchvision; 1000 WordNet synsets.",
            argument="NAME.WEIGHTS of torchvision (vit_b_16.IMAGENET1K_V1)",
            needs_argument=True,
            options=ClassifierOptions,
            capabilities={"classify": frozenset()},
            create=_torchvision,
            labels=_torchvision_labels,
            loading=Loading(
                weights=_torchvision_weights, check=_check_torchvision, prefetch=_prefetch_torchvision
            ),
            about=About(citation="TorchVision maintainers: TorchVision", licence=_LICENCE),
        ),
        *(
            Preset(
                name=name,
                summary=summary,
                of="t2i-timm/torchvision",
                argument=argument,
                options={"preprocessing": "paper"},
                about=About(
                    quality=_describe_quality(*_QUALITY[name]),
                    limits="Knows the 1000 classes of ImageNet only, as they look in photographs.",
                    citation=_CITATIONS[name],
                    memory_gb=memory,
                    notes="Preprocesses images as described in the hypernymy paper; for that paper's numbers, "
                    f"set -o {name}.preprocessing=reference.",
                ),
            )
            for name, (argument, summary, memory) in _PRESETS.items()
        ),
    ]


def _describe_quality(accuracy: str, error: str) -> str:
    return (
        f"On photographs (ImageNet's validation set) {accuracy} of its classes are right (torchvision), with an "
        f"expected calibration error of {error} (arXiv:2310.09247, Table 7). Not measured on generated images."
    )


def _timm(setup: Setup[TimmOptions]) -> Judge:
    from t2i_timm import timm_models
    from t2i_timm.classifier import Classifier

    return Classifier(timm_models.load(_get_argument(setup), setup.options, setup.offline), setup)


def _timm_labels(argument: str | None, options: TimmOptions) -> tuple[ObjectClass, ...]:
    from t2i_timm import timm_models

    return timm_models.labels(argument or "", options, offline=True)  # `_check_timm` has fetched the config


def _timm_weights(argument: str | None, options: TimmNetworkOptions) -> Iterable[Path | str]:
    from t2i_timm import timm_models

    return timm_models.weights(argument or "", options)


def _check_timm(setup: Setup[TimmOptions]) -> None:
    from t2i_torch_support.device import check_device

    from t2i_timm import timm_models

    check_device(setup.device)
    argument, options = _get_argument(setup), setup.options
    own = timm_models.is_here(argument, options)
    if setup.offline or own:
        timm_models.fetch(argument, options, offline=True)
    timm_models.labels(argument, options, setup.offline)
    # with a digest the file is known, and timm need not be imported
    if (own or options.checkpoint) and not options.sha256:
        from t2i_torch_support.trial_load import try_load

        try_load(lambda: timm_models.load(argument, options, setup.offline))


def _pin_timm(setup: Setup[TimmOptions]) -> TimmOptions:
    from t2i_timm import timm_models

    return timm_models.pin_commit(_get_argument(setup), setup.options, setup.offline)


def _prefetch_timm(setup: Setup[TimmOptions]) -> None:
    from t2i_timm import timm_models

    timm_models.fetch(_get_argument(setup), setup.options, setup.offline)


def _features(setup: Setup[TimmFeatureOptions]) -> Judge:
    from t2i_timm.timm_features import FeatureExtractor

    return FeatureExtractor(setup)


def _check_features(setup: Setup[TimmFeatureOptions]) -> None:
    from t2i_torch_support.device import check_device

    from t2i_timm import timm_models

    check_device(setup.device)
    argument, options = setup.argument or "", setup.options
    own = timm_models.is_here(argument, options)
    if setup.offline or own:
        timm_models.fetch(argument, options, offline=True, judge="timm-features")
    # a size that the network cannot read is found only by making the network
    if own and (options.size or not options.sha256):
        from t2i_torch_support.trial_load import try_load

        from t2i_timm import timm_features

        try_load(lambda: timm_features.load(argument, options, setup.offline))


def _pin_features(setup: Setup[TimmFeatureOptions]) -> TimmFeatureOptions:
    from t2i_timm import timm_models

    return timm_models.pin_commit(setup.argument or "", setup.options, setup.offline, "timm-features")


def _prefetch_features(setup: Setup[TimmFeatureOptions]) -> None:
    from t2i_timm import timm_models

    timm_models.fetch(setup.argument or "", setup.options, setup.offline, "timm-features")


def _torchvision(setup: Setup[ClassifierOptions]) -> Judge:
    from t2i_timm import torchvision_models
    from t2i_timm.classifier import Classifier

    return Classifier(torchvision_models.load(_get_argument(setup), setup.options, setup.offline), setup)


def _torchvision_labels(argument: str | None, options: ClassifierOptions) -> tuple[ObjectClass, ...]:
    from t2i_timm import synsets

    return synsets.labels("imagenet-1k")


def _torchvision_weights(argument: str | None, options: ClassifierOptions) -> Iterable[Path | str]:
    return [options.checkpoint or f"torchvision {argument}"]


def _check_torchvision(setup: Setup[ClassifierOptions]) -> None:
    from t2i_torch_support.device import check_device

    check_device(setup.device)
    known = any(setup.argument == argument for argument, *_ in _PRESETS.values())
    if known and not setup.offline and not setup.options.checkpoint:
        return  # spares the import of torchvision
    if known and setup.dry and not setup.options.checkpoint:
        from t2i_torch_support.url_files import find_files

        if not find_files(f"{_get_argument(setup).partition('.')[0]}-*.pth"):
            raise NotHere(f"torchvision {setup.argument}", f"torchvision:{setup.argument}")
        return
    from t2i_timm import torchvision_models

    weights = torchvision_models.find(_get_argument(setup))
    if setup.offline or setup.options.checkpoint:
        torchvision_models.fetch(weights, setup.options, offline=True)
    if setup.options.checkpoint:
        from t2i_torch_support.trial_load import try_load

        try_load(lambda: torchvision_models.load(_get_argument(setup), setup.options, offline=True))


def _prefetch_torchvision(setup: Setup[ClassifierOptions]) -> None:
    from t2i_timm import torchvision_models

    torchvision_models.fetch(torchvision_models.find(_get_argument(setup)), setup.options, setup.offline)


def _get_argument(setup: Setup[ClassifierOptions]) -> str:
    """Return the argument, which the registry guarantees."""
    assert setup.argument is not None
    return setup.argument
