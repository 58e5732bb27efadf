"""The commands of `t2i`. Each one imports the module with its code when it runs."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from t2i_core.api.command import write_examples
from t2i_core.api.terminal import write_line

from . import arguments as given
from .commands import DEBUG_VARIABLE, DefaultGroup, RootGroup, run_safely
from .quick_command import QuickCommand
from .request_command import RequestCommand
from .terminal import guard_output

app = typer.Typer(
    name="t2i",
    cls=RootGroup,
    help="Evaluate text-to-image models: how good, at what, and how sure are we?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run `t2i` with the process's arguments."""
    # characters that the encoding lacks are written as escapes, as on standard error
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    guard_output()
    run_safely(typer.main.get_command(app))


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        write_line(f"t2i {version('t2i-cli')}")
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks, like T2I_DEBUG=1.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Evaluate text-to-image models: how good, at what, and how sure are we?"""
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"


@app.command("list-plugins", cls=QuickCommand)
def list_plugins(
    kind: Annotated[
        str | None,
        typer.Option(metavar="K", help="List one kind: generator, judge, metric, prompt_source, sink or command."),
    ] = None,
    json: given.JsonOption = False,
    check: Annotated[bool, typer.Option("--check", help="Also load each plugin in a separate process.")] = False,
) -> None:
    """List the installed components; imports no plugin."""
    from .plugin_list import list_plugins

    list_plugins(kind, json, check)


@app.command()
def info(name: given.NameArgument, json: given.JsonOption = False) -> None:
    """Show a component's options, citation, licence and capabilities."""
    from .info import show_info

    show_info(name, json)


@app.command(
    "eval",
    cls=RequestCommand,
    epilog=write_examples(
        "t2i eval --metric tiam --model mini",
        "t2i eval --metric tiam --model mini --model mini-early --seeds 32",
        "t2i eval --metric clipscore --model folder:my-images",
        "t2i eval --metric tiam --model simulator -o simulator.drop=0.2 --dry-run",
        "t2i eval --suite quick --model mini --dry-run",
        "t2i eval --recipe examples/drops.yaml",
    ),
)
def evaluate(
    context: typer.Context,
    suite: given.SuiteOption = None,
    recipe: given.RecipeOption = None,
    dry_run: given.DryRunOption = False,
    json: given.JsonOption = False,
    facets: Annotated[
        bool, typer.Option("--facets", help="Print scores by facet, and all named scores and comparisons.")
    ] = False,
) -> None:
    """Evaluate models: generate images, judge them, print scores with confidence intervals."""
    from .evaluation import evaluate

    evaluate(context.obj, suite, recipe, dry_run, json, facets)


@app.command(
    cls=RequestCommand,
    epilog=write_examples(
        "t2i generate --model mini --prompts tiam-5-2 --seeds 0-7",
        "t2i generate --model mini --prompts my-prompts.txt --sink coco-annotations",
    ),
)
def generate(
    context: typer.Context,
    recipe: given.RecipeOption = None,
    dry_run: given.DryRunOption = False,
    json: given.JsonOption = False,
) -> None:
    """Generate images only; a later eval takes them from the cache."""
    from .evaluation import generate

    generate(context.obj, recipe, dry_run, json)


runs = typer.Typer(cls=DefaultGroup, help="List runs with their scores, show a run, or remove runs.")
app.add_typer(runs, name="runs")


@runs.command("list")
def list_runs(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder that holds runs. Default: t2i-runs.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="List only runs and scores of this metric.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="List only runs and scores of this model (name or label)."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE|AGE",
            help="List only runs started since then: 2026-11-20, or 30m, 12h, 7d, 2w ago.",
        ),
    ] = None,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="List only the best score of each metric, among scores that were measured in the same way (with "
            "equal signature lines); of several such groups, say what differs.",
        ),
    ] = False,
    json: given.JsonOption = False,
) -> None:
    """List runs with their scores and disk use (same as `t2i runs`)."""
    from .runs import list_runs

    list_runs(folder, metric, model, since, best, json)


@runs.command("show")
def show_run(run: given.RunArgument, json: given.JsonOption = False) -> None:
    """Show one run: request, versions, status, scores, disk use."""
    from .runs import show_run

    show_run(run, json)


@runs.command("remove")
def remove_runs(runs: given.RunsArgument, yes: given.YesOption = False) -> None:
    """Remove run folders; the cache keeps its copies."""
    from .runs import remove_runs

    remove_runs(runs, yes)


cache = typer.Typer(cls=DefaultGroup, help="Show or clean the cache.")
app.add_typer(cache, name="cache")


@cache.command("show")
def show_cache(json: given.JsonOption = False) -> None:
    """Show the cache's content and size limit (same as `t2i cache`)."""
    from .cache import show_cache

    show_cache(json)


@cache.command("clean")
def clean_cache(
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="SIZE",
            help="Size to shrink the cache to (20GB, 0). Default: T2I_CACHE_LIMIT.",
        ),
    ] = None,
    yes: given.YesOption = False,
    json: given.JsonOption = False,
) -> None:
    """Remove the oldest entries of the cache, unless a run uses it; run folders keep their images."""
    from .cache import clean_cache

    clean_cache(limit, yes, json)


@app.command(cls=RequestCommand)
def prefetch(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL|JUDGE|PROMPTS|RECIPE.yaml", help="Components to download for, or a recipe with them."
        ),
    ],
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="Download what this suite needs to evaluate the named models.",
            autocompletion=given.complete_suites,
        ),
    ] = None,
) -> None:
    """Download weights and data, so that a later run works with --offline."""
    from .prefetch import prefetch

    prefetch(names, suite, context.obj["options"], context.obj["device"])


@app.command("new-plugin")
def new_plugin(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="generator, judge, metric, prompts or sink.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The component's name, with hyphens between words.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write. Default: t2i-NAME.")] = None,
) -> None:
    """Write a new, working plugin to start from."""
    from .new_plugin import new_plugin

    new_plugin(kind, name, out)


@app.command()
def doctor(json: given.JsonOption = False) -> None:
    """Show versions, devices, memory and cache, and report problems with the installation."""
    from .doctor import examine

    examine(json)
