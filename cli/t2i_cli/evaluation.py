"""`t2i eval` and `t2i generate`: make a plan, print it, run it, print the results."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import yaml
from t2i_core.api.errors import FailedRun, T2IError
from t2i_core.api.progress_display import show_progress
from t2i_core.api.terminal import console, print_json, write_line
from t2i_core.engine.component_finder import ComponentFinder
from t2i_core.engine.dry_run import forecast_plan, forecast_request
from t2i_core.engine.model_list import bring_models
from t2i_core.engine.plan import make_plan
from t2i_core.engine.recipe import parse_recipe
from t2i_core.io.yaml_lines import LocatedYAML
from t2i_core.results.score_tables import print_looks, print_results
from t2i_core.storage.cache import use_cache
from t2i_registry import Registry
from t2i_registry.suite import load_suite

from .commands import UsageError, say_error
from .interrupts import find_exit_code, raise_interrupt
from .plan_tables import print_images, print_plan, print_speeds
from .request import make_request
from .terminal import keep_stdout_clean

if TYPE_CHECKING:
    from t2i_core.engine.plan import Plan
    from t2i_core.engine.request import Request
    from t2i_core.results.run import Run


def evaluate(
    given: Mapping[str, Any], suite: str | None, recipe: Path | None, dry_run: bool, as_json: bool, facets: bool
) -> None:
    """Run an evaluation and print its results.

    Args:
        given: Values of the command line by the request's fields.
        suite: Suite, if one is named.
        recipe: Recipe file, if one is given.
        dry_run: Print the plan only.
        as_json: Print JSON on standard output.
        facets: Print scores by facet, and all named scores and comparisons.

    Raises:
        T2IError: The evaluation cannot run.
        FailedRun: More samples failed than allowed; raised after the results are printed.
    """
    registry = Registry()
    if suite is not None and recipe is not None:
        raise UsageError("--suite and --recipe cannot be given together; a recipe may list the suite's metrics")
    read = recipe if suite is None else load_suite(suite, given.get("models"), registry)
    wanted = make_request(given, read, registry)
    if not wanted.metrics:
        raise UsageError("name a metric with --metric (t2i list-plugins --kind metric shows them)")
    run = run_request(wanted, registry, dry_run, as_json)
    if run is None:
        return
    if as_json:
        print_json(run.to_json())
    else:
        print_speeds(console(), run)
        print_results(console(), run.results, run.comparisons, run.agreements, every=facets)
        print_looks(console(), run.manifest.stopping, every=facets)  # looks were shown as they were taken
        for name, why in run.manifest.left_out.items():
            write_line(f"left out: {name}: {why}")
        if not run.partial:
            write_line(f"folder: {run.path} (scores in run.json, images in images/)")
    _finish(run)


def generate(given: Mapping[str, Any], recipe: Path | None, dry_run: bool, as_json: bool) -> None:
    """Generate images only; ignore the metrics and judges of a recipe.

    Arguments and errors are those of `evaluate`.
    """
    registry = Registry()
    wanted = make_request(given, recipe, registry, measures=False)
    run = run_request(wanted, registry, dry_run, as_json)
    if run is None:
        return
    images = _count_images(run)
    if as_json:
        print_json(images)
    else:
        print_images(console(), images)
        print_speeds(console(), run)
    _finish(run)


class CommandEvaluator:
    """The `Evaluator` that a plugin's command gets.

    Attributes:
        resolver: Finds components.
        given: Values of the command line by the request's fields.
    """

    def __init__(self, resolver: Registry, given: Mapping[str, Any]) -> None:
        self.resolver = resolver
        self.given = given

    def make_request(self, recipe: Mapping[str, Any], name: str, out: Path | None = None) -> Request:
        """Return the request of a recipe, overridden by the command line's options; load nothing."""
        read = parse_recipe(yaml.safe_dump(dict(recipe), sort_keys=False), name)
        read = replace(read, source=LocatedYAML({}))  # line numbers of the dump would mislead
        return make_request({**self.given, "out": out}, read, self.resolver)

    def forecast(self, request: Request) -> dict[str, Any]:
        """Return the plan of a request as plain data; generate and write nothing."""
        return forecast(request, self.resolver)

    def print_plan(self, request: Request) -> None:
        """Print the plan of a request; generate and write nothing."""
        print_plan(console(), self.forecast(request))

    def run(self, request: Request, as_json: bool) -> Run:
        """Print the plan of a request and run it."""
        return _run_planned(request, self.resolver, as_json)


def run_request(wanted: Request, registry: Registry, dry_run: bool, as_json: bool) -> Run | None:
    """Plan a request, print the plan and run it; return None if `dry_run` is true."""
    if not wanted.models and not bring_models(ComponentFinder(wanted, registry, dry=True)):
        raise UsageError("name a model with --model (t2i list-plugins --kind generator shows them)")
    if dry_run:
        expected = forecast(wanted, registry)
        print_json(expected) if as_json else print_plan(console(), expected)
        return None
    return _run_planned(wanted, registry, as_json)


def _run_planned(wanted: Request, registry: Registry, as_json: bool) -> Run:
    with use_cache(partial(write_line, err=True)):
        with keep_stdout_clean():
            plan = make_plan(wanted, registry, note=partial(write_line, err=True))
            expected = forecast_plan(plan)
        raise_interrupt()
        print_plan(console(stderr=as_json), expected)
        return _run(plan)


def forecast(wanted: Request, registry: Registry) -> dict[str, Any]:
    """Return the plan of a request as plain data; generate and write nothing."""
    with keep_stdout_clean(), show_progress(raise_interrupt) as progress:
        return forecast_request(wanted, registry, progress)


def _run(plan: Plan) -> Run:
    from t2i_core.engine.run import run_plan  # imports pandas, which a plan does not need

    sys.stdout.flush()
    try:
        with keep_stdout_clean(), show_progress(raise_interrupt) as progress:
            return run_plan(plan, progress)
    except (KeyboardInterrupt, T2IError) as error:
        if (code := find_exit_code(error)) is None:
            raise
        say_error(*_explain_resume(plan.request.fresh))
        raise typer.Exit(code) from error


def _explain_resume(fresh: bool) -> tuple[str, str]:
    """Return the message of an interrupted run, and the command that resumes it."""
    # `uv run` sets this variable; without `uv run`, t2i may not be on the path
    words = [*(["uv", "run"] if "UV_RUN_RECURSION_DEPTH" in os.environ else []), "t2i", *sys.argv[1:]]
    if not fresh:
        return "interrupted; finished work is kept, and the same command resumes it", shlex.join(words)
    return (
        "interrupted; finished work is kept. The same command would repeat it because of --fresh; this command "
        "resumes it, and takes from the cache what --fresh would repeat",
        shlex.join([*(word for word in words if word != "--fresh"), "--no-fresh"]),
    )


def _count_images(run: Run) -> dict[str, Any]:
    """Return the number of images of a run and its data sets; for a shard, only the images it generated."""
    found: dict[str, Any] = {"run": str(run.folder)}
    if not run.partial:
        counts = run.samples()["status"].value_counts()
        found |= {f"n_{status}": int(counts.get(status, 0)) for status in ("ok", "failed", "missing")}
    found |= {"n_made": run.made.images, "images_per_second": run.made.rate}
    if not run.partial:
        found["datasets"] = [dataset.model_dump() for dataset in run.manifest.datasets]
    return found


def _finish(run: Run) -> None:
    if run.partial:
        write_line(run.partial, err=True)
    for failure in run.sink_failures:
        say_error(failure.reason)
    if run.failed:
        raise FailedRun(run.failed)
    if run.sink_failures:
        raise typer.Exit(run.sink_failures[0].exit_code)
