"""Ground truth of images, read from the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..api.cache_folder import find_cache_folder
from ..api.errors import BadFolder
from ..api.image import Truth
from ..files.image_file import DamagedImage
from ..storage.store import DATABASE, Store


def read_truths(digests: Iterable[str]) -> Iterator[Truth | None]:
    """Yield what is really drawn in each image; None if the cache does not know it.

    Args:
        digests: The SHA-256 (hex) of each image's file, as samples.csv has it.

    Raises:
        BadFolder: If a truth was damaged, or the cache cannot be read.
    """
    if not (find_cache_folder() / DATABASE).is_file():
        yield from (None for _ in digests)
        return
    with Store() as store:
        for digest in digests:
            try:
                yield store.truth(digest)
            except DamagedImage as error:
                raise BadFolder(
                    f"cache folder {store.folder}: {error}; run the command again to fix it"
                ) from error
