"""Parquet tables with paths or with the images' bytes, as written by Hugging Face's `datasets`.

Prompts and seeds are read once, row group by row group, without the images. Images are read on request, so that
memory holds only a part of one row group, whatever the file's size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BadModel
from t2i_core.io.prompt_record import FILE_FIELDS, TEXT_FIELDS, PromptRecord

from .entries import File, Stored
from .record_table import RecordTable, check_column, explain_missing

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS = 16
"""Number of images of a row group in memory at a time."""

_BUFFER = 1 << 20
"""Bytes to read at a time, so that a row group with smaller pages is not read at once."""


@dataclass(frozen=True)
class ParquetRow(PromptRecord):
    """A row of a parquet file, counted from 1."""

    @property
    def where(self) -> str:
        """`FILE, row N`, the start of messages."""
        return f"{self.path}, row {self.line}"


def fingerprint(file: Path) -> str:
    """Return a digest of a file, from its size and its footer with the position and statistics of row groups.

    The digest omits the images, because every run compares their bytes.
    """
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - 8))
        length = int.from_bytes(opened.read(4), "little")
        opened.seek(max(0, size - 8 - length))
        return f"parquet {size} {hashlib.sha256(opened.read()).hexdigest()}"


def read(file: Path, suffixes: Sequence[str], column: str | None = None) -> RecordTable:
    """Return a table's rows without images, and the positions of images inside it.

    Args:
        file: The table.
        suffixes: Suffixes of image files.
        column: Column of the images. If None, the first that has one of the usual names.

    Raises:
        BadModel: If the file is not such a table.
    """
    import pyarrow as pa

    rows: list[ParquetRow] = []
    stored: dict[int, File] = {}
    with _open(file) as table:
        image = _image_column(table.schema_arrow, file, suffixes, column)
        holds = not _is_text(table.schema_arrow.field(image).type)
        for field in table.schema_arrow:
            if field.name in TEXT_FIELDS and not _is_plain(field.type):
                raise BadModel(f"{file}: the column {field.name!r} must hold texts (got {field.type})")
        names = [f.name for f in table.schema_arrow if _is_plain(f.type) and not (holds and f.name == image)]
        for group in range(table.num_row_groups):
            start = len(rows)
            try:
                columns = table.read_row_group(group, columns=names)
            except (pa.ArrowException, OSError) as error:
                raise _make_read_error(file, error) from error
            for number, fields in enumerate(columns.to_pylist(), start + 1):
                rows.append(ParquetRow(file, number, {k: v for k, v in fields.items() if not _is_blank(v)}))
                if holds:
                    stored[number] = Stored(file, image, group, number - start - 1)
        columns = list(table.schema_arrow.names)
    return RecordTable(file, columns, rows, stored)


def images(wanted: Iterable[Stored]) -> Iterator[tuple[Stored, bytes | str | None]]:
    """Yield images with their bytes or path; None if the row has neither.

    Each row group is read once.

    Raises:
        BadModel: A file can no longer be read.
    """
    groups: dict[tuple[Path, str, int], list[Stored]] = {}
    for each in wanted:
        groups.setdefault((each.file, each.column, each.group), []).append(each)
    for (file, column, group), own in sorted(groups.items()):
        yield from _read_group(file, column, group, {each.row: each for each in own})


def _read_group(
    file: Path, column: str, group: int, wanted: Mapping[int, Stored]
) -> Iterator[tuple[Stored, bytes | str | None]]:
    import pyarrow as pa

    start, last = 0, max(wanted)
    with _open(file) as table:
        try:
            for batch in table.iter_batches(_ROWS, row_groups=[group], columns=[column], use_threads=False):
                values = batch.column(0)
                for row in range(len(values)):
                    if (each := wanted.get(start + row)) is not None:
                        yield each, _content(values[row].as_py())
                start += len(values)
                if start > last:
                    return
        except (pa.ArrowException, OSError) as error:
            raise _make_read_error(file, error) from error


def _content(value: Any) -> bytes | str | None:
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    return value or None


def _open(file: Path) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise _make_read_error(file, error) from error


def _make_read_error(file: Path, error: Exception) -> BadModel:
    return BadModel(f"{file}: cannot be read as parquet ({' '.join(str(error).split())})")


def _image_column(schema: Any, file: Path, suffixes: Sequence[str], column: str | None) -> str:
    if column is not None:
        check_column(column, "images", schema.names, file)
    names = [column] if column else [name for name in FILE_FIELDS if name in schema.names]
    # a name may accompany the image itself
    name = next((n for n in names if _holds_bytes(schema.field(n).type)), next(iter(names), None))
    if name is None:
        raise explain_missing("image", FILE_FIELDS, schema.names, file)
    if not (_is_text(schema.field(name).type) or _holds_bytes(schema.field(name).type)):
        raise BadModel(
            f"{file}: the column {name!r} must hold paths ({', '.join(suffixes)}), bytes of image "
            f"files, or both as in Hugging Face's data sets (got {schema.field(name).type})"
        )
    return str(name)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):  # a column of pandas' categories
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _holds_bytes(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_struct(kind):
        return any(kind.field(i).name == "bytes" for i in range(kind.num_fields))
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def _is_plain(kind: Any) -> bool:
    """Return whether a column's type is text or a number, as for a prompt, an id, a seed or a facet."""
    import pyarrow.types as types

    return bool(_is_text(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_blank(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())
