"""Evaluation from Python: the function behind `t2i eval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..api.plugin_info import GeneratorInfo, MetricInfo
from ..api.progress import Progress, Silent
from ..api.resolver import Resolver
from ..results.run import Run
from ..storage.cache import use_cache
from .component import Component
from .plan import make_plan
from .request import ModelRequest, NoisePolicy, Question, Request, parse_seeds, parse_shard
from .run import run_plan
from .thread_pools import sleep_while_waiting


def evaluate(
    metric: str | MetricInfo | Sequence[str | MetricInfo],
    model: str | GeneratorInfo | ModelRequest | Sequence[str | GeneratorInfo | ModelRequest],
    *,
    prompts: str | Sequence[str] = (),
    judge: str | Sequence[str] = (),
    seeds: int | str | Sequence[int] | None = None,
    limit: int | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    device: str | None = None,
    batch_size: int | None = None,
    shard: str | None = None,
    interval: Question = "new",
    noise: NoisePolicy = "shared",
    offline: bool = False,
    max_failed: float = 0.01,
    resolver: Resolver[Component[Any]] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Evaluate models under metrics, with the same names and results as `t2i eval`.

    The arguments that are not listed are those of `Request`.

    Args:
        metric: Names of metrics, or descriptors (`MetricInfo`) of your own.
        model: Names of models, or descriptors (`GeneratorInfo`) of your own. A model under several settings is one
            `ModelRequest` for each.
        resolver: Finds components by name. If None, among the installed plugins.
        progress: Shows progress. If None, nothing is shown.

    Returns:
        The run. If more samples fail than `max_failed` allows, `Run.failed` gives the reason.

    Raises:
        T2IError: For problems that a user can fix.

    Example:
        >>> run = evaluate("tiam", "simulator", prompts="tiam-5-1", seeds=4)  # doctest: +SKIP
        >>> run.results[0].score  # doctest: +SKIP
        1.0
    """
    metrics = [metric] if isinstance(metric, str | MetricInfo) else list(metric)
    models = [model] if isinstance(model, str | GeneratorInfo | ModelRequest) else list(model)
    if isinstance(seeds, int):
        seeds = str(seeds)
    request = Request(
        metrics=tuple(metrics),
        models=tuple(m if isinstance(m, ModelRequest) else ModelRequest(m) for m in models),
        prompts=(prompts,) if isinstance(prompts, str) else tuple(prompts),
        judges=(judge,) if isinstance(judge, str) else tuple(judge),
        seeds=parse_seeds(seeds) if isinstance(seeds, str) else None if seeds is None else tuple(seeds),
        limit=limit,
        options=options or {},
        out=Path(out) if out is not None else None,
        fresh=fresh,
        device=device,
        batch_size=batch_size,
        shard=parse_shard(shard) if shard else None,
        interval=interval,
        noise=noise,
        offline=offline,
        max_failed=max_failed,
    )
    sleep_while_waiting()
    with use_cache((progress or Silent()).note):
        return run_plan(make_plan(request, resolver), progress)
