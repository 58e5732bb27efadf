"""Evaluation from Python: the function behind `t2i eval`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..api.plugin_info import GeneratorInfo, MetricInfo
from ..api.progress import Progress, Silent
from ..api.resolver import Resolver
from ..results.run import Run
from ..storage.cache import use_cache
from .component import Component
from .plan import make_plan
from .request import ModelRequest, Request
from .request_field import list_fields
from .run import run_plan
from .thread_pools import sleep_while_waiting


def evaluate(
    metric: str | MetricInfo | Sequence[str | MetricInfo],
    model: str | GeneratorInfo | ModelRequest | Sequence[str | GeneratorInfo | ModelRequest],
    *,
    judge: str | Sequence[str] = (),
    resolver: Resolver[Component[Any]] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Evaluate models under metrics, with the same names and results as `t2i eval`.

    Args:
        metric: Metrics by name, or descriptors (`MetricInfo`) of your own.
        model: Models by name, or descriptors (`GeneratorInfo`) of your own; a `ModelRequest` is a model under
            settings, with a label.
        judge: Judges to take instead of the chosen ones, `NAME` or `CAPABILITY=NAME`.
        resolver: Finds components by name. Default: the installed registry.
        progress: Is told how far the run is.
        **options: The other fields of `Request`: prompts, seeds, limit, options, out, fresh, device, and so on, as
            `help(Request)` and the command line describe them.

    Returns:
        The run. If more samples fail than `max_failed` allows, `Run.failed` says so; if a sink fails,
        `Run.sink_failures` does, and a note.

    Raises:
        T2IError: An argument is not valid, or a component is unknown, broken or missing.

    Example:
        >>> run = evaluate("tiam", "simulator", prompts="tiam-5-1", seeds=4)  # doctest: +SKIP
        >>> run.results[0].score  # doctest: +SKIP
        1.0
    """
    values: dict[str, Any] = {"metrics": metric, "models": model, "judges": judge, **options}
    request = Request(**values)
    sleep_while_waiting()
    progress = progress or Silent()
    with use_cache(progress.note):
        run = run_plan(make_plan(request, resolver), progress)
    for failure in run.sink_failures:
        progress.note(failure.reason)
    return run


def name_options(own: inspect.Signature, request: type[Request]) -> inspect.Signature:
    """Return a signature with the request's fields in place of `**options`, for `help` and completion."""
    *named, _ = own.parameters.values()
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.get_default(call_default_factory=True),
            annotation=field.annotation,
        )
        for name, field in list_fields(request).items()
        if name not in ("metrics", "models", "judges")
    ]
    return own.replace(parameters=[*named, *options])


evaluate.__signature__ = name_options(inspect.signature(evaluate), Request)  # type: ignore[attr-defined]
