"""The entry of one image in a folder, for all layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import splitext

from t2i_core.api.errors import BadModel
from t2i_core.api.prompt import Prompt

Made = tuple[str, ...]
"""Key of an image's prompt: `("text", TEXT)`, or `("id", ID)` or `("image", NUMBER)` if its text is unknown."""


@dataclass(frozen=True)
class Stored:
    """An image inside a parquet file.

    Attributes:
        column: Column that holds the image.
        group: Row group.
        row: Row within the row group.
    """

    file: Path
    column: str
    group: int
    row: int


@dataclass(frozen=True)
class Packed:
    """An image inside an uncompressed tar file.

    Attributes:
        name: Name of the member.
        offset: Position of its first byte in the tar file.
        size: Number of its bytes.
    """

    file: Path
    name: str
    offset: int
    size: int


File = Path | Stored | Packed


@dataclass(frozen=True)
class FolderEntry:
    """One image of a folder.

    Attributes:
        where: Start of messages about the image.
        seed: Seed, if one is given.
        id: Id of the prompt, if one is given.
        prompt: Prompt; None if only the id is known.
        noise_seed: Seed of the starting noise, if one is given besides the seed.
        image: Number of the COCO image that it is, if that is how it is found.
    """

    where: str
    file: File
    seed: int | None
    id: str | None
    prompt: Prompt | None
    noise_seed: int | None = None
    image: int | None = None

    @property
    def made(self) -> Made:
        """The key of the image's prompt."""
        if self.image is not None:
            return "image", str(self.image)
        return ("text", self.prompt.text) if self.prompt else ("id", self.id or "")


def image_path(folder: Path, name: str, where: str, suffixes: Sequence[str], anywhere: bool = False) -> Path:
    """Return the path of an image that a table names.

    Args:
        name: Name in the table.
        where: Start of the message.
        suffixes: Suffixes of image files.
        anywhere: Whether the image may be outside the folder.

    Raises:
        BadModel: The name is not a path of an image, or leads out of the folder.
    """
    slashed = name.replace("\\", "/")
    trusted = "or, if you trust the table, set -o folder.absolute_paths=true"
    if not anywhere and (slashed.startswith("/") or slashed[1:2] == ":"):
        raise BadModel(f"{where}: file: {name!r} is absolute; use a path relative to the table, {trusted}")
    if not anywhere and ".." in slashed.split("/"):
        raise BadModel(
            f"{where}: file: {name!r} leads out of the folder; name the folder that holds all images, {trusted}"
        )
    if "\0" in name:
        raise BadModel(f"{where}: file: {name!r} has a NUL character, which paths cannot have")
    ending = splitext(slashed)[1]
    if ending and ending.lower() not in suffixes:
        raise BadModel(
            f"{where}: file: {name!r} must end in one of {', '.join(suffixes)}; convert it, leave it out, or name "
            "its format in the option formats"
        )
    return folder / name
