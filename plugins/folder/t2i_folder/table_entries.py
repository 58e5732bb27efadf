"""Images that a table lists: CSV, JSON lines, or records of another source."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel
from t2i_core.io.prompt_file import parse_prompts
from t2i_core.io.prompt_record import FILE_FIELDS, PromptRecord

from .entries import File, FolderEntry, image_path
from .options import FolderOptions
from .record_table import RecordTable, select_records

GENERATED = frozenset({"prompt", "noise_seed", "facets", "scene"})
"""Fields of metadata.jsonl from `t2i generate`, where `text` is the prompt's text and `prompt` its id."""


def entries(table: RecordTable, options: FolderOptions) -> list[FolderEntry]:
    """Return the images of a table.

    Raises:
        BadModel: A line is not valid.
        BadPrompts: A prompt is malformed.
    """
    noise_seeds = {r.line: _seed(r, "noise_seed") if _is_generated(r) else None for r in table.records}
    if any(map(_is_generated, table.records)):
        table = replace(table, records=[_rename_fields(record) for record in table.records])
    records = select_records(table, options)
    files = [table.stored.get(record.line) or _file(record, options) for record in records]
    for record in records:
        if record.text is None and record.id is None:
            raise BadModel(f"{record.where}: prompt: is missing; give a prompt or an id")
    prompts = iter(parse_prompts(r for r in records if r.text is not None))
    return [
        FolderEntry(
            r.where, file, _seed(r), r.id, next(prompts) if r.text is not None else None, noise_seeds[r.line]
        )
        for r, file in zip(records, files, strict=True)
    ]


def _rename_fields(record: PromptRecord) -> PromptRecord:
    """Return the fields of a line; rename those that `t2i generate` wrote to the common names."""
    if not _is_generated(record):
        return record
    fields = dict(record.fields)
    fields["id"] = fields.pop("prompt")
    del fields["noise_seed"]
    for name in ("facets", "scene"):
        fields[name] = _plain(record, name)
    return replace(record, fields={name: value for name, value in fields.items() if value is not None})


def _is_generated(record: PromptRecord) -> bool:
    return record.fields.keys() >= GENERATED


def _plain(record: PromptRecord, name: str) -> Any:
    """Return the value of a field that holds JSON text."""
    value = record.fields[name]
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise BadModel(f"{record.where}: {name}: not JSON ({error})") from error


def _file(record: PromptRecord, options: FolderOptions) -> File:
    name = next((record.fields[f] for f in FILE_FIELDS if f in record.fields), None)
    if not isinstance(name, str):
        raise BadModel(f"{record.where}: file: {'is missing' if name is None else 'must be the name of an image'}")
    return image_path(record.path.parent, name, record.where, options.suffixes, options.absolute_paths)


def _seed(record: PromptRecord, field: str = "seed") -> int | None:
    seed = record.fields.get(field)
    if isinstance(seed, str) and seed.isdecimal():
        return int(seed)
    if isinstance(seed, float) and seed.is_integer():  # a column of whole numbers with gaps, as pandas writes it
        seed = int(seed)
    if seed is None or (isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0):
        return seed
    raise BadModel(f"{record.where}: {field}: must be a whole number of at least 0 (got {seed!r})")


def find_unlisted(entries: Iterable[FolderEntry], suffixes: Iterable[str]) -> Iterator[str]:
    """Yield images next to those of a table that the table does not list."""
    known = {str(entry.file) for entry in entries if isinstance(entry.file, Path)}
    endings = tuple(suffixes)
    for place in sorted({name.rpartition(os.sep)[0] for name in known}):
        if Path(place).is_dir():
            with os.scandir(place) as files:
                yield from sorted(
                    f.path for f in files if f.name.lower().endswith(endings) and f.path not in known
                )
