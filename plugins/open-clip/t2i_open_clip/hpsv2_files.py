"""The weights of HPSv2 and HPSv2.1: a local file, or a repository on the hub. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import Setup
from t2i_core.api.errors import BadModel
from t2i_torch_support import hub_files
from t2i_torch_support.weights import check_file

from t2i_open_clip.options import ClipOptions, Hpsv2Options

if TYPE_CHECKING:
    from t2i_open_clip.sources import ClipSource

ARCHITECTURE = "ViT-H-14"
REPOSITORY = "xswu/HPSv2"
FILES = {"2.0": "HPS_v2_compressed.pt", "2.1": "HPS_v2.1_compressed.pt"}
"""Files of the repository, by version; each is a pickle whose key `state_dict` holds the weights."""


def describe(argument: str | None, options: Hpsv2Options) -> str:
    """Return the component as a user would name it."""
    name = "hpsv21" if options.version == "2.1" else "hpsv2"
    return f"{name}:{argument}" if argument else name


def find_file(argument: str | None, options: Hpsv2Options) -> Path | None:
    """Return the local file that an argument names; None for a repository.

    Raises:
        BadModel: The argument is neither a file nor a repository.
    """
    if argument is None:
        return None
    path = Path(argument).expanduser()
    if path.is_file():
        hub_files.refuse_revision(options.revision, path, describe(argument, options))
        return path
    if not hub_files.is_repository(argument):
        raise BadModel(
            f"{describe(argument, options)}: {argument} is neither a file nor a repository (ORG/NAME); leave it "
            f"out to use {REPOSITORY}"
        )
    return None


def fetch(argument: str | None, options: Hpsv2Options, offline: bool) -> Path:
    """Return the file of weights; download it if it is missing and may be downloaded. Raises BadModel."""
    spec = describe(argument, options)
    file = find_file(argument, options)
    if file is None:
        name = FILES[options.version]
        file = hub_files.fetch_from_hub(argument or REPOSITORY, (name,), options.revision, offline, spec)
    return check_file(file, options.sha256, spec)


def describe_source(file: Path, argument: str | None, options: Hpsv2Options) -> ClipSource:
    """Return the model with its file of weights."""
    from t2i_open_clip.sources import ClipSource

    return ClipSource(str(file), ARCHITECTURE, file=file, name=describe(argument, options))


def make_clip_setup(setup: Setup[Hpsv2Options]) -> Setup[ClipOptions]:
    """Return the setup of the network, without the options of its file, which is found already."""
    options = ClipOptions(dtype=setup.options.dtype)
    return Setup(None, options, setup.device, setup.batch_size, setup.offline)


def list_dependencies(argument: str | None, options: Hpsv2Options) -> Iterator[Path | str]:
    """Yield what results depend on: a local file, or the name and commit of a repository."""
    file = find_file(argument, options)
    yield file or f"{argument or REPOSITORY}@{options.revision}:{FILES[options.version]}"


def pin_commit(argument: str | None, options: Hpsv2Options, offline: bool) -> Hpsv2Options:
    """Return the options with the commit of the revision. Raises BadModel."""
    if find_file(argument, options):
        return options
    repository, spec = argument or REPOSITORY, describe(argument, options)
    commit = hub_files.resolve_commit(repository, "README.md", options.revision, offline, spec)
    return options.model_copy(update={"revision": commit})
