"""What a folder says of one image, whatever its layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import splitext

from t2i_core.api.errors import BadModel
from t2i_core.api.prompt import Prompt

Made = tuple[str, ...]
"""What an image was made from: `("text", TEXT)`, or `("id", ID)` where the prompt's text is not known here."""


@dataclass(frozen=True)
class Stored:
    """An image inside a parquet file.

    column:      the column that holds it
    group, row:  its row group, and its row in there
    """

    file: Path
    column: str
    group: int
    row: int


File = Path | Stored


@dataclass(frozen=True)
class FolderEntry:
    """One image as the folder has it.

    where:   begins a message about it
    seed:    None where none is given
    id:      None where none is given
    prompt:  None where only an id is known
    """

    where: str
    file: File
    seed: int | None
    id: str | None
    prompt: Prompt | None

    @property
    def made(self) -> Made:
        """What it was made from."""
        return ("text", self.prompt.text) if self.prompt else ("id", self.id or "")


def image_path(folder: Path, name: str, where: str, suffixes: Sequence[str]) -> Path:
    """Return the path of an image that a table names. Raises BadModel where it cannot be one of this folder's.

    where:    begins the message
    suffixes: endings of the files that are images
    """
    slashed = name.replace("\\", "/")
    if slashed.startswith("/") or slashed[1:2] == ":":
        raise BadModel(f"{where}: file: {name!r} is absolute; want a path relative to the table")
    if ".." in slashed.split("/"):
        raise BadModel(f"{where}: file: {name!r} leads out of the folder; name the folder that holds all images")
    if "\0" in name:
        raise BadModel(f"{where}: file: {name!r} has a NUL character, which no path holds")
    ending = splitext(slashed)[1]
    if ending and ending.lower() not in suffixes:
        raise BadModel(
            f"{where}: file: {name!r} is none of {', '.join(suffixes)}; convert it, leave it out, or name its "
            "format in the option formats"
        )
    return folder / name
