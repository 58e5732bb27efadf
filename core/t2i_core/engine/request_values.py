"""Values of a request as command lines, recipes and Python write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from operator import index
from reprlib import repr as shorten
from typing import Any

MAX_SEEDS = 1_000_000
"""More seeds than anybody draws; a typing error must not fill the memory."""


def list_values(value: Any) -> list[Any]:
    """Return several values as a list, and one value as a list of one. A model in memory, a callable, is one."""
    several = isinstance(value, Iterable) and not isinstance(value, str | Mapping) and not callable(value)
    return list(value) if several else [value]


def read_names(*types: type) -> Callable[[Any], tuple[Any, ...]]:
    """Return a reader of one or several names, or of descriptors of these types."""

    def read(value: Any) -> tuple[Any, ...]:
        names = list_values(value)
        if not all(isinstance(name, types) for name in names):
            raise ValueError(f"must be a name or a list of names (got {value!r})")
        return tuple(names)

    return read


def split_label(text: str) -> tuple[str | None, str]:
    """Split `[LABEL=]NAME[:ARGUMENT]` into label and component.

    A label has letters, digits, spaces and `.-_`, so a path with `=` (`folder:a=1`, `./a=1`) begins with none.
    """
    found = re.fullmatch(r"\s*(\w[\w .-]*?)\s*=\s*(\S.*)", text, re.DOTALL)
    return (found[1], found[2]) if found else (None, text)


def split_prompts(text: str) -> tuple[str, str]:
    """Split `[METRIC=]NAME|FILE` into metric and prompts; the metric is empty if none is named.

    The metric is the plain word before the first `=`; a path with `=` is only a path if it has another character
    before that.
    """
    metric, equals, prompts = text.partition("=")
    return (metric, prompts) if equals and re.fullmatch(r"[\w-]+", metric) else ("", text)


def read_seeds(value: Any) -> tuple[int, ...] | None:
    """Read a number of seeds, a text such as `16`, `0,7`, `0-63` or `0-3,9`, or the seeds themselves.

    Integers of numpy are integers too, and an array or a Series of them is a list.

    Raises:
        ValueError: The value is none of these, or a seed is negative or named twice.
    """
    if value is None:
        return None
    try:
        number = _read_integer(value)
        if number is not None or isinstance(value, str):
            text = value if number is None else str(number)
            parts = [_read_span(part) for part in _count_from_zero(text).split(",")]
        else:
            each = [_read_integer(seed) for seed in value]
            if None in each:
                raise TypeError("a seed is an integer")
            parts = [range(seed, seed + 1) for seed in each if seed is not None]
    except (TypeError, ValueError):
        parts = []
    if any(part.stop - part.start > MAX_SEEDS for part in parts) or sum(map(len, parts)) > MAX_SEEDS:
        raise ValueError(f"must be at most {MAX_SEEDS:,} seeds (got {shorten(value)})")
    seeds = tuple(seed for part in parts for seed in part)
    if not seeds or min(seeds) < 0 or len(set(seeds)) != len(seeds):
        raise ValueError(
            "must be a number of seeds (16), a list (0,7) or a range (0-63), none negative and none twice "
            f"(got {shorten(value)})"
        )
    return seeds


def _read_integer(value: Any) -> int | None:
    """Return an integer of Python or numpy as an int; None for anything else."""
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool":  # numpy 2.0 gives its bool an index
        return None
    try:
        return index(value)
    except TypeError:
        return None


def _count_from_zero(text: str) -> str:
    return f"0-{int(text) - 1}" if text.strip().isdecimal() else text


def _read_span(part: str) -> range:
    first, dash, last = part.strip().partition("-")
    return range(int(first), int(last if dash else first) + 1)


def read_shard(value: Any) -> tuple[int, int] | None:
    """Read `I/N` or the pair, I from 1 to N. Raises ValueError."""
    if value is None:
        return None
    part, _, parts = value.partition("/") if isinstance(value, str) else ("", "", "")
    pair = (int(part), int(parts)) if part.isdecimal() and parts.isdecimal() else value
    match pair:
        case (int(i), int(n)) if 1 <= i <= n:
            return i, n
    raise ValueError(f"must be I/N with I from 1 to N, for instance 1/4 (got {value!r})")


def read_batch_size(value: Any) -> int | None:
    """Read a whole number, or `auto`, which is None. Raises ValueError."""
    text = str(value).strip()
    if value is None or text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"must be a whole number from 1, or auto (got {value!r})")
    return int(text)


def read_until(value: Any) -> str | None:
    """Read when a run may stop: `verdict`, `best` or `width=W`. Raises ValueError."""
    if value is None:
        return None
    goal, _, width = str(value).strip().partition("=")
    try:
        if (goal in ("verdict", "best") and not width) or (goal == "width" and 0 < float(width) < math.inf):
            return f"width={float(width):g}" if goal == "width" else goal
    except ValueError:
        pass
    raise ValueError(f"must be verdict, best, or width=W with W above 0, for instance width=0.05 (got {value!r})")


def read_people(value: str) -> str:
    """Return a judge that gives people's answers, `NAME:FILE`. Raises ValueError if it names no file."""
    name, _, file = value.partition(":")
    if not name or not file.strip():
        raise ValueError(f"must be people:FILE with the file of answers (got {value!r})")
    return value


def check_device(value: str | None) -> str | None:
    """Return the name of a device. Raises ValueError if it is none."""
    if value is not None and not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", value):
        raise ValueError(f"must be auto, cpu, cuda, cuda:N or mps (got {value!r})")
    return value
