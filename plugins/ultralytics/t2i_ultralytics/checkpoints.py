"""Checkpoints: their location, and loading without running code from them.

ultralytics publishes only pickles, of whole networks instead of weights. PyTorch's restricted unpickler reads them
with the library's list of allowed classes: the layers of ultralytics and PyTorch, and plain data. A file with
anything else is rejected before it runs code; no option changes that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import torch
from t2i_core.api.errors import BadModel, BadOption
from t2i_torch_support.weights import check_file, explain_load_error

from t2i_ultralytics import assets, coco, library
from t2i_ultralytics.options import DetectOptions

_PARTS = "a network of ultralytics"


@dataclass(frozen=True)
class Facts:
    """Facts from a checkpoint.

    Attributes:
        names: Names of the classes, in order.
        task: Task of the training: segment, detect, or another.
        stride: Pixels per cell of the coarsest grid; the sides of inputs are multiples of it.
    """

    names: tuple[str, ...]
    task: str
    stride: int


def check(argument: str, options: DetectOptions, masks: bool) -> None:
    """Check a local checkpoint; `masks` tells whether it must give masks.

    Raises:
        UnknownName: The asset is not known.
        BadModel: The checkpoint is not valid.
        BadOption: An option does not fit the checkpoint.
    """
    _check_facts(read_facts(assets.fetch(argument, options, offline=True), argument), argument, options, masks)


def load(argument: str, options: DetectOptions, masks: bool, offline: bool) -> tuple[Any, Facts, Path]:
    """Return the network and its file; the network is in float32 on the CPU, fused as in the library's predictors.

    Raises:
        UnknownName: The asset is not known.
        BadModel: The checkpoint is not valid.
        BadOption: An option does not fit the checkpoint.
    """
    file = assets.fetch(argument, options, offline)
    network = _read(file, argument)
    found = _facts(network, file, argument)
    _check_facts(found, argument, options, masks)
    if assets.local(argument) is None and coco.classes(found.names) != coco.LABELS:
        raise BadModel(
            f"ultralytics:{argument}: {file} has other classes than COCO's: it is not the asset of this name"
        )
    return network.fuse(verbose=False).eval().requires_grad_(False), found, file


def read_facts(file: Path, argument: str) -> Facts:
    """Return the facts from a file; an unchanged file is read once. Raises BadModel."""
    status = check_file(file, None, f"ultralytics:{argument}").stat()
    return _facts_of(file, argument, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=32)
def _facts_of(file: Path, argument: str, changed: int, size: int) -> Facts:
    return _facts(_read(file, argument), file, argument)


def _facts(network: Any, file: Path, argument: str) -> Facts:
    names, stride = getattr(network, "names", None), getattr(network, "stride", None)
    if not isinstance(names, dict) or set(names) != set(range(len(names))):
        raise BadModel(f"ultralytics:{argument}: {file} does not name its classes")
    if not isinstance(stride, torch.Tensor) or not stride.numel() or not torch.isfinite(stride).all():
        raise BadModel(f"ultralytics:{argument}: {file} does not say the strides of its grids")
    task = getattr(network, "task", None) or library.tasks.guess_model_task(network)
    return Facts(tuple(str(names[i]) for i in range(len(names))), task, max(int(stride.max()), 32))


def _check_facts(found: Facts, argument: str, options: DetectOptions, masks: bool) -> None:
    if masks and found.task == "detect":
        raise assets.make_no_masks_error(argument)
    if found.task not in ("segment", "detect"):
        raise BadModel(f"ultralytics:{argument}: its task must be segment or detect (got {found.task})")
    if options.imgsz % found.stride:
        raise BadOption(f"imgsz must be a multiple of {found.stride} for {argument} (got {options.imgsz})")


def _read(file: Path, argument: str) -> Any:
    """Return the network in a file, in float32."""
    if file.suffix != ".pt":
        raise BadModel(f"ultralytics:{argument}: {file} is not a .pt file")
    if not is_zipfile(file):
        what = "no whole archive of PyTorch (torch.save, 1.6 or later)"
        raise BadModel(f"ultralytics:{argument}: {file} is {what}")
    try:
        with _restrict_loading():
            checkpoint, _ = library.tasks.torch_safe_load(str(file), safe_only=True)
        network = checkpoint.get("ema") or checkpoint.get("model")
        if not isinstance(network, library.tasks.BaseModel):
            raise TypeError(f"it holds a {type(network).__name__} and no network of ultralytics")
        network = network.float()
        for layer in network.modules():
            if isinstance(layer, torch.nn.Upsample) and not hasattr(layer, "recompute_scale_factor"):
                layer.recompute_scale_factor = None  # files saved by PyTorch before 1.11 lack it
    except Exception as error:  # of many types: not an archive, truncated, classes that are not allowed
        raise BadModel(
            f"ultralytics:{argument}: {file} is refused: {explain_load_error(error, _PARTS)}"
        ) from error
    return network


@contextmanager
def _restrict_loading() -> Iterator[None]:
    """Keep the library from searching the file elsewhere, and from extending PyTorch's list of safe classes.

    Without this, the library would also search the network, and the list would stay extended for the whole
    process.
    """
    look, safe = library.downloads.attempt_download_asset, torch.serialization.get_safe_globals()
    library.downloads.attempt_download_asset = str
    try:
        yield
    finally:
        library.downloads.attempt_download_asset = look
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(safe)
