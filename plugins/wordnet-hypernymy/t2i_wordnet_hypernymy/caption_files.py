"""Files of captions: plain text, CSV and Parquet, in parts that processes read one at a time."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadOption, MissingDependency, did_you_mean

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

CHUNK = 4 << 20
"""Number of bytes of a text file that a process reads at a time, so that memory does not grow with the file."""

BATCH = 1 << 16
"""Number of rows of a Parquet file that a process reads at a time."""

TEXTS, TABLES, PARQUET = (".txt",), (".csv", ".tsv"), (".parquet",)
"""Endings of the files that are read; a file with another ending is read as plain text."""

COLUMNS = ("caption", "captions", "text", "alt_text", "title")
"""Names of the column with the captions, in any case, if the user names none."""


@dataclass(frozen=True)
class CaptionPart:
    """A part of a file.

    Attributes:
        path: The file.
        start: First byte of a text file, row group of a Parquet file, otherwise 0.
        end: End of a text file's part in bytes, otherwise 0.
        size: Size in bytes, for the progress.
        column: Column with the captions; None in a text file.
    """

    path: Path
    start: int
    end: int
    size: int
    column: str | None = None


def list_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files, and those in folders, at any depth, whose ending is that of a file of captions.

    Raises:
        BadOption: A folder has no such file.
    """
    found = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        endings = (*TEXTS, *TABLES, *PARQUET)
        own = sorted(file for file in path.rglob("*") if file.suffix.lower() in endings and file.is_file())
        if not own:
            raise BadOption(f"{path}: the folder has no file that ends in {', '.join(endings)}")
        found += own
    return found


def find_column(path: Path, column: str | None) -> str | None:
    """Return the column of a table that has the captions; None for a text file.

    Args:
        path: The file.
        column: The column that the user named.

    Raises:
        BadOption: The file cannot be read, or has no such column.
        MissingDependency: The file needs pyarrow, which is not installed.
    """
    try:
        if path.suffix.lower() in PARQUET:
            with open_parquet(path) as file:
                names = list(file.schema_arrow.names)
        elif path.suffix.lower() in TABLES:
            with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
                names = list(next(_read_table(path, lines), ()))
        else:
            path.open("rb").close()
            return None
    except OSError as error:
        raise BadOption(f"{path}: cannot be read ({error.strerror or error})") from error
    if not names:
        raise BadOption(f"{path}: the table is empty; its first line must name its columns")
    if column is not None:
        if column in names:
            return column
        raise BadOption(f"{path}: no column {column!r}{did_you_mean(column, names)}; it has {', '.join(names)}")
    by_lower = {name.lower(): name for name in reversed(names)}
    found = next((by_lower[name] for name in COLUMNS if name in by_lower), None)
    if found is None:
        raise BadOption(f"{path}: no column {' or '.join(COLUMNS)}; name one of {', '.join(names)} with --column")
    return found


def list_parts(path: Path, column: str | None, chunk: int = CHUNK) -> Iterator[CaptionPart]:
    """Yield the parts of a file: whole lines of a text file, row groups of a Parquet file, a CSV file as a whole.

    Args:
        path: The file.
        column: Its column with the captions, as `find_column` returns it.
        chunk: Size of a text file's parts, in bytes.

    Raises:
        BadOption: The file cannot be read.
    """
    try:
        if path.suffix.lower() in PARQUET:
            with open_parquet(path) as file:
                groups = file.metadata.num_row_groups
            size = path.stat().st_size
            for group in range(groups):
                yield CaptionPart(path, group, 0, size // groups, column)
        elif column is not None:
            yield CaptionPart(path, 0, 0, path.stat().st_size, column)
        else:
            yield from _split_text(path, chunk)
    except OSError as error:
        raise BadOption(f"{path}: cannot be read ({error.strerror or error})") from error


def _split_text(path: Path, chunk: int) -> Iterator[CaptionPart]:
    with path.open("rb") as file:
        start, size = 0, os.fstat(file.fileno()).st_size
        while start < size:
            file.seek(min(start + chunk, size))
            file.readline()
            yield CaptionPart(path, start, file.tell(), file.tell() - start)
            start = file.tell()


def read_part(part: CaptionPart) -> Iterator[str]:
    """Yield the captions of a part; empty ones too.

    Raises:
        BadOption: The file cannot be read. The message names the file, and the line of a CSV file.
    """
    path = part.path
    try:
        if path.suffix.lower() in PARQUET:
            yield from _read_parquet(part)
        elif part.column is not None:
            with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
                rows = _read_table(path, lines)
                place = next(rows).index(part.column)
                yield from (row[place] for row in rows if len(row) > place)
        else:
            with path.open("rb") as file:
                file.seek(part.start)
                yield from file.read(part.end - part.start).decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise BadOption(f"{path}: cannot be read ({error.strerror or error})") from error


def _read_parquet(part: CaptionPart) -> Iterator[str]:
    with open_parquet(part.path) as file:
        from pyarrow import ArrowException

        try:
            for batch in file.iter_batches(BATCH, row_groups=[part.start], columns=[part.column]):
                yield from (str(text) for text in batch.column(0).to_pylist() if text is not None)
        except ArrowException as error:
            raise BadOption(f"{part.path}, row group {part.start}: damaged ({error})") from error


def _read_table(path: Path, lines: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield the rows of a CSV or TSV file, the first with its columns."""
    rows = csv.reader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        yield from rows
    except csv.Error as error:
        raise BadOption(f"{path}, line {rows.line_num}: not CSV ({error})") from error


def open_parquet(path: Path) -> ParquetFile:
    """Open a Parquet file.

    Raises:
        BadOption: The file is not a Parquet file.
        MissingDependency: pyarrow is not installed.
    """
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingDependency(
            f"{path}: reading Parquet needs pyarrow; install it: pip install t2i-wordnet-hypernymy[parquet]"
        ) from error
    try:
        return ParquetFile(path)
    except ArrowInvalid as error:
        raise BadOption(f"{path}: not a Parquet file ({error})") from error
