"""The generator: it looks images up and makes none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from t2i_core.generation import Failure, Generated, ImageRequest

from .table import Table


class Folder:
    """Gives the images of a folder; whether they can be read is found out when they are opened."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.settings = {"source": str(table.source), "images": len(table.files)}

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request with the path of its image; one that is not there is missing, not failed."""
        for request in requests:
            file = self.table.find(request.prompt, request.seed)
            if file is None:
                reason = f"{self.table.source}: has no image of this prompt and seed"
                yield request, Failure(reason, missing=True)
            elif not file.is_file():
                yield request, Failure(f"{file}: named by {self.table.source.name}, but not there", missing=True)
            else:
                yield request, Generated(file)
