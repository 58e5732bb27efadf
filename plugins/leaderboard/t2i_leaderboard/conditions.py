"""The conditions of a measurement, read from its signature line, and how two of them differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Parts = tuple[tuple[str, str], ...]
"""Keys and values of a signature line, in its order."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of a measurement.

    Attributes:
        settings: The parts that are the same for all scores of a board: the metric with its version and options,
            the source of the prompts, judges, interval, noise.
        samples: The parts in which scores of a board may differ: the content of the prompts, and the seeds. Models
            are compared on what they share.
    """

    settings: Parts
    samples: Parts


def read_parts(signature: str) -> Parts:
    """Return the parts of a signature line."""
    return tuple((key, value) for key, _, value in (part.partition(":") for part in signature.split("|")))


def read_conditions(signature: str, dist: str, same_samples: bool) -> Conditions:
    """Return the conditions that a signature line states.

    The versions of t2i and of the metric's distribution are left out: the version of the metric is raised when its
    numbers change.

    Args:
        signature: The line.
        dist: The metric's distribution.
        same_samples: True if scores depend on the number of images, or on the other prompts or models, so that
            prompts and seeds count as settings.
    """
    parts = read_parts(signature)
    places = {key: n for n, (key, _) in enumerate(parts)}  # the last of a key: options stand before these parts
    settings: list[tuple[str, str]] = []
    samples: list[tuple[str, str]] = []
    for n, (key, value) in enumerate(parts):
        if places[key] == n and (key == "t2i" or (n == 2 and key == dist)):
            continue
        if places[key] != n or key not in ("prompts", "seeds") or same_samples:
            settings.append((key, value))
            continue
        samples.append((key, value))
        if key == "prompts":
            settings.append((key, value.rpartition("(")[0] or value))
    return Conditions(tuple(settings), tuple(samples))


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
