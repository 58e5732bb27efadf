"""What a user asks for: the input of an evaluation, the same from the command line, a recipe or Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..api.errors import BadOption
from ..api.plugin_info import GeneratorInfo, MetricInfo

NoisePolicy = Literal["shared", "per-prompt"]
Question = Literal["new", "prompts", "seeds"]


@dataclass(frozen=True)
class ModelRequest:
    """One model under one setting.

    spec:      name, `name:argument`, or a descriptor
    label:     how results call it; the spec (with its settings, if it has any) by default
    settings:  options of the generator that hold for this entry alone
    """

    spec: str | GeneratorInfo
    label: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One evaluation.

    metrics:     names or descriptors
    models:      in the order in which they are shown
    prompts:     prompt sources or files; empty: each metric's own for the model's domain
    judges:      `NAME` or `CAPABILITY=NAME`; empty: chosen
    seeds:       None: the metric's own number for the domain
    limit:       at most so many prompts, a seeded sample spread over facets
    options:     by component name (or `kind:name`)
    out:         the run folder; None: one under `t2i-runs`, named after what is asked
    fresh:       make again what this evaluation would otherwise take from the store
    shard:       (i, n): only the i-th of n parts of the work, i from 1; scores come from a last run without it
    interval:    what intervals answer: new prompts and new seeds, new prompts, or new seeds
    noise:       starting noise shared by all prompts, or drawn per prompt
    max_failed:  the share of failed samples above which the run has failed
    """

    metrics: tuple[str | MetricInfo, ...]
    models: tuple[ModelRequest, ...]
    prompts: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    seeds: tuple[int, ...] | None = None
    limit: int | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    out: Path | None = None
    fresh: bool = False
    device: str | None = None
    batch_size: int | None = None
    shard: tuple[int, int] | None = None
    interval: Question = "new"
    noise: NoisePolicy = "shared"
    offline: bool = False
    max_failed: float = 0.01


MOST_SEEDS = 1_000_000
"""More seeds than anybody draws; a slip of the keyboard must not fill the memory."""


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read `16` (seeds 0 to 15), `0,7`, `0-63` or a mixture such as `0-3,9`. Raises BadOption."""
    try:
        parts = [_span(f"0-{int(text) - 1}" if text.strip().isdecimal() else part) for part in text.split(",")]
    except ValueError:
        parts = []
    if any(part.start < 0 or part.stop - part.start > MOST_SEEDS for part in parts):
        raise BadOption(f"--seeds {text!r}: more than {MOST_SEEDS:,} seeds")
    seeds = tuple(seed for part in parts for seed in part)
    if not seeds or len(set(seeds)) != len(seeds):
        raise BadOption(
            f"--seeds {text!r}: want a number of seeds (16), a list (0,7) or a range (0-63), none twice"
        )
    return seeds


def _span(part: str) -> range:
    first, dash, last = part.strip().partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(first), int(first) + 1)


def parse_shard(text: str) -> tuple[int, int]:
    """Read `I/N`, I from 1 to N. Raises BadOption."""
    part, _, parts = text.partition("/")
    if part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts):
        return int(part), int(parts)
    raise BadOption(f"--shard {text!r}: want I/N with I from 1 to N, for instance 1/4")
