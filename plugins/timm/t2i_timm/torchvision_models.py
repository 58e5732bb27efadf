"""Classifiers of torchvision, with the weights that the hypernymy paper uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torchvision
from t2i_core.api.errors import BadModel, UnknownName
from t2i_torch_support import url_files
from t2i_torch_support.weights import check_file, explain_load_error

from t2i_timm import preprocessing, synsets
from t2i_timm.classifier import LoadedClassifier, check_head
from t2i_timm.options import ClassifierOptions

#: Models whose weights need other arguments of the architecture, which torchvision sets only when it loads them
#: itself, with alternatives.
_LEFT_OUT = {
    "googlenet": "timm has no GoogLeNet either",
    "inception_v3": "take the same weights from timm: timm:inception_v3.tv_in1k",
}


def find(argument: str) -> Any:
    """Return torchvision's entry of NAME.WEIGHTS (`vit_b_16.IMAGENET1K_V1`). Raises UnknownName."""
    name, _, weights = argument.partition(".")
    if name in _LEFT_OUT:
        raise UnknownName(
            f"{name} of torchvision is not supported, because its weights need other arguments of the network; "
            f"{_LEFT_OUT[name]}"
        )
    known = [n for n in torchvision.models.list_models(torchvision.models) if n not in _LEFT_OUT]
    if name not in known:
        raise UnknownName.among("model of torchvision", name, known)
    # weights without categories are backbones for detectors, with an untrained last layer
    entries = {e.name: e for e in torchvision.models.get_model_weights(name) if e.meta["categories"]}
    if not weights:
        raise UnknownName(
            f"torchvision:{name} names no weights; it has {', '.join(entries)}; write for example "
            f"torchvision:{name}.{next(iter(entries))}"
        )
    if weights not in entries:
        raise UnknownName.among(f"weights of {name}", weights, entries, f"it has {', '.join(entries)}")
    return entries[weights]


def fetch(weights: Any, options: ClassifierOptions, offline: bool) -> Path:
    """Return the file of weights; download it if it is missing and may be downloaded.

    torchvision publishes only pickles, with the first eight digits of their SHA-256 in the name. t2i checks these
    digits, and the whole SHA-256 if the user gives it.
    """
    spec = f"torchvision:{_model(weights)}.{weights.name}"
    if options.checkpoint:
        return check_file(options.checkpoint, options.sha256, spec)
    digest = Path(weights.url).stem.rpartition("-")[2]
    file = url_files.fetch_from_url(weights.url, digest, offline, spec)
    return check_file(file, options.sha256, spec)


def load(argument: str, options: ClassifierOptions, offline: bool) -> LoadedClassifier:
    """Return the classifier. Raises UnknownName or BadModel."""
    weights = find(argument)
    file = fetch(weights, options, offline)
    network = torchvision.models.get_model(_model(weights), weights=None)
    try:
        network.load_state_dict(_read(file))
    except Exception as error:  # of many types: not an archive, more than weights, tensors of another model
        raise BadModel(
            f"torchvision:{argument}: {file} does not hold its weights ({explain_load_error(error)})"
        ) from error
    own = weights.transforms()
    size = (own.crop_size[0], own.crop_size[0])
    labels = synsets.labels("imagenet-1k")
    check_head(network, labels, size, f"torchvision:{argument}")
    return LoadedClassifier(
        network,
        preprocessing.transform(options.preprocessing, own, size, own.mean, own.std),
        labels=labels,
        settings={
            "weights": str(options.checkpoint or weights.url),
            "labels": "imagenet-1k",
            "preprocessing": options.preprocessing,
            "size": list(size),
            "torchvision": torchvision.__version__,
        },
    )


def _model(weights: Any) -> str:
    """Return the architecture's name of an entry: ViT_B_16_Weights is the enumeration of vit_b_16."""
    return type(weights).__name__.removesuffix("_Weights").lower()


def _read(file: Path) -> dict[str, torch.Tensor]:
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(file)
    state: dict[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
    return state
