"""Checkpoints: where they are, and how they are read without running what they bring along.

ultralytics publishes pickles alone, and pickles of whole networks, not of weights. They are read by PyTorch's
restricted unpickler with the library's list of the classes that a network is made of: the library's own layers,
PyTorch's, and plain data. Anything else in a file is refused before it is run; there is no option that lets it.
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
from t2i_core.files.digest import digest_file
from t2i_torch_support import url_files
from t2i_torch_support.weights import check_file, explain_load_error

from t2i_ultralytics import assets, coco, library
from t2i_ultralytics.options import DetectOptions

_PARTS = "a network of ultralytics"


@dataclass(frozen=True)
class Facts:
    """What a checkpoint says of itself.

    names:   its classes, in order
    task:    what it was trained for: segment, detect, or another
    stride:  pixels that one cell of its coarsest grid covers; sides of what it is shown are multiples of it
    """

    names: tuple[str, ...]
    task: str
    stride: int


def check(argument: str, options: DetectOptions, masks: bool) -> None:
    """Say what is wrong with a checkpoint that is on this machine. masks: whether it must give some.

    Raises UnknownName, BadModel or BadOption.
    """
    _check_facts(facts(fetch(argument, options, offline=True), argument), argument, options, masks)


def fetch(argument: str, options: DetectOptions, offline: bool) -> Path:
    """Return the checkpoint's file; an asset is downloaded where it is not there and may be. Raises BadModel.

    No digests of assets are published: one that the user does not pin keeps the digest that it has when it is
    first seen on this machine.
    """
    if path := assets.local(argument):
        return check_file(path, options.sha256, f"ultralytics:{argument}")
    spec, folder = f"ultralytics:{argument}", f"ultralytics/{assets.RELEASE}"
    return url_files.fetch_from_url(assets.url(argument), options.sha256, offline, spec, folder)


def settled(argument: str, options: DetectOptions, offline: bool) -> DetectOptions:
    """Return an asset's options with its digest, which results depend on. Raises BadModel.

    It is downloaded where it is not there and may be: nobody publishes its digest.
    """
    return options.model_copy(update={"sha256": digest_file(fetch(argument, options, offline))})


def load(argument: str, options: DetectOptions, masks: bool, offline: bool) -> tuple[Any, Facts, Path]:
    """Return the network on the CPU in float32, layers fused as the library's predictors do, and its file.

    Raises UnknownName, BadModel or BadOption.
    """
    file = fetch(argument, options, offline)
    network = _read(file, argument)
    found = _facts(network, file, argument)
    _check_facts(found, argument, options, masks)
    if assets.local(argument) is None and coco.classes(found.names) != coco.LABELS:
        raise BadModel(
            f"ultralytics:{argument}: {file} has other classes than COCO's: it is not the asset of this name"
        )
    return network.fuse(verbose=False).eval().requires_grad_(False), found, file


def facts(file: Path, argument: str) -> Facts:
    """Return what a file says of itself; it is read once as long as it stays the same. Raises BadModel."""
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
        raise assets.no_masks(argument)
    if found.task not in ("segment", "detect"):
        raise BadModel(f"ultralytics:{argument}: it is a model for the task {found.task}: want segment or detect")
    if options.imgsz % found.stride:
        raise BadOption(f"imgsz={options.imgsz}: {argument} wants a multiple of {found.stride}")


def _read(file: Path, argument: str) -> Any:
    """The network that a file holds, in float32."""
    if file.suffix != ".pt":
        raise BadModel(f"ultralytics:{argument}: {file} is no .pt file")
    if not is_zipfile(file):
        what = "no whole archive of PyTorch (torch.save, 1.6 or later)"
        raise BadModel(f"ultralytics:{argument}: {file} is {what}")
    try:
        with _read_as_it_stands():
            checkpoint, _ = library.tasks.torch_safe_load(str(file), safe_only=True)
        network = checkpoint.get("ema") or checkpoint.get("model")
        if not isinstance(network, library.tasks.BaseModel):
            raise TypeError(f"it holds a {type(network).__name__} and no network of ultralytics")
        network = network.float()
        for layer in network.modules():
            if isinstance(layer, torch.nn.Upsample) and not hasattr(layer, "recompute_scale_factor"):
                layer.recompute_scale_factor = None  # files saved by PyTorch before 1.11 lack it
    except Exception as error:  # of many kinds: no archive, cut off, other classes than those of networks
        raise BadModel(
            f"ultralytics:{argument}: {file} is refused: {explain_load_error(error, _PARTS)}"
        ) from error
    return network


@contextmanager
def _read_as_it_stands() -> Iterator[None]:
    """Keep the library from looking for the file elsewhere, the network included, and from widening, for all
    that is loaded later in this process, what PyTorch takes for safe."""
    look, safe = library.downloads.attempt_download_asset, torch.serialization.get_safe_globals()
    library.downloads.attempt_download_asset = str
    try:
        yield
    finally:
        library.downloads.attempt_download_asset = look
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(safe)
