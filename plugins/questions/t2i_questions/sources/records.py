"""Records of published files (CSV, TSV, JSON, JSON lines) and of data sets on the Hugging Face hub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from t2i_core.api import Setup
from t2i_core.api.errors import BadPrompts, MissingDependency
from t2i_core.api.text import describe_error
from t2i_core.io.table import parse_json_lines, read_table
from t2i_core.io.text_file import read_text

_ON_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class SourceRecord:
    """One record of a file.

    Attributes:
        where: File and line or number of the record, with which messages begin.
        fields: Its values by name, without empty ones.
    """

    where: str
    fields: Mapping[str, Any]

    def fail(self, problem: str) -> NoReturn:
        """Raise BadPrompts with the record's place."""
        raise BadPrompts(f"{self.where}: {problem}")

    def text(self, name: str) -> str:
        """Return a field that must be a text or a whole number (2 or 2.0), as text. Raises BadPrompts."""
        value = self.fields.get(name)
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            self.fail(f"{name}: must be a text (got {json.dumps(value)[:60]})")
        return value.strip()

    def optional_text(self, name: str) -> str:
        """Return a field that may be missing, as text. Raises BadPrompts."""
        return self.text(name) if self.fields.get(name) not in (None, "") else ""


def is_on_hub(argument: str) -> bool:
    """Return whether an argument names a data set of the hub: ORG/NAME, and no file or folder of this machine."""
    path = Path(argument)
    return _ON_HUB.fullmatch(argument) is not None and not path.exists() and not path.parent.is_dir()


def read_source(setup: Setup[Any], columns: Sequence[str]) -> list[SourceRecord]:
    """Return the records of the argument: a file, or a data set of the hub.

    Raises:
        BadPrompts: The file is missing, is of another format, or lacks a column.
        MissingDependency: A data set of the hub is named, and the library `datasets` is not installed.
    """
    argument = setup.argument or ""
    if is_on_hub(argument):
        return _check_columns(argument, _read_hub(setup), columns)
    return read_records(Path(argument).expanduser(), columns)


def read_records(path: Path, columns: Sequence[str]) -> list[SourceRecord]:
    """Return the records of a file in its order.

    Args:
        path: CSV, TSV, JSON lines, or JSON with a list of objects.
        columns: Fields that the records must have.

    Raises:
        BadPrompts: The file is missing, is of another format, or lacks a column.
    """
    kind = path.suffix.lower()
    if kind in _TABLES:
        return [
            SourceRecord(f"{path}, line {line}", cells)
            for line, cells in read_table(path, BadPrompts, list(columns))
        ]
    if kind == ".jsonl":
        lines = parse_json_lines(path, read_text(path, BadPrompts), BadPrompts, f"the fields {', '.join(columns)}")
        found = [SourceRecord(f"{path}, line {number}", fields) for number, fields in lines]
    elif kind == ".json":
        data = read_json(path)
        if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
            raise BadPrompts(f"{path}: must be a list of objects with the fields {', '.join(columns)}")
        found = [SourceRecord(f"{path}, item {number}", each) for number, each in enumerate(data, 1)]
    else:
        raise BadPrompts(f"{path}: the file must end in .csv, .tsv, .json or .jsonl")
    return _check_columns(str(path), found, columns)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises BadPrompts."""
    try:
        return json.loads(read_text(path, BadPrompts))
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{path}: not JSON ({error})") from error


def _check_columns(name: str, records: Iterable[SourceRecord], columns: Sequence[str]) -> list[SourceRecord]:
    found = list(records)
    if not found:
        raise BadPrompts(f"{name}: holds no records")
    for record in found:
        if missing := next((column for column in columns if column not in record.fields), None):
            record.fail(f"has no field {missing!r}; it has {', '.join(map(str, record.fields))}")
    return found


def _read_hub(setup: Setup[Any]) -> list[SourceRecord]:
    name = setup.argument or ""
    try:
        import datasets
    except ImportError as error:
        raise MissingDependency(
            f"{name} is a data set of the hub, which needs the library datasets: pip install "
            f"'t2i-questions[hub]'; or "
            "name a downloaded file"
        ) from error
    options = setup.options
    try:
        how = datasets.DownloadConfig(local_files_only=setup.offline)
        data = datasets.load_dataset(name, revision=options.revision, download_config=how)
    except (OSError, ValueError, RuntimeError, TypeError, datasets.exceptions.DatasetsError) as error:
        raise BadPrompts(f"{name}: cannot be read from the hub ({describe_error(error)})") from error
    splits = {str(split): rows for split, rows in data.items()}
    wanted = options.split or (next(iter(splits)) if len(splits) == 1 else None)
    if wanted is None:
        raise BadPrompts(f"{name}: has the splits {', '.join(splits)}; name one with the option split")
    if wanted not in splits:
        raise BadPrompts(f"{name}: has no split {wanted!r}; it has {', '.join(splits)}")
    return [SourceRecord(f"{name}, {wanted}, row {number}", row) for number, row in enumerate(splits[wanted], 1)]
