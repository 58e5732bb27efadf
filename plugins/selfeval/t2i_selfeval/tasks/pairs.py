"""Winoground: 400 pairs of images, with two captions of the same words.

Thrush et al.: Winoground: Probing Vision and Language Models for Visio-Linguistic Compositionality. CVPR 2022.
The hub has it as parquet (images inside) now, and had it as `examples.jsonl` and a folder of images before; both
are read.
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
from .fields import TaskEntry, folder_of, lines
from .picking import ranked

_TEXTS = ("id", "caption_0", "caption_1", "secondary_tag", "collapsed_tag")
_IMAGES = ("image_0", "image_1")


@dataclass(frozen=True)
class _Listed:
    """A pair before its images are looked for: where it stands, and what is said of it."""

    file: Path
    row: int
    entry: TaskEntry

    @property
    def id(self) -> str:
        return f"winoground-{self.entry.number('id')}"

    def prompt(self, images: tuple[str, str]) -> Prompt:
        """The pair with its images. Raises BadPrompts."""
        captions = self.entry.text("caption_0"), self.entry.text("caption_1")
        if captions[0] == captions[1]:
            self.entry.fail("caption_1", "is caption_0")
        tags = {"tag": self.entry.data.get("collapsed_tag"), "secondary_tag": self.entry.data.get("secondary_tag")}
        facets = {name: value for name, value in tags.items() if isinstance(value, str) and value}
        return pair(self.id, images, captions, "winoground", facets)


def prompts(setup: Setup[PairOptions]) -> Iterator[Prompt]:
    """Yield the pairs in their own order. Raises BadPrompts."""
    folder, options = folder_of(setup.argument, "winoground-pairs", HOW_TO_GET_WINOGROUND), setup.options
    places = (folder, folder / "data")
    texts = [file for place in places if (file := place / "examples.jsonl").is_file()]
    tables = [file for place in places for file in sorted(place.glob("*.parquet"))]
    if not texts and not tables:
        raise BadPrompts(
            f"winoground-pairs:{setup.argument}: holds no examples.jsonl and no parquet; {HOW_TO_GET_WINOGROUND}"
        )
    listed = [_Listed(texts[0], n, entry) for n, entry in enumerate(lines(texts[0]))] if texts else _listed(tables)
    twice = next((one for n, one in enumerate(listed) if one.id in {other.id for other in listed[:n]}), None)
    if twice is not None:
        twice.entry.fail("id", f"{twice.entry.number('id')} stands twice")
    ids = sorted((one.id for one in listed), key=lambda id: ranked(options.seed, id))[: options.limit]
    chosen = [one for one in listed if one.id in set(ids)]
    return _of_files(chosen) if texts else _of_tables(chosen, setup.dry)


def _of_files(chosen: list[_Listed]) -> Iterator[Prompt]:
    for one in chosen:
        yield one.prompt((_path(one, "image_0"), _path(one, "image_1")))


def _path(one: _Listed, field: str) -> str:
    """The path of an image, which the file names without an ending."""
    name = one.entry.text(field)
    path = one.file.parent / "images" / (name if Path(name).suffix else f"{name}.png")
    if not path.is_file():
        one.entry.fail(field, f"there is no image {path}; unpack images.zip beside {one.file.name}")
    return str(path)


def _listed(tables: list[Path]) -> list[_Listed]:
    """What parquet says of its pairs, images left out."""
    found = ((file, row) for file in tables for row in enumerate(_rows(file, _TEXTS), 1))
    return [_Listed(file, number, TaskEntry(f"{file}: row {number}", row)) for file, (number, row) in found]


def _of_tables(chosen: list[_Listed], dry: bool) -> Iterator[Prompt]:
    wanted = {(one.file, one.row): one for one in chosen}
    with PromptImages() as images:
        for file in dict.fromkeys(one.file for one in chosen):
            for number, row in enumerate(_rows(file, _IMAGES), 1):
                if (one := wanted.get((file, number))) is not None:
                    entry = TaskEntry(one.entry.where, row)
                    yield one.prompt((_kept(entry, "image_0", images, dry), _kept(entry, "image_1", images, dry)))


def _rows(file: Path, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The rows of a parquet file, of these columns those that there are; few in memory at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingDependency("winoground-pairs: parquet is read by pyarrow: pip install pyarrow") from None
    try:
        with pq.ParquetFile(file) as table:
            names = [name for name in columns if name in table.schema_arrow.names]
            for batch in table.iter_batches(batch_size=8, columns=names):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise BadPrompts(f"{file}: cannot be read ({describe_error(error)})") from error


def _kept(entry: TaskEntry, field: str, images: PromptImages, dry: bool) -> str:
    """The path of an image that a table has in itself, kept in the cache; in a dry run a path of nothing."""
    value: Any = entry.data.get(field)
    data = value.get("bytes") if isinstance(value, Mapping) else None
    if not isinstance(data, bytes):
        entry.fail(field, "want an image's bytes, as Hugging Face's datasets writes them")
    key = digest_data(["image in a table", hashlib.sha256(data).hexdigest()])
    if (kept := images.find(key)) is None:
        if dry:
            return key
        try:
            kept = images.put(key, PILImage.fromarray(decode(data, entry.where)))
        except DamagedImage as error:
            entry.fail(field, str(error))
    return str(kept)
