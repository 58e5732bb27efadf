"""Requests: the input of an evaluation, the same from the command line, a recipe or Python."""

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

    Attributes:
        spec: Name, `name:argument`, or a descriptor.
        label: Its name in results. If None, the spec with its settings.
        settings: Options of the generator for this entry alone.
    """

    spec: str | GeneratorInfo
    label: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One evaluation.

    Attributes:
        metrics: Names or descriptors.
        models: The models, in the order in which they are shown.
        prompts: Prompt sources or files. If empty, each metric's own for the model's domain.
        judges: `NAME` or `CAPABILITY=NAME`. If empty, t2i chooses.
        seeds: The seeds. If None, the metric's own number for the domain.
        limit: Largest number of prompts, a seeded sample spread over facets.
        options: Options by component name (or `kind:name`).
        out: The run folder. If None, one in `t2i-runs`, named after the request.
        fresh: True to repeat the work that this evaluation would otherwise take from the cache.
        device: `cpu`, `cuda`, `cuda:N` or `mps`. If None, the plugin chooses.
        batch_size: Batch size. If None, the plugin chooses.
        shard: (i, n): only the i-th of n parts of the work, i from 1. A last run without it computes the scores.
        interval: The question that intervals answer: new prompts and new seeds, new prompts, or new seeds.
        noise: Starting noise shared by all prompts, or drawn for each prompt.
        offline: True if nothing may be downloaded.
        max_failed: Share of failed samples above which the run has failed, in [0, 1].
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
"""Largest number of seeds, so that a typing error does not fill the memory."""


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse `16` (seeds 0 to 15), `0,7`, `0-63` or a mixture such as `0-3,9`.

    Raises:
        BadOption: If the text is none of these, or has more than `MOST_SEEDS` seeds.
    """
    try:
        parts = [
            _parse_span(f"0-{int(text) - 1}" if text.strip().isdecimal() else part) for part in text.split(",")
        ]
    except ValueError:
        parts = []
    if any(part.start < 0 or part.stop - part.start > MOST_SEEDS for part in parts):
        raise BadOption(f"--seeds must name at most {MOST_SEEDS:,} seeds (got {text!r})")
    seeds = tuple(seed for part in parts for seed in part)
    if not seeds or len(set(seeds)) != len(seeds):
        raise BadOption(
            f"--seeds must be a number of seeds (16), a list (0,7) or a range (0-63), none twice (got {text!r})"
        )
    return seeds


def _parse_span(part: str) -> range:
    first, dash, last = part.strip().partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(first), int(first) + 1)


def parse_shard(text: str) -> tuple[int, int]:
    """Parse `I/N`, I from 1 to N.

    Raises:
        BadOption: If the text is anything else.
    """
    part, _, parts = text.partition("/")
    if part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts):
        return int(part), int(parts)
    raise BadOption(f"--shard must be I/N with I from 1 to N, such as 1/4 (got {text!r})")
