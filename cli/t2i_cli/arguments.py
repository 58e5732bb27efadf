"""Options that several commands share, and shell completion of component names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from t2i_registry import scan
from t2i_registry.discovery import KINDS, SUITES

Completion = Callable[[str], list[tuple[str, str]]]


def complete_names(*kinds: str) -> Completion:
    """Return a function that completes component names from metadata alone.

    In a word such as `segment=mini`, the function completes the part after `=`.

    Args:
        kinds: Kinds of components to offer.
    """

    def complete(incomplete: str) -> list[tuple[str, str]]:
        before, equals, begun = incomplete.rpartition("=")
        return [
            (f"{before}{equals}{entry.name}", f"{entry.kind.replace('_', ' ')} of {entry.dist}")
            for entry in scan().entries
            if entry.kind in kinds and entry.name.startswith(begun)
        ]

    return complete


def complete_suites(incomplete: str) -> list[tuple[str, str]]:
    """Complete the names of suites from metadata alone."""
    suites = (each for each in scan().extensions if each.group == SUITES)
    return [(each.name, f"suite of {each.dist}") for each in suites if each.name.startswith(incomplete)]


RecipeOption = Annotated[
    Path | None,
    typer.Option("--recipe", metavar="FILE", help="YAML file with options; the command line overrides it."),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="NAME",
        help="Metrics and settings that ship with a plugin (standard, quick); --metric adds to them.",
        autocompletion=complete_suites,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND:NAME", help="A component that list-plugins shows.", autocompletion=complete_names(*KINDS)
    ),
]
RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN", help="Runs, as t2i runs lists them: folders, or names in t2i-runs.", file_okay=False
    ),
]
RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="A run, as t2i runs lists it: its folder, or its name in t2i-runs.", file_okay=False
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
