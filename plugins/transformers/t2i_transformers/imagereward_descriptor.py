"""The descriptor of the judge `imagereward`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, Setup

from .component_places import find_places, pin
from .options import ImageRewardOptions

if TYPE_CHECKING:
    from t2i_core.api import Judge

    from .checkpoints import CheckpointPlace

NAME = "imagereward"


def describe_imagereward() -> JudgeInfo:
    """Return the descriptor."""
    return JudgeInfo(
        name=NAME,
        summary="Scores an image for a text with ImageReward, which was trained on people's rankings.",
        argument="FOLDER with ImageReward.pt and med_config.json, or ORG/NAME on the Hugging Face hub; by default "
        "THUDM/ImageReward",
        options=ImageRewardOptions,
        capabilities={"reward": frozenset()},
        create=_create,
        loading=Loading(
            weights=_list_weights,
            check=_check,
            resolve=_resolve,
            prefetch=_prefetch,
        ),
        about=About(
            citation="Xu et al.: ImageReward: Learning and Evaluating Human Preferences for Text-to-Image "
            "Generation. NeurIPS 2023",
            licence="Apache-2.0",
            memory_gb=4.0,
            notes="Truncates texts after 35 tokens, with a warning.",
        ),
        code=(
            "checkpoints.py",
            "component_places.py",
            "imagereward*.py",
            "judge.py",
            "loaded_checkpoint.py",
            "options.py",
            "truncation.py",
        ),
    )


def _places(argument: str | None, options: ImageRewardOptions) -> tuple[CheckpointPlace, CheckpointPlace | None]:
    """Return the place of an ImageReward checkpoint and that of its tokenizer (None: the same)."""
    from .imagereward_files import REPOSITORY

    return find_places(NAME, argument or REPOSITORY, options)


def _create(setup: Setup[ImageRewardOptions]) -> Judge:
    from .imagereward import ImageRewarder

    return ImageRewarder(setup, *_places(setup.argument, setup.options))


def _list_weights(argument: str | None, options: ImageRewardOptions) -> Iterator[Path | str]:
    from . import checkpoints, imagereward_files

    place, tokenizer = _places(argument, options)
    yield from imagereward_files.list_dependencies(place)
    yield from checkpoints.list_dependencies(tokenizer or place)


def _check(setup: Setup[ImageRewardOptions]) -> None:
    """Raise an error for bad files before they are loaded; check a repository only if t2i is offline."""
    from t2i_torch_support.device import check_device

    check_device(setup.device)
    place, tokenizer = _places(setup.argument, setup.options)
    if place.folder is None and not setup.offline:
        return
    from . import imagereward_files

    files = imagereward_files.fetch(place, tokenizer, setup.options.sha256, setup.offline)
    if place.folder is None or setup.dry:
        return
    import torch
    from t2i_torch_support.trial_load import try_load

    from .imagereward import load_parts

    try_load(lambda: load_parts(files, torch.float32, place.spec))


def _resolve(setup: Setup[ImageRewardOptions]) -> ImageRewardOptions:
    """Return the options with a definite precision, and with commits of repositories."""
    return setup.options.model_copy(update=pin(setup, *_places(setup.argument, setup.options)))


def _prefetch(setup: Setup[ImageRewardOptions]) -> None:
    from . import imagereward_files

    places = _places(setup.argument, setup.options)
    imagereward_files.fetch(*places, setup.options.sha256, setup.offline)
