"""The descriptor of the judge `hpsv3`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, Setup

from .component_places import find_places
from .options import Hpsv3Options, precision

if TYPE_CHECKING:
    from t2i_core.api import Judge

    from .checkpoints import CheckpointPlace

NAME = "hpsv3"


def describe_hpsv3() -> JudgeInfo:
    """Return the descriptor."""
    return JudgeInfo(
        name=NAME,
        summary="Scores an image for a text with Human Preference Score v3.",
        argument="FOLDER with HPSv3.safetensors, or ORG/NAME on the Hugging Face hub; by default MizzenAI/HPSv3",
        options=Hpsv3Options,
        capabilities={"reward": frozenset()},
        create=_create,
        loading=Loading(weights=_list_weights, check=_check, resolve=_resolve, prefetch=_prefetch),
        about=About(
            citation="Ma et al.: HPSv3: Towards Wide-Spectrum Human Preference Score. ICCV 2025",
            licence="MIT (package hpsv3); Qwen2-VL-7B: Apache-2.0",
            memory_gb=20.0,
            notes="Truncates no text. Its scale has no bounds.",
        ),
        code=(
            "checkpoints.py",
            "component_places.py",
            "data/hpsv3_prompt.json",
            "hpsv3*.py",
            "judge.py",
            "loaded_checkpoint.py",
            "options.py",
            "pickled_weights.py",
        ),
    )


def _places(argument: str | None, options: Hpsv3Options) -> tuple[CheckpointPlace, CheckpointPlace]:
    """Return the place of the weights and that of Qwen2-VL's config and processor."""
    from .hpsv3_files import REPOSITORY

    own, base = find_places(NAME, argument or REPOSITORY, options)
    return own, base or own


def _create(setup: Setup[Hpsv3Options]) -> Judge:
    from .hpsv3 import Hpsv3Rewarder

    return Hpsv3Rewarder(setup, *_places(setup.argument, setup.options))


def _list_weights(argument: str | None, options: Hpsv3Options) -> Iterator[Path | str]:
    from . import checkpoints, hpsv3_files

    own, base = _places(argument, options)
    yield from hpsv3_files.list_dependencies(own)
    yield from checkpoints.list_dependencies(base)


def _check(setup: Setup[Hpsv3Options]) -> None:
    """Raise an error for bad files before they are loaded; check a repository only if t2i is offline."""
    from t2i_torch_support.device import check_device

    check_device(setup.device)
    own, _ = _places(setup.argument, setup.options)
    if own.folder is None and not setup.offline:
        return
    _prefetch(setup)
    if own.folder is None or setup.dry:
        return
    import torch
    from t2i_torch_support.trial_load import try_load

    from . import checkpoints, hpsv3_files, pickled_weights
    from .hpsv3_network import build_network

    base = _places(setup.argument, setup.options)[1]
    config = checkpoints.config(base, setup.offline)
    file = hpsv3_files.fetch(own, None, setup.offline)
    try_load(
        lambda: build_network(config, pickled_weights.read_weights([file], own.spec), torch.float32, own.spec)
    )


def _resolve(setup: Setup[Hpsv3Options]) -> Hpsv3Options:
    """Return the options with a definite precision, and with commits of repositories."""
    from t2i_torch_support.device import get_device_type

    from . import checkpoints, hpsv3_files

    own, base = _places(setup.argument, setup.options)
    changes: dict[str, str | None] = {}
    if own.folder is None:
        changes["revision"] = hpsv3_files.find_commit(own, setup.offline)
    if base.folder is None:
        changes["processor"] = f"{base.name}@{checkpoints.commit(base, setup.offline)}"
    if setup.options.dtype == "auto":
        changes["dtype"] = precision(get_device_type(setup.device))
    return setup.options.model_copy(update=changes)


def _prefetch(setup: Setup[Hpsv3Options]) -> None:
    from . import checkpoints, hpsv3_files

    own, base = _places(setup.argument, setup.options)
    hpsv3_files.fetch(own, setup.options.sha256, setup.offline)
    folder = checkpoints.fetch(base, setup.offline, weights=False)
    checkpoints.config(base, setup.offline)
    checkpoints.check_processor(base, folder, words=True)
