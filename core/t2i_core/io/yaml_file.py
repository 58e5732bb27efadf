"""YAML of users: things by name, read so that what is wrong is said in one line.

A small file can stand for billions of values, by aliases of aliases, or take hours to read. Both are refused
before anything is built, so that it is safe to read somebody else's recipe.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from ..api.errors import T2IError
from .text_file import read_text

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_BYTES = 1 << 20
"""Size of a file."""

MAX_VALUES = 50_000
"""Values in a file, where each alias counts as all that it stands for."""

MAX_DEPTH = 50
"""Levels of lists and mappings within each other."""

_MAX_DIGITS = 1000
"""Characters of a number."""


class BadYAML(ValueError):
    """A text that is not YAML, or stands for more than t2i reads; its message is one line."""


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses a text that stands for too much."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._extents: dict[yaml.Node, tuple[int, int]] = {}  # values and levels of each node, aliases expanded

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node, and count what it stands for. Raises BadYAML for too much."""
        line: int = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
        is_alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _refuse(line, f"lists and mappings are nested more than {MAX_DEPTH} deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None:
            return None
        if is_alias and node not in self._extents:
            _refuse(line, "an alias stands for a value that holds it")
        if not is_alias:
            self._extents[node] = self._extent(node, line)
        return node

    def _extent(self, node: yaml.Node, line: int) -> tuple[int, int]:
        """Return the number of values and of levels that a complete node stands for."""
        children: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            children = node.value
        elif isinstance(node, yaml.MappingNode):
            children = [child for pair in node.value for child in pair]
        elif node.tag in _NUMBERS and len(node.value) > _MAX_DIGITS:
            _refuse(line, f"a number has more than {_MAX_DIGITS} characters")
        extents = [self._extents[child] for child in children]
        values = 1 + sum(values for values, _ in extents)
        levels = 1 + max((levels for _, levels in extents), default=0)
        if max(values, len(self._extents)) > MAX_VALUES:
            _refuse(line, f"more than {MAX_VALUES} values, each alias counted as what it stands for")
        if levels > MAX_DEPTH:
            _refuse(line, f"lists and mappings are nested more than {MAX_DEPTH} deep")
        return values, levels


_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def _refuse(line: int, problem: str) -> NoReturn:
    raise BadYAML(f"line {line}: {problem}")


def load_yaml(text: str, loader: type[BoundedLoader] = BoundedLoader) -> Any:
    """Return what a text in YAML says.

    Args:
        text: At most `MAX_BYTES` long.
        loader: A subclass may refuse more.

    Raises:
        BadYAML: If the text is not YAML or stands for too much.
    """
    if len(text) > MAX_BYTES:
        raise BadYAML(f"longer than {MAX_BYTES >> 20} MiB")
    try:
        return yaml.load(text, Loader=loader)
    except BadYAML:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # an impossible date is a ValueError
        raise BadYAML(f"not YAML ({' '.join(str(problem).split())})") from problem


def read_mapping(path: Path, error: type[T2IError], want: str) -> dict[Any, Any]:
    """Return what a file holds, by name; at least one thing.

    want: what it must hold, in words

    Raises `error`, in one line that names the file, where it cannot be read, is no YAML, or holds no such thing.
    """
    try:
        data = load_yaml(read_text(path, error, MAX_BYTES))
    except BadYAML as problem:
        raise error(f"{path}: {problem}") from problem
    if not isinstance(data, dict) or not data:
        raise error(f"{path}: want {want}")
    return data


def find_first_fault(error: ValidationError) -> str:
    """Say what pydantic found first, and where, places in lists from 1: `categories.2: want a name`."""
    fault = error.errors()[0]
    field = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in fault["loc"])
    message = fault["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message
