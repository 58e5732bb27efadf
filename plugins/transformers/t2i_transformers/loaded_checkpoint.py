"""Loading of checkpoints by transformers' own classes, never by code from a repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from t2i_core.api import Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.text import describe_error
from t2i_torch_support.device import select_device
from t2i_torch_support.weights import explain_load_error
from transformers.utils import logging

from . import checkpoints
from .checkpoints import CheckpointPlace
from .options import CheckpointOptions, precision


@dataclass(frozen=True)
class LoadedCheckpoint:
    """A checkpoint that is ready for inference.

    Attributes:
        network: The model.
        processor: Converts images and texts to the model's input.
        device: Device of the model.
        dtype: Precision of the model.
        settings: Settings for the manifest.
    """

    network: Any
    processor: Any
    device: torch.device
    dtype: torch.dtype
    settings: MutableMapping[str, Any]

    def inputs(self, features: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return a model's input on the model's device, with floating-point tensors in its precision."""
        return {
            name: value.to(self.device, self.dtype if value.is_floating_point() else None)
            for name, value in features.items()
        }


def load(
    setup: Setup[Any],
    place: CheckpointPlace,
    network_class: str,
    processor_class: str,
    processor: CheckpointPlace | None = None,
) -> LoadedCheckpoint:
    """Load a checkpoint.

    Args:
        setup: Setup from t2i.
        place: The checkpoint.
        network_class: Auto class of transformers for the network.
        processor_class: Auto class of transformers for the processor.
        processor: Another place to take the processor from.

    Raises:
        BadModel: The checkpoint cannot be fetched, has no safe file, or lacks weights, which would stay random.
    """
    options: CheckpointOptions = setup.options
    folder = checkpoints.fetch(place, setup.offline, options.sha256)
    weights = checkpoints.weights_file(place, folder, options.sha256, setup.offline)
    device = select_device(setup.device)
    dtype: torch.dtype = getattr(torch, precision(device.type) if options.dtype == "auto" else options.dtype)
    of_processor = folder if processor is None else checkpoints.fetch(processor, setup.offline, weights=False)
    with hide_reports():
        processing = _processor(place, of_processor, processor_class)
        network = _network(place, folder, network_class, weights, dtype)
    return LoadedCheckpoint(
        network.eval().requires_grad_(False).to(device),
        processing,
        device,
        dtype,
        {
            "checkpoint": place.name,
            "commit": checkpoints.commit(place, setup.offline),
            "architecture": type(network).__name__,
            "processor": type(processing).__name__,
            "dtype": str(dtype).removeprefix("torch."),
            "device": str(device),
            "transformers": transformers.__version__,
        },
    )


def _processor(place: CheckpointPlace, folder: Path, name: str) -> Any:
    try:
        return getattr(transformers, name).from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # of many types: missing files, or content that no class knows
        raise BadModel(
            f"{place.spec}: its processor cannot be loaded from {folder} ({describe_error(error)})"
        ) from error


def _network(place: CheckpointPlace, folder: Path, name: str, weights: list[Path], dtype: torch.dtype) -> Any:
    try:
        network, report = getattr(transformers, name).from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=weights[0].suffix == ".safetensors",
            weights_only=True,
            dtype=dtype,
            ignore_mismatched_sizes=True,  # reported below
            output_loading_info=True,
        )
    except Exception as error:  # of many types: not an archive, more than weights, tensors of another model
        raise BadModel(f"{place.spec}: cannot be loaded from {folder} ({explain_load_error(error)})") from error
    if mismatched := sorted(report["mismatched_keys"]):
        key, there, wanted = mismatched[0]
        raise BadModel(
            f"{place.spec}: cannot be loaded from {folder}: {key} has the shape {tuple(wanted)} "
            f"in {checkpoints.CONFIG}, but {tuple(there)} in the weights; use files of one model"
        )
    if missing := sorted(report["missing_keys"]):
        raise BadModel(
            f"{place.spec}: {folder} lacks {len(missing)} of the weights of {type(network).__name__}, such as "
            f"{missing[0]}; the checkpoint is incomplete or for another task"
        )
    return network


@contextmanager
def hide_reports() -> Iterator[None]:
    """Turn off transformers' progress bars and its reports on weights, which this module checks itself."""
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
