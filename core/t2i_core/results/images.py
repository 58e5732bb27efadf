"""The images that a run names, and which of their files may be read and shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

import pandas as pd

from ..api.cache_folder import find_cache_folder
from ..api.image import Image
from ..files.regular_file import is_inside
from ..storage.store import DATABASE, Store


def find_images(samples: pd.DataFrame, folder: Path, images_from: Sequence[Path] = ()) -> pd.Series:
    """Return the images that a run's table of samples names.

    A run may come from somebody else and name any file. Files in the run's folder may be read. Other files may
    only be read if an evaluation with this user's cache has used the same file with the same content, or if they
    lie in a folder that the user has named. For all others, reading the pixels raises `RefusedImage`.

    Args:
        samples: The table, with the columns status, image and digest.
        folder: The run's folder.
        images_from: Folders whose images may be read.

    Returns:
        An `Image` for each row, or None if the sample has none, under the table's own index.
    """
    wanted = samples["status"] == "ok"
    names, digests = samples["image"], samples["digest"]
    outside = {
        (name, digest) for name, digest in zip(names[wanted], digests[wanted], strict=True) if not _is_local(name)
    }
    allowed = dict(_find_allowed(outside, folder, images_from))

    def find(ok: bool, name: str, digest: str) -> Image | None:
        if not ok:
            return None
        if (name, digest) in outside:
            return allowed.get((name, digest)) or _refuse(name, digest, folder)
        return Image(digest, folder / name, within=folder)

    found = [find(*row) for row in zip(wanted, names, digests, strict=True)]
    return pd.Series(found, index=samples.index, dtype=object)


def describe_left_out(images: Iterable[Image | None]) -> str | None:
    """Return a note on the images that may not be shown, with what to do; None if all may be shown."""
    count = sum(image is not None and image.refused is not None for image in images)
    if not count:
        return None
    return (
        f"{count} image{'s' * (count > 1)} outside of the run's folder left out, because no evaluation with this "
        "cache has used them; to show them, name their folder with --images-from DIR"
    )


def _is_local(name: str) -> bool:
    """Return whether a path can only lead into the folder that it is relative to, links aside."""
    path = PurePath(name)
    return not (path.is_absolute() or path.drive or path.root or ".." in path.parts)


def _find_allowed(
    outside: set[tuple[str, str]], folder: Path, images_from: Sequence[Path]
) -> Iterator[tuple[tuple[str, str], Image]]:
    left = []
    for name, digest in sorted(outside):
        place = next((place for place in images_from if _leads_into(folder / name, place)), None)
        if place is not None:
            yield (name, digest), Image(digest, folder / name, within=place)
        else:
            left.append((name, digest))
    if left and (find_cache_folder() / DATABASE).is_file():
        with Store() as store:
            for name, digest in left:
                if (image := store.outside_image(name, digest)) is not None:
                    yield (name, digest), image


def _leads_into(path: Path, folder: Path) -> bool:
    try:
        return is_inside(path, folder)
    except ValueError:  # a NUL character, or half of a surrogate pair
        return False


def _refuse(name: str, digest: str, folder: Path) -> Image:
    reason = f"{name}: outside of the run's folder"
    return Image(digest, folder / os.path.basename(name), refused=reason)  # noqa: PTH119
