"""The conditions of a measurement, read from its signature line."""

from __future__ import annotations

from dataclasses import dataclass

from t2i_core.results.signature_line import Parts, read_parts


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
