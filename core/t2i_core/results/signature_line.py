"""The parts of a signature line that describe samples, which readers of stored runs check."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise

from ..api.digest import digest_data
from ..api.prompt import Prompt
from ..io.prompt_file import digest_prompts

_DIGITS = 8
"""Hex digits of a digest."""

_MOST_RANGES = 3
"""Seeds in more ranges than these are shown by their number and digest."""


def shorten_digest(digest: str) -> str:
    """Return the digits of a digest that a signature line shows."""
    return digest[:_DIGITS]


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
