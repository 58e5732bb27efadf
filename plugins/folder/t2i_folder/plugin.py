"""The plugin: the generator `folder:DIR`, for existing images."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import ExistingImagesInfo, GeneratorInfo, Loading, Prompt, Setup, hookimpl

from .options import FolderOptions

if TYPE_CHECKING:
    from .generator import Folder
    from .table import Table


def _table(setup: Setup[FolderOptions]) -> Table:
    from .table import read_table

    return read_table(Path(setup.argument or ""), setup.options)


def _create(setup: Setup[FolderOptions]) -> Folder:
    from .generator import Folder

    return Folder(_table(setup), setup.options)


def _prompts(setup: Setup[FolderOptions]) -> Iterable[Prompt]:
    return _table(setup).prompts()


def _seeds(setup: Setup[FolderOptions]) -> Iterable[int]:
    return _table(setup).seeds


def _holds(setup: Setup[FolderOptions]) -> Callable[[Prompt, int], bool]:
    table = _table(setup)

    def holds(prompt: Prompt, seed: int) -> bool:
        file = table.find(prompt, seed)
        return file is not None and (not isinstance(file, Path) or file.exists())

    return holds


def _unshared_seeds(setup: Setup[FolderOptions]) -> str | None:
    return _table(setup).unshared_seeds


def _check(setup: Setup[FolderOptions]) -> None:
    _table(setup)


def _depends_on(argument: str | None, options: FolderOptions) -> Iterable[Path | str]:
    """Return a digest of the list of images; another list is another model."""
    from .layouts import find_layout

    return find_layout(Path(argument or ""), options).depends_on()


@hookimpl
def t2i_generators() -> list[GeneratorInfo]:
    """Return the generator's descriptor."""
    return [
        ExistingImagesInfo(
            name="folder",
            summary="Existing images: a folder with a table, parquet files, GenEval's folders, or a run of t2i.",
            argument="DIR: folder with the images and their prompts",
            needs_argument=True,
            options=FolderOptions,
            create=_create,
            prompts=_prompts,
            seeds=_seeds,
            holds=_holds,
            unshared_seeds=_unshared_seeds,
            loading=Loading(weights=_depends_on, check=_check),
        )
    ]
