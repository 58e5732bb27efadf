"""The commands. Each one's work lies in a module of its own, imported when the command runs."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from t2i_core.api.terminal import write_line

from . import arguments as given
from .commands import DEBUG_VARIABLE, DefaultGroup, RootGroup, UsageError, run_safely
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
    # what its encoding cannot take is written out, as on standard error
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
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (as T2I_DEBUG=1 does).")] = False,
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
        typer.Option(metavar="K", help="Only generator, judge, metric, prompt_source or command."),
    ] = None,
    json: given.JsonOption = False,
    check: Annotated[bool, typer.Option("--check", help="Load each plugin, in a process of its own.")] = False,
) -> None:
    """List what is installed, from metadata alone."""
    from .plugin_list import list_plugins

    list_plugins(kind, json, check)


@app.command()
def info(name: given.NameArgument, json: given.JsonOption = False) -> None:
    """Show a component: options, citation, licence, capabilities."""
    from .info import show_info

    show_info(name, json)


@app.command("eval", cls=RequestCommand)
def evaluate(
    context: typer.Context,
    recipe: given.RecipeOption = None,
    dry_run: given.DryRunOption = False,
    json: given.JsonOption = False,
) -> None:
    """Evaluate models: images, observations, scores with intervals."""
    from .evaluation import evaluate

    evaluate(context.obj, recipe, dry_run, json)


@app.command(cls=RequestCommand)
def generate(
    context: typer.Context,
    recipe: given.RecipeOption = None,
    dry_run: given.DryRunOption = False,
    json: given.JsonOption = False,
) -> None:
    """Make images only; a later eval takes them from the cache."""
    from .evaluation import generate

    generate(context.obj, recipe, dry_run, json)


@app.command(cls=RequestCommand)
def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="A table (see --list), or a YAML file with one of your own."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the tables that are there.")] = False,
    mini: Annotated[
        bool, typer.Option("--mini", help="Run the mini world's version, which runs anywhere: measured only.")
    ] = False,
    row: Annotated[
        list[str] | None, typer.Option("--row", metavar="NAME", help="Only this row; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the runs, one for each column.")
    ] = None,
    dry_run: given.DryRunOption = False,
    json: given.JsonOption = False,
) -> None:
    """Run a paper's table, and print what it says beside what was measured."""
    from .reproduction import list_tables, reproduce

    if list_:
        list_tables(json)
        return
    if name is None:
        raise UsageError("name a table (t2i reproduce --list shows them) or a YAML file with one of your own")
    reproduce(name, {**context.obj, "out": out}, row or [], mini, dry_run, json)


runs = typer.Typer(cls=DefaultGroup, help="Runs: list them with their scores, show one, remove some.")
app.add_typer(runs, name="runs")


@runs.command("list")
def list_runs(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to look; t2i-runs by default.")
    ] = None,
    json: given.JsonOption = False,
) -> None:
    """List runs with their scores and the disk they use (what `t2i runs` alone does)."""
    from .runs import list_runs

    list_runs(folder, json)


@runs.command("show")
def show_run(run: given.RunArgument, json: given.JsonOption = False) -> None:
    """Show one run: what was asked, with what, how it ended, scores, disk use."""
    from .runs import show_run

    show_run(run, json)


@runs.command("remove")
def remove_runs(runs: given.RunsArgument, yes: given.YesOption = False) -> None:
    """Remove runs' folders; what the cache keeps of them stays there."""
    from .runs import remove_runs

    remove_runs(runs, yes)


cache = typer.Typer(cls=DefaultGroup, help="The cache: what it holds, and cleaning it.")
app.add_typer(cache, name="cache")


@cache.command("show")
def show_cache(json: given.JsonOption = False) -> None:
    """Say what the cache holds, and its limit (what `t2i cache` alone does)."""
    from .cache import show_cache

    show_cache(json)


@cache.command("clean")
def clean_cache(
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="SIZE",
            help="Cut it down to so much (20GB, 0): the oldest goes. Default: T2I_CACHE_LIMIT.",
        ),
    ] = None,
    yes: given.YesOption = False,
    json: given.JsonOption = False,
) -> None:
    """Cut the cache down, unless a run uses it; run folders keep their images."""
    from .cache import clean_cache

    clean_cache(limit, yes, json)


@app.command(cls=RequestCommand)
def prefetch(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="MODEL|JUDGE|PROMPTS|RECIPE.yaml", help="What is to be loaded.")
    ],
) -> None:
    """Fetch weights now, so that a later run works with --offline."""
    from .prefetch import prefetch

    prefetch(names, context.obj["options"], context.obj["device"])


@app.command("new-plugin")
def new_plugin(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="generator, judge, metric or prompts.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="How commands will call it: two-words.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The plugin's folder. Default: t2i-NAME.")
    ] = None,
) -> None:
    """Write a new plugin that works, to begin with."""
    from .new_plugin import new_plugin

    new_plugin(kind, name, out)


@app.command()
def doctor(json: given.JsonOption = False) -> None:
    """Say what this machine has, and what is wrong with the installation."""
    from .doctor import examine

    examine(json)
