"""YAML that users write, read safely. Errors are one line.

By aliases of aliases a small file can expand to billions of values, or take hours to read. Both are refused before
anything is built, so that reading somebody else's recipe is safe.
"""

from __future__ import annotations

from reprlib import repr as shorten
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from ..api.fault_words import describe_fault, takes_value

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_BYTES = 1 << 20
"""Largest size of a file."""

MAX_VALUES = 10_000
"""Most values in a file, aliases expanded."""

MAX_DEPTH = 50
"""Maximum depth to which lists and mappings may be nested."""

_MAX_DIGITS = 1000
"""Most characters of a number."""


class BadYAML(ValueError):
    """A text that is not YAML, or expands to more than t2i reads; its message is one line."""


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader, with limits on the expanded size of a text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._extents: dict[yaml.Node, tuple[int, int]] = {}  # values and levels of each node, aliases expanded

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node and count its values, with aliases expanded.

        Raises:
            BadYAML: If it exceeds a limit.
        """
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
            _refuse(line, "an alias refers to a value that contains it")
        if not is_alias:
            self._extents[node] = self._extent(node, line)
        return node

    def _extent(self, node: yaml.Node, line: int) -> tuple[int, int]:
        """Return the number of values and of levels of a complete node, with aliases expanded."""
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
            _refuse(line, f"more than {MAX_VALUES} values, aliases expanded")
        if levels > MAX_DEPTH:
            _refuse(line, f"lists and mappings are nested more than {MAX_DEPTH} deep")
        return values, levels


_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def _refuse(line: int, problem: str) -> NoReturn:
    raise BadYAML(f"line {line}: {problem}")


def load_yaml(text: str, loader: type[BoundedLoader] = BoundedLoader) -> Any:
    """Return the data of a YAML text.

    Args:
        text: At most `MAX_BYTES` characters.
        loader: The loader; a subclass may refuse more.

    Raises:
        BadYAML: If the text is not YAML or exceeds a limit.
    """
    if len(text) > MAX_BYTES:
        raise BadYAML(f"longer than {MAX_BYTES >> 20} MiB")
    try:
        return yaml.load(text, Loader=loader)
    except BadYAML:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # an impossible date is a ValueError
        hint = "; put quotes around a text with a question mark" if "got '?'" in str(problem) else ""
        raise BadYAML(f"not YAML ({' '.join(str(problem).split())}){hint}") from problem


def find_first_fault(error: ValidationError) -> str:
    """Return pydantic's first error after its place, items counted from 0: `groups.1: must be a text (got 3)`."""
    fault = error.errors()[0]
    field = ".".join(map(str, fault["loc"]))
    value = f" (got {shorten(fault['input'])})" if takes_value(fault) else ""
    message = f"{describe_fault(fault)}{value}"
    return f"{field}: {message}" if field else message
