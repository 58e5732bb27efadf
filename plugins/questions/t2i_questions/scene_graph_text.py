"""The text form of DSG's annotations: numbered lines, tuples with their category, and lists of dependencies.

References:
    j-min/DSG, dsg/parse_utils.py and dsg/data_utils.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NO_PARENT = "0"
_LINE = re.compile(r"\s*(?:output\s*:)?\s*(\d+)\s*\|\s*(.*?)\s*", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)(?:\.0*)?")

BROAD = {
    "entity": "entity",
    "attribute": "attribute",
    "other": "attribute",
    "relation": "relation",
    "action": "relation",
    "global": "global",
}
"""DSG's broad category by the first word of a tuple."""


def parse_numbered_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield number and content of each line such as `2 | attribute - color (mug, teal)`; skip all other lines."""
    for line in text.splitlines():
        if matched := _LINE.fullmatch(line):
            yield matched[1], matched[2]


def parse_tuple_categories(text: str) -> dict[str, str]:
    """Return the category of each tuple, the text before its bracket, by the tuple's number."""
    return {number: find_tuple_category(content) for number, content in parse_numbered_lines(text)}


def parse_dependencies(text: str) -> dict[str, tuple[str, ...]]:
    """Return the parents of each tuple by its number; words among them are dropped."""
    return {number: read_parents(content) for number, content in parse_numbered_lines(text)}


def find_tuple_category(written: str) -> str:
    """Return the category of a tuple: `attribute - color` of `attribute - color (mug, teal)`."""
    return written.partition("(")[0].strip()


def find_broad_category(written: str) -> str:
    """Return DSG's broad category of a tuple; its own first word if DSG knows no other."""
    first = written.partition("(")[0].partition("-")[0].strip().lower()
    return BROAD.get(first, first)


def read_parents(written: str) -> tuple[str, ...]:
    """Return the parents of a list such as `1, 3` or `1.0`; 0 means none, and words are dropped."""
    numbers = (read_number(part) for part in written.split(","))
    return tuple(dict.fromkeys(str(number) for number in numbers if number))


def has_other_than_numbers(written: str) -> bool:
    """Return whether a list of dependencies has a part that is not a number."""
    return any(read_number(part) is None for part in written.split(","))


def read_number(written: str) -> int | None:
    """Return a whole number such as `2`, or `2.0` as tables write it that were read as floats; else None."""
    matched = _NUMBER.fullmatch(written.strip())
    return int(matched[1]) if matched else None
