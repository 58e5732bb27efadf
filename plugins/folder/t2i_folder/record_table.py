"""The rows of a table of images, whatever its format, and the columns that they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from t2i_core.api.errors import BadModel, did_you_mean
from t2i_core.io.prompt_record import FILE_FIELDS, TEXT_FIELDS, PromptRecord, map_columns

from .entries import File
from .options import FolderOptions

_USUAL = {
    "image": ("filename", "path", "image_path", "img", "filepath", "image_file", "img_path"),
    "prompt": ("caption", "captions", "description", "prompt_text", "text_prompt"),
}
"""Usual names of columns, by the option that names the column."""


@dataclass(frozen=True)
class RecordTable:
    """A table of images.

    Attributes:
        columns: All its columns.
        records: Its rows, without the images that the table itself holds.
        stored: Those images, by the line of the row.
    """

    path: Path
    columns: Sequence[str]
    records: Sequence[PromptRecord]
    stored: Mapping[int, File] = field(default_factory=dict)


def select_records(table: RecordTable, options: FolderOptions) -> list[PromptRecord]:
    """Return the rows that the options select, with the fields under their own names.

    Raises:
        BadModel: If a column is missing.
        BadPrompts: If a column that the options name is missing.
    """
    for column in options.where:
        check_column(column, "the option where", table.columns, table.path)
    records = [r for r in table.records if all(_has(r, column, value) for column, value in options.where.items())]
    own = [{k: v for k, v in record.fields.items() if k not in options.where} for record in records]
    records = [replace(record, fields=fields) for record, fields in zip(records, own, strict=True)]
    columns = options.columns if not table.stored else {k: v for k, v in options.columns.items() if k != "file"}
    known = {*table.columns, *columns}
    if not table.stored and not known & set(FILE_FIELDS):
        raise explain_missing("image", FILE_FIELDS, table.columns, table.path)
    if not known & {*TEXT_FIELDS, "id"}:
        raise explain_missing("prompt", TEXT_FIELDS, table.columns, table.path)
    return map_columns(records, table.columns, table.path, columns, options.facets)


def check_column(column: str, use: str, columns: Iterable[str], path: Path) -> None:
    """Raise BadModel if a table lacks a column that the user names."""
    if column not in (names := list(columns)):
        known = did_you_mean(column, names) or f"; its columns are {', '.join(names)}"
        raise BadModel(f"{path}: has no column {column!r} for {use}{known}")


def explain_missing(option: str, fields: Sequence[str], columns: Iterable[str], path: Path) -> BadModel:
    """Return the error for a table without a column of images or prompts, with the option that names one."""
    names = list(columns)
    near = next((name for name in names if name.lower() in _USUAL[option]), "COLUMN")
    return BadModel(
        f"{path}: has no column {' or '.join(map(repr, fields))} (columns: {', '.join(names)}); name the column "
        f"of the {option}s with -o folder.{option}={near}"
    )


def explain_empty(tables: Sequence[RecordTable], where: Mapping[str, str]) -> BadModel:
    """Return the error for values that no row has, with the values that there are."""
    column, value = next(iter(where.items()))
    values = list(dict.fromkeys(str(r.fields.get(column, "")) for table in tables for r in table.records))
    near = did_you_mean(value, values) or f"; values of {column!r} are {', '.join(values[:10])}"
    wanted = " and ".join(f"{column}={value}" for column, value in where.items())
    return BadModel(f"{tables[0].path}: has no row with {wanted}{near}")


def _has(record: PromptRecord, column: str, value: str) -> bool:
    return str(record.fields.get(column, "")) == value
