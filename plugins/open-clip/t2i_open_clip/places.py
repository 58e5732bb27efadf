"""What an argument names on this machine. Imports nothing heavy, for fingerprints are made of it."""

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
    "ViT-H-14/laion2b_s32b_b79k": "laion/CLIP-ViT-H-14-laion2B-s32B-b79K",
}
"""Where open_clip has the presets' weights from; that it need not be imported for a plan."""
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
"""What open_clip looks for in a folder, in its order."""


def folder(argument: str) -> Path | None:
    """Return the folder that an argument names, if it is one. Raises BadModel for a path without one."""
    path = Path(argument.removeprefix("local-dir:")).expanduser()
    if (path / CONFIG).is_file():
        return path
    if path.is_dir() or argument.startswith(("/", ".", "~", "local-dir:")):
        raise BadModel(f"open-clip:{argument}: there is no folder with {CONFIG} at {path}")
    return None


def file_of(folder: Path, argument: str) -> Path:
    """Return a folder's weights. Raises BadModel where it has none."""
    for name in _OF_FOLDER:
        if (folder / name).is_file():
            return folder / name
    raise BadModel(f"open-clip:{argument}: {folder} holds no weights: none of {', '.join(_OF_FOLDER)}")


def own_file(argument: str) -> Path | None:
    """Return the file of MODEL/FILE, if it is there.

    A bare word without a suffix is a name of published weights, whatever lies in the working folder.
    """
    _, _, pretrained = argument.partition("/")
    path = Path(pretrained).expanduser()
    is_path = "/" in pretrained or bool(path.suffix)
    return path if is_path and path.is_file() else None


def weights(argument: str, options: ClipOptions) -> Iterable[Path | str]:
    """Return what the results depend on: files on this machine, or the name and commit of what is elsewhere."""
    if argument.startswith(HUB):
        return [f"{argument}@{options.revision}"]
    if found := folder(argument):
        return [found / CONFIG, file_of(found, argument)]
    return [own_file(argument) or f"{argument}@{options.revision}"]


def settled(argument: str, options: ClipOptions, offline: bool) -> ClipOptions:
    """Return the options with the commit in place of a revision that may move.

    Raises UnknownName, BadModel, and BadOption for a revision of files on this machine.
    """
    if not (repository := _repository(argument)):
        if own := folder(argument) or own_file(argument):
            hub_files.refuse_revision(options.revision, own, f"open-clip:{argument}")
        return options
    commit = hub_files.resolve_commit(repository, CONFIG, options.revision, offline, f"open-clip:{argument}")
    return options.model_copy(update={"revision": commit})


def _repository(argument: str) -> str:
    """The repository of an argument, or nothing for files on this machine and weights that are elsewhere."""
    if argument.startswith(HUB):
        return argument.removeprefix(HUB)
    if argument in REPOSITORIES:
        return REPOSITORIES[argument]
    if folder(argument) or own_file(argument):
        return ""
    from t2i_open_clip import sources  # imports open_clip

    return sources.find(argument).repository_and_name[0]
