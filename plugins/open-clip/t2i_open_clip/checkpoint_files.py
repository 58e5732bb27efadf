"""Local files that an argument names. Imports no heavy library, because fingerprints need it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from t2i_core.api.errors import BadModel
from t2i_torch_support import hub_files

from t2i_open_clip.options import ClipOptions

CONFIG = "open_clip_config.json"
HUB = "hf-hub:"
REPOSITORIES = {
    "ViT-B-32-quickgelu/openai": "timm/vit_base_patch32_clip_224.openai",
    "ViT-B-16-quickgelu/openai": "timm/vit_base_patch16_clip_224.openai",
    "ViT-L-14-quickgelu/openai": "timm/vit_large_patch14_clip_224.openai",
    "ViT-L-14-336-quickgelu/openai": "timm/vit_large_patch14_clip_336.openai",
    "ViT-H-14/laion2b_s32b_b79k": "laion/CLIP-ViT-H-14-laion2B-s32B-b79K",
}
"""Repositories of the presets' weights, so that a plan need not import open_clip."""
_OF_FOLDER = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.safetensors",
    "open_clip_pytorch_model.bin",
    "open_clip_pytorch_model.pth",
    "model.safetensors",
    "pytorch_model.bin",
    "pytorch_model.pth",
    "model.pth",
)
"""Files that open_clip looks for in a folder, in its order."""


def folder(argument: str) -> Path | None:
    """Return the folder that an argument names, or None. Raises BadModel for a path without a model."""
    path = Path(argument.removeprefix("local-dir:")).expanduser()
    if (path / CONFIG).is_file():
        return path
    if path.is_dir() or argument.startswith(("/", ".", "~", "local-dir:")):
        raise BadModel(f"open-clip:{argument}: {path} is not a folder with {CONFIG}")
    return None


def find_weights(folder: Path, argument: str) -> Path:
    """Return the weights file of a folder. Raises BadModel if it has none."""
    for name in _OF_FOLDER:
        if (folder / name).is_file():
            return folder / name
    raise BadModel(f"open-clip:{argument}: {folder} holds no weights: none of {', '.join(_OF_FOLDER)}")


def find_own_file(argument: str) -> Path | None:
    """Return the file of MODEL/FILE, or None if it does not exist.

    A name without a suffix always means published weights, even if such a file exists in the working directory.
    """
    _, _, pretrained = argument.partition("/")
    path = Path(pretrained).expanduser()
    is_path = "/" in pretrained or bool(path.suffix)
    return path if is_path and path.is_file() else None


def weights(argument: str, options: ClipOptions) -> Iterable[Path | str]:
    """Return what the results depend on: local files, or the name and commit of a repository."""
    if argument.startswith(HUB):
        return [f"{argument}@{options.revision}"]
    if found := folder(argument):
        return [found / CONFIG, find_weights(found, argument)]
    return [find_own_file(argument) or f"{argument}@{options.revision}"]


def is_here(argument: str, options: ClipOptions) -> bool:
    """Return whether the weights of a folder, or of a repository known to a preset, are on this machine.

    Returns False for all other arguments: only open_clip knows the places of their weights.

    Raises:
        NotHere: The weights of a preset are missing.
        BadModel: The folder holds no weights.
    """
    if own := folder(argument):
        return find_weights(own, argument).is_file()
    if argument not in REPOSITORIES:
        return False
    spec = f"open-clip:{argument}"
    found = hub_files.fetch_from_hub(REPOSITORIES[argument], _OF_FOLDER[:1], options.revision, True, spec)
    return found.is_file()


def pin_commit(argument: str, options: ClipOptions, offline: bool) -> ClipOptions:
    """Return the options with the commit of the revision.

    Raises:
        UnknownName: The model is not known.
        BadModel: The commit cannot be determined.
        BadOption: A revision is given for local files.
    """
    if not (repository := _repository(argument)):
        if own := folder(argument) or find_own_file(argument):
            hub_files.refuse_revision(options.revision, own, f"open-clip:{argument}")
        return options
    commit = hub_files.resolve_commit(repository, CONFIG, options.revision, offline, f"open-clip:{argument}")
    return options.model_copy(update={"revision": commit})


def _repository(argument: str) -> str:
    """Return the repository of an argument; None for local files and for weights outside the hub."""
    if argument.startswith(HUB):
        return argument.removeprefix(HUB)
    if argument in REPOSITORIES:
        return REPOSITORIES[argument]
    if folder(argument) or find_own_file(argument):
        return ""
    from t2i_open_clip import sources  # imports open_clip

    return sources.find(argument).repository_and_name[0]
