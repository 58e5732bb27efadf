"""YAML files whose mistakes are reported with the line and the field. A duplicate key is a mistake."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..api.errors import T2IError, join_clauses
from .text_file import read_text
from .yaml_file import MAX_BYTES, BadYAML, BoundedLoader, load_yaml

Place = tuple[str | int, ...]
"""Place in the data: key, position in a list, key beneath it."""


@dataclass(frozen=True)
class LocatedYAML:
    """The data of a YAML text, with line numbers.

    Attributes:
        data: The data.
        lines: Line number of each key and list item, by its place in words: a key may be a number in YAML and a
            text in a message, and a value is either a list or a mapping.
    """

    data: Any
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def find_line(self, place: Place) -> int | None:
        """Return the line of a place, or of the nearest place above it that has one."""
        words = tuple(map(str, place))
        above = (self.lines.get(words[:length]) for length in range(len(words), 0, -1))
        return next((found for found in above if found), None)

    def describe_place(self, place: Place) -> str:
        """Return the text for a place: `line 7, models.1.settings`, without the line if none is known."""
        line, name = self.find_line(place), ".".join(map(str, place))
        return ", ".join(filter(None, ["" if line is None else f"line {line}", name]))

    def describe_mistakes(self, mistakes: Iterable[tuple[Place, str]]) -> str:
        """Return mistakes as one line, each with its place."""
        parts = (": ".join(filter(None, [self.describe_place(place), text])) for place, text in mistakes)
        return join_clauses(dict.fromkeys(parts))


class DuplicateKey(BadYAML):
    """A duplicate key in a mapping.

    Attributes:
        key: The key.
        line: Line of its second occurrence.
    """

    def __init__(self, key: Hashable, line: int) -> None:
        super().__init__(f"line {line}: duplicate key {key!r}; keep one of them")
        self.key, self.line = key, line


def load_located_yaml(text: str) -> LocatedYAML:
    """Return the data of a YAML text, with line numbers.

    Raises:
        DuplicateKey: If a mapping has a key twice. YAML would silently use the last value.
        BadYAML: If the text is not YAML or exceeds a limit.
    """
    located: LocatedYAML = load_yaml(text, _Loader)
    return located


def read_located_yaml(path: Path, error: type[T2IError], expected: str) -> LocatedYAML:
    """Return the mapping that a YAML file holds, with line numbers.

    Args:
        path: The file.
        error: The class of error to raise.
        expected: What the file must contain, in words, for messages.

    Raises:
        T2IError: `error`, in one line that names the file, if it cannot be read, is not YAML, or is not a mapping
            with entries.
    """
    try:
        found = load_located_yaml(read_text(path, error, MAX_BYTES))
    except BadYAML as problem:
        raise error(f"{path}: {problem}") from problem
    if not isinstance(found.data, dict) or not found.data:
        raise error(f"{path}: must contain {expected}")
    return found


def _find_lines(node: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the place and line number of each key and item below a YAML node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):  # other keys are refused, and may stand for a very long text
                yield (*place, key.value), key.start_mark.line + 1
                yield from _find_lines(value, (*place, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*place, str(number)), item.start_mark.line + 1
            yield from _find_lines(item, (*place, str(number)))


_MERGE = "tag:yaml.org,2002:merge"
"""Tag of the key `<<`, which is not a key of the data."""


class _Loader(BoundedLoader):
    """YAML loader that returns LocatedYAML and raises DuplicateKey."""

    def get_single_data(self) -> LocatedYAML:
        node = self.get_single_node()
        lines = dict(_find_lines(node))  # before construction, which moves merged keys
        return LocatedYAML(None if node is None else self.construct_document(node), lines)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise DuplicateKey(key, key_node.start_mark.line + 1)
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)
