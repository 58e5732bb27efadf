"""Files of others, read field by field: what is wrong is told in one line with file, entry and field."""

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

    where:  file and entry, as messages begin: `scenes.json: scenes[3]`
    """

    where: str
    data: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A text that is not blank, without blanks at its ends and with single ones inside."""
        value = self.data.get(name)
        if not isinstance(value, str) or not value.strip():
            self.fail(name, self._wanted("text", name))
        return " ".join(value.split())

    def number(self, name: str) -> int:
        """A whole number."""
        value = self.data.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(name, self._wanted("a whole number", name))
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts, at least one."""
        value = self.data.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(v, str) and v.strip() for v in value):
            self.fail(name, self._wanted("a list of texts", name))
        return [" ".join(v.split()) for v in value]

    def one_of(self, name: str, known: Sequence[str]) -> str:
        """One of some words."""
        value = self.text(name)
        if value not in known:
            self.fail(name, f"want one of {', '.join(known)}, not {_shown(value)}{did_you_mean(value, known)}")
        return value

    def entries(self, name: str) -> list[TaskEntry]:
        """A list of objects, each an entry."""
        value = self.data.get(name)
        if not isinstance(value, list):
            self.fail(name, self._wanted("a list", name))
        return [entry(f"{self.where}.{name}[{n}]", one) for n, one in enumerate(value)]

    def fail(self, name: str, problem: str) -> NoReturn:
        """Raise BadPrompts for one field."""
        raise BadPrompts(f"{self.where}: {name}: {problem}")

    def _wanted(self, what: str, name: str) -> str:
        return f"want {what}, not {_shown(self.data[name])}" if name in self.data else "is missing"


def entry(where: str, data: Any) -> TaskEntry:
    """Raises BadPrompts for what is no object."""
    if not isinstance(data, dict):
        raise BadPrompts(f"{where}: want an object, not {_shown(data)}")
    return TaskEntry(where, data)


def listed(file: Path, name: str | None = None) -> list[TaskEntry]:
    """The entries of a JSON file: of the list that it is, or of the one that it has under a name."""
    data = _json(read_text(file, BadPrompts), str(file))
    if name is not None:
        if not isinstance(data, dict) or not isinstance(data.get(name), list):
            raise BadPrompts(f"{file}: has no list {name!r}")
        return [entry(f"{file}: {name}[{n}]", one) for n, one in enumerate(data[name])]
    if not isinstance(data, list):
        raise BadPrompts(f"{file}: want a list of objects, not {_shown(data)}")
    return [entry(f"{file}: entry {n}", one) for n, one in enumerate(data)]


def named(file: Path) -> dict[str, TaskEntry]:
    """The entries of a JSON file by their names: of the object that it is."""
    data = _json(read_text(file, BadPrompts), str(file))
    if not isinstance(data, dict):
        raise BadPrompts(f"{file}: want an object with an entry for each image, not {_shown(data)}")
    return {name: entry(f"{file}: {name!r}", one) for name, one in data.items()}


def lines(file: Path) -> Iterator[TaskEntry]:
    """The entries of a file of JSON lines."""
    for number, line in enumerate(read_text(file, BadPrompts).split("\n"), 1):
        if line.strip():
            where = f"{file}: line {number}"
            yield entry(where, _json(line, where))


def folder_of(argument: str | None, name: str, more: str = "") -> Path:
    """The folder that the argument names. Raises BadPrompts where there is none; ``more`` says how to get it."""
    folder = Path(argument or "").expanduser()
    if not folder.is_dir():
        what = "is a file, want a folder" if folder.exists() else "there is no such folder"
        raise BadPrompts(f"{name}:{argument}: {what}{more and f'; {more}'}")
    return folder


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{where}: not JSON ({error})") from error


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
