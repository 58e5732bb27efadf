"""Evaluation from Python: the function behind `t2i eval`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..api.errors import BadOption, BadPrompts
from ..api.plugin_info import GeneratorInfo, MetricInfo
from ..api.progress import Progress
from ..api.progress_display import choose_progress
from ..api.resolver import Resolver, installed_resolver
from ..results.run import Run
from ..storage.cache import use_cache
from .component import Component
from .given_images import list_image_models
from .given_prompts import make_prompts, read_prompts_argument
from .plan import make_plan
from .request import ModelRequest, Request
from .request_field import list_fields
from .request_values import list_values
from .run import run_plan
from .thread_pools import sleep_while_waiting

Model = str | GeneratorInfo | ModelRequest | Callable[..., Any]


def evaluate(
    metric: str | MetricInfo | Sequence[str | MetricInfo] | None = None,
    model: Model | Sequence[Model] = (),
    *,
    suite: str | None = None,
    images: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
    judge: str | Sequence[str] = (),
    resolver: Resolver[Component[Any]] | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Run:
    """Evaluate models under metrics, with the same names and results as `t2i eval`.

    Args:
        metric: Metrics by name, or descriptors (`MetricInfo`) of your own. They add to those of `suite`.
        model: Models by name; a function that takes a prompt's text and a seed and returns an image; a loaded
            pipeline of diffusers; or descriptors (`GeneratorInfo`) of your own. A `ModelRequest` is a model under
            settings, with a label.
        suite: Suite of an installed plugin: metrics and settings, which the other arguments override.
        images: Images instead of a model, one for each prompt in the same order: PIL images, uint8 arrays of shape
            (height, width, 3), or paths. Several such lists, by label, are compared. `prompts` must be given.
        judge: Judges to take instead of the chosen ones, `NAME` or `CAPABILITY=NAME`.
        resolver: Finds components by name. Default: the installed registry.
        progress: True shows bars (lines if standard error is not a terminal), False nothing. If None, bars are
            shown in a notebook and on a terminal. A `Progress` of your own is told how far the run is.
        **options: The other fields of `Request`: prompts, seeds, limit, options, out, fresh, device, and so on, as
            `help(Request)` and the command line describe them. `prompts` may also be a list of texts, of `Prompt`
            or both, or a column of a table; a single text, and a list of names of installed sources or of files,
            names where the prompts come from. Seeds may be integers of numpy.

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
    if metric is None and suite is None:
        raise BadOption("name a metric, or a suite: evaluate(suite=NAME)")
    values = {"metrics": metric or (), "models": model, "judges": judge, **options}
    request = make_request(values, images, resolver, suite)
    sleep_while_waiting()
    with choose_progress(progress) as display:
        with use_cache(display.note):
            run = run_plan(make_plan(request, resolver, note=display.note), display)
        for failure in run.sink_failures:
            display.note(failure.reason)
    return run


def make_request(
    values: dict[str, Any], images: Any, resolver: Resolver[Component[Any]] | None, suite: str | None = None
) -> Request:
    """Return a request whose prompts and images may be values in memory."""
    if images is not None:
        if list_values(values["models"]):
            raise BadOption("images and model cannot be given together; leave one out")
        given = values.get("prompts")
        if given is None or isinstance(given, str):
            raise BadPrompts("images need their prompts, in the same order: prompts=[...], a text or Prompt each")
        values["prompts"] = make_prompts(given)
        values["models"] = list_image_models(images, values["prompts"])
    if values.get("prompts") is not None:
        values["prompts"] = read_prompts_argument(values["prompts"], lambda: _list_prompt_sources(resolver))
    if suite is not None:
        values = dict((resolver or installed_resolver()).apply_suite(suite, values))
    return Request(**values)


def _list_prompt_sources(resolver: Resolver[Component[Any]] | None) -> set[str]:
    installed = (resolver or installed_resolver()).manifest()
    return {str(entry["name"]) for entry in installed if entry["kind"] == "prompt_source"}


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
