"""Options that several commands share, and the completion of component names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from t2i_registry import scan
from t2i_registry.discovery import KINDS

Completion = Callable[[str], list[tuple[str, str]]]


def complete_names(*kinds: str) -> Completion:
    """Complete names of components from metadata alone; what a word begins with after `=` counts."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        before, equals, begun = incomplete.rpartition("=")
        return [
            (f"{before}{equals}{entry.name}", f"{entry.kind.replace('_', ' ')} of {entry.dist}")
            for entry in scan().entries
            if entry.kind in kinds and entry.name.startswith(begun)
        ]

    return complete


RecipeOption = Annotated[
    Path | None,
    typer.Option("--recipe", metavar="FILE", help="YAML file with these options; the command line overrides it."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, alone on standard output.")]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND:NAME", help="A component, as list-plugins shows it.", autocompletion=complete_names(*KINDS)
    ),
]
RunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Run folders, as t2i runs lists them.", file_okay=False)
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, as t2i runs lists it.", file_okay=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
