"""Tables in Markdown, for the pages that are made from descriptors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield _row(head)
    yield _row(["---"] * len(head))
    for row in rows:
        yield _row([" ".join(cell.split()).replace("|", "\\|") for cell in row])


def flat(options: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Nested options as dotted keys with their values."""
    for key, value in options.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
