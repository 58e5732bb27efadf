"""Winoground: 400 pairs of images with two captions of the same words.

Two layouts are supported: parquet files that contain the images, which the hub has now, and `examples.jsonl` with
a folder of images, which it had before.

References:
    Thrush et al.: Winoground: Probing Vision and Language Models for Visio-Linguistic Compositionality. CVPR 2022.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image as PILImage
from t2i_core.api import Prompt, Setup
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadPrompts, MissingDependency
from t2i_core.api.text import describe_error
from t2i_core.files.image_file import DamagedImage, decode
from t2i_core.io.prompt_images import PromptImages

from ..samples import pair
from ..task_options import HOW_TO_GET_WINOGROUND, PairOptions
from .fields import TaskEntry, find_folder, read_lines
from .selection import rank_key

_TEXTS = ("id", "caption_0", "caption_1", "secondary_tag", "collapsed_tag")
_IMAGES = ("image_0", "image_1")


@dataclass(frozen=True)
class _PairEntry:
    """A pair without its images.

    Attributes:
        file: The file that lists it.
        row: Its row in a parquet file, or its index in a file of lines.
        entry: Its fields.
    """

    file: Path
    row: int
    entry: TaskEntry

    @property
    def id(self) -> str:
        return f"winoground-{self.entry.number('id')}"

    def prompt(self, images: tuple[str, str]) -> Prompt:
        """Return the pair with its images.

        Raises:
            BadPrompts: If a caption is missing or both are equal.
        """
        captions = self.entry.text("caption_0"), self.entry.text("caption_1")
        if captions[0] == captions[1]:
            self.entry.fail("caption_1", "must differ from caption_0")
        tags = {"tag": self.entry.data.get("collapsed_tag"), "secondary_tag": self.entry.data.get("secondary_tag")}
        facets = {name: value for name, value in tags.items() if isinstance(value, str) and value}
        return pair(self.id, images, captions, "winoground", facets)


def prompts(setup: Setup[PairOptions]) -> Iterator[Prompt]:
    """Yield the pairs in the order of the files.

    Raises:
        BadPrompts: If a file or an image is missing or not valid.
        MissingDependency: If the files are parquet and pyarrow is not installed.
    """
    folder, options = find_folder(setup.argument, "winoground-pairs", HOW_TO_GET_WINOGROUND), setup.options
    places = (folder, folder / "data")
    texts = [file for place in places if (file := place / "examples.jsonl").is_file()]
    tables = [file for place in places for file in sorted(place.glob("*.parquet"))]
    if not texts and not tables:
        raise BadPrompts(
            f"winoground-pairs:{setup.argument}: contains neither examples.jsonl nor parquet files; "
            f"{HOW_TO_GET_WINOGROUND}"
        )
    if texts:
        entries = [_PairEntry(texts[0], n, entry) for n, entry in enumerate(read_lines(texts[0]))]
    else:
        entries = _read_tables(tables)
    repeated = next((one for n, one in enumerate(entries) if one.id in {other.id for other in entries[:n]}), None)
    if repeated is not None:
        repeated.entry.fail("id", f"must be unique (got {repeated.entry.number('id')} twice)")
    ids = sorted((one.id for one in entries), key=lambda id: rank_key(options.seed, id))[: options.limit]
    chosen = [one for one in entries if one.id in set(ids)]
    return _add_image_files(chosen) if texts else _add_table_images(chosen, setup.dry)


def _add_image_files(chosen: list[_PairEntry]) -> Iterator[Prompt]:
    for one in chosen:
        yield one.prompt((_find_image(one, "image_0"), _find_image(one, "image_1")))


def _find_image(one: _PairEntry, field: str) -> str:
    """Return the path of an image; the file names it without a suffix."""
    name = one.entry.text(field)
    path = one.file.parent / "images" / (name if Path(name).suffix else f"{name}.png")
    if not path.is_file():
        one.entry.fail(field, f"image {path} does not exist; unpack images.zip in the folder of {one.file.name}")
    return str(path)


def _read_tables(tables: list[Path]) -> list[_PairEntry]:
    """Read the pairs of parquet files without their images."""
    found = ((file, row) for file in tables for row in enumerate(_read_rows(file, _TEXTS), 1))
    return [_PairEntry(file, number, TaskEntry(f"{file}: row {number}", row)) for file, (number, row) in found]


def _add_table_images(chosen: list[_PairEntry], dry: bool) -> Iterator[Prompt]:
    wanted = {(one.file, one.row): one for one in chosen}
    with PromptImages() as images:
        for file in dict.fromkeys(one.file for one in chosen):
            for number, row in enumerate(_read_rows(file, _IMAGES), 1):
                if (one := wanted.get((file, number))) is not None:
                    entry = TaskEntry(one.entry.where, row)
                    first, second = (_cache_image(entry, field, images, dry) for field in _IMAGES)
                    yield one.prompt((first, second))


def _read_rows(file: Path, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parquet file with those of the columns that it has, a few rows in memory at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingDependency(
            "winoground-pairs: parquet files need pyarrow, which is not installed; run pip install pyarrow"
        ) from None
    try:
        with pq.ParquetFile(file) as table:
            names = [name for name in columns if name in table.schema_arrow.names]
            for batch in table.iter_batches(batch_size=8, columns=names):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise BadPrompts(f"{file}: cannot be read as parquet ({describe_error(error)}); copy it again") from error


def _cache_image(entry: TaskEntry, field: str, images: PromptImages, dry: bool) -> str:
    """Store an image of a table in the cache and return its path; a dry run returns a path without a file."""
    value: Any = entry.data.get(field)
    data = value.get("bytes") if isinstance(value, Mapping) else None
    if not isinstance(data, bytes):
        entry.fail(field, "must be an image's bytes, as Hugging Face's datasets writes them")
    key = digest_data(["image in a table", hashlib.sha256(data).hexdigest()])
    if (path := images.find(key)) is None:
        if dry:
            return key
        try:
            path = images.put(key, PILImage.fromarray(decode(data, entry.where)))
        except DamagedImage as error:
            entry.fail(field, str(error))
    return str(path)
