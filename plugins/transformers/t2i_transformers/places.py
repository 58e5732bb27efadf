"""Where checkpoints lie: folders, or repositories of the hub; and which of their files count.

Imports huggingface_hub only where a repository is asked about, and torch never.
"""

from __future__ import annotations

import json
import re
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
"""The head of a coloured detector, beside the library's own files: weight (colours, width) and bias (colours,)."""
SAFE, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
_SIDE_FILES = ("*.json", "*.txt", "*.model", "*.jinja")
_OF_IMAGES = ("preprocessor_config.json", "processor_config.json")
_OF_WORDS = ("tokenizer.json", "vocab.json", "vocab.txt", "*.model")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")

NEVER_ANNOTATED = frozenset(
    {"street sign", "hat", "shoe", "eye glasses", "plate", "mirror", "window", "desk", "door", "blender"}
    | {"hair brush"}
)
"""Names among COCO's 91 numbers for which it has no annotation: nobody could learn them from it."""


@dataclass(frozen=True)
class CheckpointPlace:
    """A folder, or a repository at a revision.

    spec: what the user asked for, for messages
    """

    spec: str
    name: str
    revision: str | None = None

    @property
    def folder(self) -> Path | None:
        """The folder, where it is one."""
        path = Path(self.name).expanduser()
        return path if path.is_dir() else None


def find(spec: str, name: str, revision: str | None = None) -> CheckpointPlace:
    """Return the place of a name.

    Raises BadModel where it can be neither a folder nor a repository, and BadOption for a folder's revision.
    """
    place = CheckpointPlace(spec, name, revision)
    if place.folder is not None:
        hub_files.refuse_revision(revision, place.folder, spec)
    elif not _REPOSITORY.fullmatch(name):
        raise BadModel(f"{spec}: there is no folder {name}, and no repository either, which would be ORG/NAME")
    return place


def config(place: CheckpointPlace, offline: bool) -> Mapping[str, Any]:
    """Return a checkpoint's config, fetched where it is not there and may be. Raises BadModel."""
    if place.folder is not None:
        file = check_file(place.folder / CONFIG, None, place.spec)
    else:
        file = hub_files.fetch_from_hub(place.name, (CONFIG,), place.revision, offline, place.spec)
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadModel(f"{place.spec}: {file} is no JSON ({error})") from error
    if not isinstance(found, dict) or not isinstance(found.get("model_type"), str):
        raise BadModel(f"{place.spec}: {file} names no architecture (`model_type`): no checkpoint of transformers")
    names = found.get("id2label") or {}
    if not isinstance(names, dict) or not all(index.isdecimal() for index in names):
        raise BadModel(f"{place.spec}: {file} does not number its classes (`id2label`)")
    return found


def check_type(place: CheckpointPlace, types: Collection[str], offline: bool) -> None:
    """Raise BadModel where a checkpoint is of none of these architectures; none named: any will do."""
    found = config(place, offline)["model_type"]
    if types and found not in types:
        raise BadModel(f"{place.spec}: is a {found!r}; this judge runs {', '.join(sorted(types))}")


def commit(place: CheckpointPlace, offline: bool) -> str | None:
    """Return the commit of a repository, as it lies here or else as the hub has it; None for a folder."""
    if place.folder is not None:
        return None
    return hub_files.resolve_commit(place.name, CONFIG, place.revision, offline, place.spec)


def classes(config: Mapping[str, Any]) -> dict[int, ObjectClass]:
    """Return the classes that a checkpoint knows by the index of their logit.

    COCO's 80 classes have their synsets where all of them are there; others those that the config says (`synsets`,
    by the same indices), or else are names alone, whose sense nobody said. Left out is what stands for a gap among
    COCO's 91 numbers: `N/A`, and what COCO never annotated.
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


def colours(place: CheckpointPlace, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the colours that a checkpoint's head tells apart. Raises BadModel where it has none."""
    names = config.get("colours")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise BadModel(
            f"{place.spec}: its {CONFIG} names no colours (`colours`): it has no head of colours, which "
            "python -m t2i_transformers.train_detector trains"
        )
    return tuple(names)


def check_colours(place: CheckpointPlace, folder: Path) -> Path:
    """Return the file of a checkpoint's head of colours. Raises BadModel where it is not there, or not whole."""
    return check_file(folder / COLOURS, None, place.spec)


def weights_of(folder: Path) -> list[Path]:
    """Return the files of safe weights in a folder, or none: one, or the parts that its index names.

    The parts may not all be there. Raises BadModel where the index is none.
    """
    if (folder / SAFE).is_file():
        return [folder / SAFE]
    if not (folder / INDEX).is_file():
        return []
    try:
        parts = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        return [folder / part for part in sorted(parts)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadModel(f"{folder / INDEX} is no index of weights ({describe_error(error)})") from error


def weights_file(place: CheckpointPlace, folder: Path, sha256: str | None, offline: bool) -> list[Path]:
    """Return the files to load weights from, all there and of the digest asked for. Raises BadModel.

    A pickle is among them only where its digest is given.
    """
    found = weights_of(folder) or ([folder / PICKLE] if sha256 and (folder / PICKLE).is_file() else [])
    if not found and place.folder is None:
        raise _not_whole(place, SAFE, offline)
    if not found:
        pickle = f"; {PICKLE}, a pickle, is taken only with its digest (option sha256)"
        has = pickle if (folder / PICKLE).is_file() else ""
        raise BadModel(f"{place.spec}: {folder} holds no {SAFE}{has}")
    if missing := [file.name for file in found if not file.is_file()]:
        if place.folder is None:
            raise _not_whole(place, missing[0], offline)
        raise BadModel(f"{place.spec}: {folder} lacks {', '.join(missing)}")
    if sha256 and len(found) > 1:
        raise BadModel(f"{place.spec}: its weights are {len(found)} files: sha256 is for one; pin its revision")
    return [check_file(file, sha256, place.spec) for file in found]


def check_processor(place: CheckpointPlace, folder: Path, words: bool) -> None:
    """Raise BadModel where a folder does not say how images are prepared, or, where words are read, knows none."""
    if not any((folder / name).is_file() for name in _OF_IMAGES):
        raise BadModel(f"{place.spec}: {folder} holds no processor of images: none of {', '.join(_OF_IMAGES)}")
    if words and not any(found for name in _OF_WORDS for found in folder.glob(name)):
        raise BadModel(f"{place.spec}: {folder} holds no tokenizer: none of {', '.join(_OF_WORDS)}")


def fetch(place: CheckpointPlace, offline: bool, sha256: str | None = None, weights: bool = True) -> Path:
    """Return a checkpoint's folder; what a repository's lacks here is downloaded, where that may be.

    weights: with its weights, and not only what is small. Raises BadModel.
    """
    if place.folder is not None:
        return place.folder
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    offline = offline or constants.HF_HUB_OFFLINE
    at = commit(place, offline)
    why = None if offline else hub_files.find_outage()
    wanted = [*_SIDE_FILES, *([SAFE, COLOURS, "model-*-of-*.safetensors"] if weights else [])]
    try:
        folder = Path(
            snapshot_download(
                place.name,
                revision=at,
                local_files_only=offline or why is not None,
                allow_patterns=wanted,
                ignore_patterns=["*/*"],
            )
        )
    except LocalEntryNotFoundError as error:
        raise NotHere(place.name, place.spec, None if offline else why or describe_error(error)) from error
    except Exception as error:  # the hub's and the network's
        raise hub_files.make_hub_error(place.spec, place.name, error) from error
    if weights and not weights_of(folder):
        hub_files.fetch_from_hub(place.name, (PICKLE,) if sha256 else (SAFE,), at, offline, place.spec)
    return folder


def depends_on(place: CheckpointPlace) -> Iterator[Path | str]:
    """Yield what results depend on: a folder's files, or a repository's name and commit."""
    if place.folder is None:
        yield f"{place.name}@{commit(place, offline=False)}"
        return
    small = {f for pattern in _SIDE_FILES for f in place.folder.glob(pattern)}
    yield from sorted(small)
    yield from weights_of(place.folder) or sorted(place.folder.glob(PICKLE))
    yield from place.folder.glob(COLOURS)


def _not_whole(place: CheckpointPlace, missing: str, offline: bool) -> BadModel:
    """Say why a repository's folder lacks a file after all was fetched that could be."""
    from huggingface_hub import constants

    what = f"{missing} of {place.name}"
    if offline or constants.HF_HUB_OFFLINE:
        return NotHere(what, place.spec)
    if why := hub_files.find_outage():
        return NotHere(what, place.spec, why)
    return BadModel(
        f"{place.spec}: {place.name} has no {missing}, which {INDEX} names: it is not whole on the hub"
    )
