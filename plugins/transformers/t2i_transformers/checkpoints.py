"""Locations of checkpoints (folders, or repositories of the hub), and the files that t2i reads of them.

Imports huggingface_hub only for repositories, and never torch.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api import ObjectClass
from t2i_core.api.errors import BadModel, NotHere
from t2i_core.api.text import describe_error
from t2i_torch_support import hub_files
from t2i_torch_support.coco_classes import CLASSES
from t2i_torch_support.weights import check_file

CONFIG = "config.json"
COLOURS = "colours.safetensors"
"""File of a coloured detector's colour head: weight (colours, width) and bias (colours,)."""
SAFE, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
_SIDE_FILES = ("*.json", "*.txt", "*.model", "*.jinja")
_OF_IMAGES = ("preprocessor_config.json", "processor_config.json")
_OF_WORDS = ("tokenizer.json", "vocab.json", "vocab.txt", "*.model")

NEVER_ANNOTATED = frozenset(
    {"street sign", "hat", "shoe", "eye glasses", "plate", "mirror", "window", "desk", "door", "blender"}
    | {"hair brush"}
)
"""Names among COCO's 91 class numbers that COCO never annotates."""


@dataclass(frozen=True)
class CheckpointPlace:
    """A folder, or a repository at a revision.

    Attributes:
        spec: The component as the user named it, for messages.
        name: Path of the folder, or ORG/NAME.
        revision: Branch, tag or commit of the repository.
    """

    spec: str
    name: str
    revision: str | None = None

    @property
    def folder(self) -> Path | None:
        """The folder; None for a repository."""
        path = Path(self.name).expanduser()
        return path if path.is_dir() else None


def find(spec: str, name: str, revision: str | None = None) -> CheckpointPlace:
    """Return the place of a checkpoint.

    Args:
        spec: The component as the user named it, for messages.
        name: Path of a folder, or ORG/NAME.
        revision: Branch, tag or commit of a repository.

    Raises:
        BadModel: The name is neither a folder nor ORG/NAME.
        BadOption: A folder has a revision.
    """
    place = CheckpointPlace(spec, name, revision)
    if place.folder is not None:
        hub_files.refuse_revision(revision, place.folder, spec)
    elif Path(name).expanduser().is_file():
        raise BadModel(f"{spec}: {_explain_own_layout(Path(name))}")
    elif not hub_files.is_repository(name):
        raise BadModel(f"{spec}: {name} is neither a folder nor a repository (ORG/NAME)")
    return place


def config(place: CheckpointPlace, offline: bool) -> Mapping[str, Any]:
    """Return a checkpoint's config; download it if it is missing and `offline` is false. Raises BadModel."""
    if place.folder is not None:
        if not (place.folder / CONFIG).is_file() and (own := sorted(place.folder.glob("*.pth"))):
            raise BadModel(f"{place.spec}: {_explain_own_layout(own[0])}")
        file = check_file(place.folder / CONFIG, None, place.spec)
    else:
        file = hub_files.fetch_from_hub(place.name, (CONFIG,), place.revision, offline, place.spec)
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadModel(f"{place.spec}: {file} is not valid JSON ({error})") from error
    if not isinstance(found, dict) or not isinstance(found.get("model_type"), str):
        raise BadModel(
            f"{place.spec}: {file} has no architecture (`model_type`), so it is not a checkpoint of transformers"
        )
    names = found.get("id2label") or {}
    if not isinstance(names, dict) or not all(index.isdecimal() for index in names):
        raise BadModel(f"{place.spec}: {file} does not number its classes (`id2label`)")
    return found


def _explain_own_layout(file: Path) -> str:
    """Return what to do with a checkpoint that is not in the layout of transformers."""
    return (
        f"{file} is a file, not a folder that save_pretrained wrote; a checkpoint of facebookresearch/detr is "
        f"converted by: python -m t2i_transformers.detr_checkpoint {file} OUT --classes ANNOTATIONS.json"
    )


def check_type(place: CheckpointPlace, types: Collection[str], offline: bool) -> None:
    """Raise BadModel if a checkpoint has none of these architectures; an empty collection allows any."""
    found = config(place, offline)["model_type"]
    if types and found not in types:
        raise BadModel(f"{place.spec}: has the architecture {found!r}; this judge runs {', '.join(sorted(types))}")


def commit(place: CheckpointPlace, offline: bool) -> str | None:
    """Return the commit of a repository, from the local cache or else from the hub; None for a folder."""
    if place.folder is not None:
        return None
    return hub_files.resolve_commit(place.name, CONFIG, place.revision, offline, place.spec)


def classes(config: Mapping[str, Any]) -> dict[int, ObjectClass]:
    """Return the classes of a checkpoint by the index of their logit.

    If all of COCO's 80 classes are present, they get their synsets. Other classes get the synsets of the config
    (`synsets`, by the same indices), or none. Gaps among COCO's 91 class numbers are left out: `N/A`, and the
    classes that COCO never annotates.
    """
    names = {int(index): str(name) for index, name in (config.get("id2label") or {}).items()}
    synsets = config.get("synsets") or {}
    is_coco = CLASSES.keys() <= set(names.values())
    gaps = {"N/A"} | (NEVER_ANNOTATED if is_coco and len(names) == 91 else set())
    return {
        index: (CLASSES if is_coco else {}).get(name, ObjectClass(name, synsets.get(str(index))))
        for index, name in sorted(names.items())
        if name not in gaps
    }


def list_labels(place: CheckpointPlace, config: Mapping[str, Any]) -> tuple[ObjectClass, ...]:
    """Return the class of each logit of a classifier.

    Raises:
        BadModel: If two share a name, one has none, or several may hold for one image.
    """
    if config.get("problem_type") not in (None, "single_label_classification"):
        raise BadModel(
            f"{place.spec}: its {CONFIG} has the problem type {config['problem_type']!r}, whose logits are not "
            "those of one class of several; use a checkpoint with one class for each image"
        )
    found = classes(config)
    names = [each.name for each in found.values()]
    if not names or list(found) != list(range(len(names))) or len(set(names)) < len(names):
        raise BadModel(
            f"{place.spec}: its {CONFIG} does not give each class a name of its own (`id2label`, numbered from "
            "0), so it is not a classifier that t2i can read"
        )
    return tuple(found.values())


def colours(place: CheckpointPlace, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the colours that a checkpoint's colour head predicts. Raises BadModel if it has none."""
    names = config.get("colours")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise BadModel(
            f"{place.spec}: its {CONFIG} lists no colours (`colours`), so it has no colour head; train one with "
            "plugins/transformers/training/train_coloured_detector.py of t2i's repository"
        )
    return tuple(names)


def check_colours(place: CheckpointPlace, folder: Path) -> Path:
    """Return the file of a checkpoint's colour head. Raises BadModel if it is missing or incomplete."""
    return check_file(folder / COLOURS, None, place.spec)


def find_weights(folder: Path) -> list[Path]:
    """Return the safetensors files of a folder: one file, the parts that an index names, or an empty list.

    Some parts may not exist. Raises BadModel if the index is not valid.
    """
    if (folder / SAFE).is_file():
        return [folder / SAFE]
    if not (folder / INDEX).is_file():
        return []
    try:
        parts = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        return [folder / part for part in sorted(parts)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadModel(f"{folder / INDEX} is not a valid index of weights ({describe_error(error)})") from error


def weights_file(place: CheckpointPlace, folder: Path, sha256: str | None, offline: bool) -> list[Path]:
    """Return the files of the weights; a pickle only if its SHA-256 is given.

    Args:
        place: The checkpoint.
        folder: Folder with its files.
        sha256: Expected SHA-256 of the weights file.
        offline: Whether nothing may be downloaded.

    Raises:
        BadModel: A file is missing or has another SHA-256.
    """
    found = find_weights(folder) or ([folder / PICKLE] if sha256 and (folder / PICKLE).is_file() else [])
    if not found and place.folder is None:
        raise _missing_file_error(place, SAFE, offline)
    if not found:
        pickle = f"; {PICKLE} is a pickle and needs its digest (option sha256)"
        has = pickle if (folder / PICKLE).is_file() else ""
        raise BadModel(f"{place.spec}: {folder} holds no {SAFE}{has}")
    if missing := [file.name for file in found if not file.is_file()]:
        if place.folder is None:
            raise _missing_file_error(place, missing[0], offline)
        raise BadModel(f"{place.spec}: {folder} lacks {', '.join(missing)}")
    if sha256 and len(found) > 1:
        raise BadModel(
            f"{place.spec}: sha256 needs a single weights file (got {len(found)}); set the revision instead"
        )
    return [check_file(file, sha256, place.spec) for file in found]


def check_processor(place: CheckpointPlace, folder: Path, words: bool, images: bool = True) -> None:
    """Raise BadModel if a folder lacks the image processor (if `images`) or the tokenizer (if `words`)."""
    if images and not any((folder / name).is_file() for name in _OF_IMAGES):
        raise BadModel(f"{place.spec}: {folder} holds no image processor (none of {', '.join(_OF_IMAGES)})")
    if words and not any(found for name in _OF_WORDS for found in folder.glob(name)):
        raise BadModel(f"{place.spec}: {folder} holds no tokenizer (none of {', '.join(_OF_WORDS)})")


def fetch(place: CheckpointPlace, offline: bool, sha256: str | None = None, weights: bool = True) -> Path:
    """Return the folder of a checkpoint; download missing files of a repository unless `offline` is true.

    Args:
        place: The checkpoint.
        offline: Whether nothing may be downloaded.
        sha256: SHA-256 of a pickle to download if there are no safetensors.
        weights: Whether to download weights, in addition to the small files.

    Raises:
        BadModel: A file cannot be downloaded.
    """
    if place.folder is not None:
        return place.folder
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    offline = offline or constants.HF_HUB_OFFLINE
    at = commit(place, offline)
    why = None if offline else hub_files.find_outage()
    local = offline or why is not None
    wanted = [*_SIDE_FILES, *([SAFE, COLOURS, "model-*-of-*.safetensors"] if weights else [])]
    try:
        with hub_files.network(allowed=not local):
            found = snapshot_download(
                place.name,
                revision=at,
                local_files_only=local,
                allow_patterns=wanted,
                ignore_patterns=["*/*"],
            )
        folder = Path(found)
    except LocalEntryNotFoundError as error:
        raise NotHere(place.name, place.spec, None if offline else why or describe_error(error)) from error
    except Exception as error:  # errors of the hub and of the network
        raise hub_files.make_hub_error(place.spec, place.name, error) from error
    if weights and not find_weights(folder):
        hub_files.fetch_from_hub(place.name, (PICKLE,) if sha256 else (SAFE,), at, offline, place.spec)
    return folder


def list_dependencies(place: CheckpointPlace) -> Iterator[Path | str]:
    """Yield what results depend on: the files of a folder, or the name and commit of a repository."""
    if place.folder is None:
        yield f"{place.name}@{commit(place, offline=False)}"
        return
    small = {f for pattern in _SIDE_FILES for f in place.folder.glob(pattern)}
    yield from sorted(small)
    yield from find_weights(place.folder) or sorted(place.folder.glob(PICKLE))
    yield from place.folder.glob(COLOURS)


def _missing_file_error(place: CheckpointPlace, missing: str, offline: bool) -> BadModel:
    """Return the error for a file that is missing after the download."""
    from huggingface_hub import constants

    what = f"{missing} of {place.name}"
    if offline or constants.HF_HUB_OFFLINE:
        return NotHere(what, place.spec)
    if why := hub_files.find_outage():
        return NotHere(what, place.spec, why)
    return BadModel(
        f"{place.spec}: {place.name} has no {missing}, which {INDEX} names; the repository is incomplete"
    )
