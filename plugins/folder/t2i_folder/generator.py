"""The generator: looks up existing images."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel
from t2i_core.api.failure import Failure
from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.files.image_file import DamagedImage, describe_format, parse_header, read_header

from . import files, parquet, webdataset
from .entries import Packed, Stored, image_path
from .options import FolderOptions
from .table import Table

Answer = tuple[ImageRequest, Generated | Failure]

_AT_ONCE = 10_000
"""Number of requests to look up together, so that a parquet file is not scanned for each of them."""

_log = logging.getLogger(__name__)


class Folder:
    """Returns the images of a folder; t2i opens and checks them later."""

    def __init__(self, table: Table, options: FolderOptions) -> None:
        self.table, self.options = table, options
        self._formats: Counter[str] = Counter()
        self._made = table.made
        self._asked: set[tuple[str, ...]] = set()
        self._strange: dict[tuple[str, str], None] = {}
        if table.passed_over:
            _log.warning(
                "%s: t2i reads this and ignores %s; the options layout and table choose another",
                table.source, ", ".join(table.passed_over),
            )  # fmt: skip
        if table.unlisted:
            _log.warning(
                "%s: does not list %d images next to its own; they are left out (first: %s)",
                table.source, len(table.unlisted), table.unlisted[0],
            )  # fmt: skip

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest."""
        return {
            "source": str(self.table.source),
            "layout": self.table.layout,
            "images": len(set(self.table.files.values())),
            "unlisted": len(self.table.unlisted),
            "formats": dict(sorted(self._formats.items())),
        }

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Answer]:
        """Yield each request with the path of its image; an absent image is missing, not failed."""
        source = iter(requests)
        while some := list(islice(source, _AT_ONCE)):
            held: dict[Stored, list[ImageRequest]] = {}
            for request in some:
                self._note(request)
                file = self.table.find(request.prompt, request.seed)
                if isinstance(file, Stored):
                    held.setdefault(file, []).append(request)
                elif file is None:
                    yield request, Failure(self.table.explain_missing(request.prompt, request.seed), missing=True)
                elif isinstance(file, Packed):
                    yield request, self._decode_bytes(f"{file.file}, {file.name}", webdataset.read_image(file))
                else:
                    yield request, self._read_image(file)
            for stored, content in parquet.images(held):
                answer = self._decode_image(stored, content)
                yield from ((request, answer) for request in held[stored])

    def close(self) -> None:
        """Warn about prompts without images, images without requests, and mixed formats."""
        if self._strange:
            others = [made[1] for made in sorted(self._made - self._asked)]
            beside = (
                f", and {len(others)} of its prompts were not requested (first: {others[0]!r})" if others else ""
            )
            _log.warning(
                "%s: has no image of %d requested prompts (first: %r)%s",
                self.table.source, len(self._strange), next(iter(self._strange))[1], beside,
            )  # fmt: skip
        if len(self._formats) > 1:
            said = ", ".join(f"{name} ({count})" for name, count in self._formats.most_common())
            _log.warning(
                "%s: its images have several formats: %s; lossy compression may change FID and similar metrics",
                self.table.source, said,
            )  # fmt: skip

    def _note(self, request: ImageRequest) -> None:
        known = self._made.intersection(self.table.list_keys(request.prompt))
        self._asked |= known
        if not known:
            self._strange[request.prompt.id, request.prompt.text] = None

    def _read_image(self, file: Path) -> Generated | Failure:
        file = file.absolute()
        if not file.exists():
            return Failure(f"{file}: named by {self.table.source.name}, but missing", missing=True)
        try:
            header = read_header(file, self.options.rules)
        except DamagedImage as error:
            return Failure(str(error))
        self._formats[describe_format(header.format)] += 1
        return Generated(file, rules=self.options.rules)

    def _decode_image(self, stored: Stored, content: bytes | str | None) -> Generated | Failure:
        where = f"{stored.file}, row {stored.row + 1} of row group {stored.group + 1}"
        if content is None:
            return Failure(f"{where}: has no image", missing=True)
        if isinstance(content, str):
            try:
                options = self.options
                folder, anywhere = stored.file.parent, options.absolute_paths
                return self._read_image(image_path(folder, content, where, options.suffixes, anywhere))
            except BadModel as error:
                return Failure(str(error))
        return self._decode_bytes(where, content)

    def _decode_bytes(self, where: str, content: bytes) -> Generated | Failure:
        try:
            header = parse_header(content, where, self.options.rules)
        except DamagedImage as error:
            return Failure(str(error))
        self._formats[describe_format(header.format)] += 1
        return Generated(files.unpack(content, header), rules=self.options.rules)
