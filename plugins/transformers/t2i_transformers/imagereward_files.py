"""Files of an ImageReward checkpoint: weights, the text encoder's configuration, and BERT's tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from t2i_torch_support import hub_files
from t2i_torch_support.weights import check_file

from . import checkpoints
from .checkpoints import CheckpointPlace

REPOSITORY = "THUDM/ImageReward"
WEIGHTS, TEXT_CONFIG = "ImageReward.pt", "med_config.json"


@dataclass(frozen=True)
class ImageRewardFiles:
    """Files of a checkpoint on this machine.

    Attributes:
        weights: The state dict, a pickle.
        text_config: Configuration of the text encoder, JSON.
        tokenizer: Folder with the tokenizer.
    """

    weights: Path
    text_config: Path
    tokenizer: Path


def fetch(
    place: CheckpointPlace, tokenizer: CheckpointPlace | None, sha256: str | None, offline: bool
) -> ImageRewardFiles:
    """Return the files of a checkpoint; download those that are missing unless `offline` is true.

    Args:
        place: The checkpoint.
        tokenizer: Place of the tokenizer; None: the checkpoint's.
        sha256: Expected SHA-256 of the weights; None: any.
        offline: Whether nothing may be downloaded.

    Raises:
        BadModel: A file is missing, cannot be downloaded, or has another SHA-256.
    """
    found = []
    for name in (WEIGHTS, TEXT_CONFIG):
        if place.folder is not None:
            found.append(place.folder / name)
            continue
        commit = checkpoints.commit(place, offline)
        found.append(hub_files.fetch_from_hub(place.name, (name,), commit, offline, place.spec))
    weights, text_config = found
    of_words = tokenizer or place
    folder = checkpoints.fetch(of_words, offline, weights=False)
    checkpoints.check_processor(of_words, folder, images=False, words=True)
    return ImageRewardFiles(
        check_file(weights, sha256, place.spec), check_file(text_config, None, place.spec), folder
    )


def list_dependencies(place: CheckpointPlace) -> Iterator[Path | str]:
    """Yield what results depend on, except the tokenizer: both files of a folder, or the name and commit."""
    if place.folder is None:
        yield f"{place.name}@{checkpoints.commit(place, offline=False)}"
    else:
        yield from (place.folder / WEIGHTS, place.folder / TEXT_CONFIG)
