"""The parts of a signature line, as readers of stored runs need them, and how two lines differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from ..api.digest import digest_data, digest_text, drop_places, encode_canonically
from ..api.options import select_changed_options
from ..api.plugin_info import MetricInfo
from ..api.prompt import Prompt
from ..api.resolver import ResolvedComponent
from ..api.text import escape_control_characters
from ..io.prompt_file import digest_prompts

_DIGITS = 8
"""Hex digits of a digest."""

_LONGEST = 40
"""Options whose value is longer are shown by their digest."""

_MOST_RANGES = 3
"""Seeds in more ranges than these are shown by their number and digest."""

Parts = tuple[tuple[str, str], ...]
"""Keys and values of a signature line, in its order."""


def read_parts(signature: str) -> Parts:
    """Return the parts of a signature line."""
    return tuple((key, value) for key, _, value in (part.partition(":") for part in signature.split("|")))


def shorten_digest(digest: str) -> str:
    """Return the digits of a digest that a signature line shows."""
    return digest[:_DIGITS]


def write_line(parts: Iterable[tuple[str, str]]) -> str:
    """Return the signature line of parts, each in one piece and without control characters."""
    return "|".join(f"{key}:{escape_control_characters(value).replace('|', '%7C')}" for key, value in parts)


def drop_place(spec: str) -> str:
    """Return a component's name and argument; of a path, the last part alone."""
    name, colon, argument = spec.partition(":")
    return f"{drop_places(name)}{colon}{drop_places(argument)}"


def describe_metric(metric: ResolvedComponent[MetricInfo]) -> list[tuple[str, str]]:
    """Return a metric's name, version, distribution and the options that differ from their defaults."""
    options = {
        name: drop_places(value if isinstance(value, str) else encode_canonically(drop_places(value)))
        for name, value in select_changed_options(metric.options).items()
    }
    return [
        ("metric", drop_place(metric.spec)),
        ("version", str(metric.info.version)),
        *([(metric.dist, metric.version)] if metric.dist else []),
        *((name, _shorten(text)) for name, text in options.items()),
    ]


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"#{shorten_digest(digest_text(text))}"


def describe_prompts(prompts: Collection[Prompt]) -> str:
    """Return number and digest of prompts, which follow the name of their source: `(300)#1a2b3c4d`."""
    return f"({len(prompts)})#{shorten_digest(digest_prompts(prompts))}"


def describe_seeds(seeds: Iterable[int]) -> str:
    """Return seeds as `--seeds` takes them: `0-31`, `0,7`; of many ranges, their number and a digest."""
    ordered = sorted(set(seeds))
    starts = [seed for n, seed in enumerate(ordered) if n == 0 or ordered[n - 1] != seed - 1]
    ends = [a for a, b in pairwise(ordered) if b != a + 1] + ordered[-1:]
    if len(starts) > _MOST_RANGES:
        return f"{len(ordered)}#{shorten_digest(digest_data(ordered))}"
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(starts, ends, strict=True)
    )


def count_prompts(described: str) -> int:
    """Return the number of prompts in a text of `describe_prompts`. Raises ValueError if it is another."""
    return int(described.rpartition(")#")[0].rpartition("(")[2])


def count_seeds(described: str) -> int:
    """Return the number of seeds in a text of `describe_seeds`. Raises ValueError if it is another."""
    if "#" in described:
        return int(described.partition("#")[0])
    ends = [each.partition("-") for each in described.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def describe_difference(own: Parts, others: Parts) -> str:
    """Return in words in which parts two measurements differ: `version 1, not 2; judge oracle#1a, not clip#2b`."""
    return "; ".join(_list_differences(own, others))


def _list_differences(own: Parts, others: Parts) -> Iterator[str]:
    mine, theirs = _collect(own), _collect(others)
    for key in dict.fromkeys([*mine, *theirs]):
        a, b = mine.get(key), theirs.get(key)
        if a != b:
            yield f"{key} {a or 'not set'}, not {b}" if b else f"{key} {a}, which the others leave at its default"


def _collect(parts: Parts) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for key, value in parts:
        found.setdefault(key, []).append(value)
    return {key: ", ".join(values) for key, values in found.items()}
