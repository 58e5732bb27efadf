"""The judge `timm-features`: the pooled features of a network of timm, before its classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import timm
import torch
from t2i_core.api import Features, Query, Setup
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.api.judge import Capability
from t2i_torch_support import hub_files
from t2i_torch_support.weights import explain_load_error
from timm.data import create_transform, resolve_model_data_config
from torchvision.transforms import Compose, InterpolationMode, Normalize, Resize, ToTensor

from t2i_timm import timm_models
from t2i_timm.network_judge import LoadedNetwork, NetworkJudge
from t2i_timm.options import TimmFeatureOptions

NAME = "timm-features"


def load(argument: str, options: TimmFeatureOptions, offline: bool) -> LoadedNetwork:
    """Return the network. Raises UnknownName, BadModel, or BadOption if it cannot read images of another size."""
    file = timm_models.fetch(argument, options, offline, NAME)
    try:
        network = _create(argument, options, file)
    except Exception as error:  # of many types: not an archive, more than weights, tensors of another model
        sized = f" with size={options.size}" if options.size else ""
        raise BadModel(
            f"{NAME}:{argument}: cannot be loaded{sized} from {file} ({explain_load_error(error)})"
        ) from error
    config = resolve_model_data_config(network)
    size = (options.size,) * 2 if options.size else tuple(config["input_size"][1:])
    _check_size(network, size, argument)
    preprocess = create_transform(**{**config, "input_size": (3, *size)}, is_training=False)
    if options.preprocessing == "whole":
        resize = Resize(size, InterpolationMode.BICUBIC)
        preprocess = Compose([resize, ToTensor(), Normalize(list(config["mean"]), list(config["std"]))])
    settings = {
        "weights": str(file)
        if options.checkpoint or timm_models.find_folder(argument)
        else timm_models.find_repository(argument),
        "commit": hub_files.read_commit(file),
        "preprocessing": options.preprocessing,
        "input_size": (3, *size),
        **{key: config[key] for key in ("interpolation", "crop_pct", "crop_mode")},
        "timm": timm.__version__,
    }
    return LoadedNetwork(network, preprocess, settings)


def _create(argument: str, options: TimmFeatureOptions, file: Path) -> torch.nn.Module:
    """Return the network without its classifier. Position embeddings are interpolated to another size."""
    folder = timm_models.find_folder(argument)
    if not folder and "/" in argument:
        folder = timm_models.fetch_config(argument, options, offline=True, judge=NAME).parent
    create = partial(
        timm.create_model,
        f"local-dir:{folder}" if folder else argument,
        pretrained=True,
        pretrained_cfg_overlay={"source": "", "file": str(file)},
    )
    try:
        network: torch.nn.Module = create(**({"img_size": options.size} if options.size else {}))
    except TypeError:  # a convolutional network takes no size and reads any
        network = create()
    network.reset_classifier(0)  # type: ignore[operator]
    return network


def _check_size(network: torch.nn.Module, size: tuple[int, ...], argument: str) -> None:
    """Raise if a network does not turn an image of this height and width into one vector."""
    try:
        with torch.inference_mode():
            shape = tuple(network.eval()(torch.zeros(1, 3, *size)).shape)
    except (AssertionError, RuntimeError) as error:
        raise BadOption(
            f"option size: {NAME}:{argument} cannot read images of {size[1]} x {size[0]} pixels ({error})"
        ) from error
    if len(shape) != 2:
        raise BadModel(f"{NAME}:{argument}: it gives outputs of shape {shape[1:]}, and a vector is needed")


class FeatureExtractor(NetworkJudge):
    """Gives the pooled features of images, float32, not normalised."""

    def __init__(self, setup: Setup[TimmFeatureOptions]) -> None:
        super().__init__(load(setup.argument or "", setup.options, setup.offline), setup)

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Features]]:
        """Yield each query with the features of its image, in order."""
        for query, values in self.run(queries):
            yield query, Features(values.numpy())
