"""Write the table of options in docs/command-line.md from core's request: `python docs/option_table.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from page_tables import table
from t2i_cli.request_command import make_options

FILE = Path(__file__).with_name("command-line.md")
BEGIN = "<!-- made by docs/option_table.py -->\n\n"
BLOCK = re.compile(rf"(?<={re.escape(BEGIN)})(?:\|.*\n)+")


def text() -> str:
    """Return the page as it should be."""
    page = FILE.read_text(encoding="utf-8")
    lines = "\n".join(table(("option", "key of a recipe", ""), _list_rows()))
    made, count = BLOCK.subn(lambda _: f"{lines}\n", page)
    assert count == 1, f"{FILE} has no table after {BEGIN!r}"
    return made


def _list_rows() -> Iterator[tuple[str, str, str]]:
    for option in make_options("eval"):
        first, *more = option.opts
        words = [f"{first} {option.metavar or ''}".strip(), *more, *option.secondary_opts]
        yield ", ".join(f"`{word}`" for word in words), f"`{option.name}`", option.help


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
