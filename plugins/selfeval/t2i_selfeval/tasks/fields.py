"""Checked access to the fields of JSON files; errors name the file, the entry and the field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from t2i_core.api.errors import BadPrompts, did_you_mean
from t2i_core.io.text_file import read_text

_LONGEST = 40


@dataclass(frozen=True)
class TaskEntry:
    """One entry of a file.

    Attributes:
        where: File and entry, the beginning of messages: `scenes.json: scenes[3]`.
        data: The fields.

    All methods raise BadPrompts if a field is missing or not valid.
    """

    where: str
    data: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return a text that is not blank, with normalised white space."""
        value = self.data.get(name)
        if not isinstance(value, str) or not value.strip():
            self.fail(name, self._describe("text", name))
        return " ".join(value.split())

    def number(self, name: str) -> int:
        """Return a whole number."""
        value = self.data.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(name, self._describe("a whole number", name))
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of at least one text."""
        value = self.data.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(v, str) and v.strip() for v in value):
            self.fail(name, self._describe("a list of texts", name))
        return [" ".join(v.split()) for v in value]

    def one_of(self, name: str, known: Sequence[str]) -> str:
        """Return a text that is one of the known ones."""
        value = self.text(name)
        if value not in known:
            self.fail(
                name, f"must be one of {', '.join(known)} (got {_shorten(value)}){did_you_mean(value, known)}"
            )
        return value

    def entries(self, name: str) -> list[TaskEntry]:
        """Return a list of objects as entries."""
        value = self.data.get(name)
        if not isinstance(value, list):
            self.fail(name, self._describe("a list", name))
        return [make_entry(f"{self.where}.{name}[{n}]", one) for n, one in enumerate(value)]

    def fail(self, name: str, problem: str) -> NoReturn:
        """Raise BadPrompts for one field."""
        raise BadPrompts(f"{self.where}: {name}: {problem}")

    def _describe(self, wanted: str, name: str) -> str:
        return f"must be {wanted} (got {_shorten(self.data[name])})" if name in self.data else "is missing"


def make_entry(where: str, data: Any) -> TaskEntry:
    """Return an entry of JSON data.

    Raises:
        BadPrompts: If the data are not an object.
    """
    if not isinstance(data, dict):
        raise BadPrompts(f"{where}: must be an object (got {_shorten(data)})")
    return TaskEntry(where, data)


def read_list(file: Path, name: str | None = None) -> list[TaskEntry]:
    """Read the entries of a list in a JSON file.

    Args:
        file: The file.
        name: Name of the list in the file's object; if None, the whole file is the list.

    Raises:
        BadPrompts: If the list does not exist.
    """
    data = _parse(read_text(file, BadPrompts), str(file))
    if name is not None:
        if not isinstance(data, dict) or not isinstance(data.get(name), list):
            raise BadPrompts(f"{file}: must be an object with the list {name!r}; check that it is the right file")
        return [make_entry(f"{file}: {name}[{n}]", one) for n, one in enumerate(data[name])]
    if not isinstance(data, list):
        raise BadPrompts(f"{file}: must be a list of objects (got {_shorten(data)})")
    return [make_entry(f"{file}: entry {n}", one) for n, one in enumerate(data)]


def read_object(file: Path) -> dict[str, TaskEntry]:
    """Read the entries of a JSON file that holds one object.

    Raises:
        BadPrompts: If it does not.
    """
    data = _parse(read_text(file, BadPrompts), str(file))
    if not isinstance(data, dict):
        raise BadPrompts(f"{file}: must be an object with an entry for each image (got {_shorten(data)})")
    return {name: make_entry(f"{file}: {name!r}", one) for name, one in data.items()}


def read_lines(file: Path) -> Iterator[TaskEntry]:
    """Read the entries of a file of JSON lines.

    Raises:
        BadPrompts: If a line is not a JSON object.
    """
    for number, line in enumerate(read_text(file, BadPrompts).split("\n"), 1):
        if line.strip():
            where = f"{file}: line {number}"
            yield make_entry(where, _parse(line, where))


def find_folder(argument: str | None, name: str, hint: str = "") -> Path:
    """Return the folder that the argument of a prompt source names.

    Args:
        argument: The argument.
        name: Name of the prompt source, for the message.
        hint: How to get the data, for the message.

    Raises:
        BadPrompts: If the folder does not exist.
    """
    folder = Path(argument or "").expanduser()
    if not folder.is_dir():
        fault = "is a file, not a folder" if folder.exists() else "no such folder"
        raise BadPrompts(f"{name}:{argument}: {fault}; {hint or 'give the folder of the data set'}")
    return folder


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{where}: not valid JSON ({error})") from error


def _shorten(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
