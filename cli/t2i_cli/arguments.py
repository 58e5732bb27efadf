"""Options that several commands share, and the completion of component names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer
from t2i_registry import scan
from t2i_registry.discovery import KINDS

Completion = Callable[[str], list[tuple[str, str]]]


def names_of(*kinds: str) -> Completion:
    """Complete names of components from metadata alone; what a word begins with after `=` counts."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        before, equals, begun = incomplete.rpartition("=")
        return [
            (f"{before}{equals}{entry.name}", f"{entry.kind.replace('_', ' ')} of {entry.dist}")
            for entry in scan().entries
            if entry.kind in kinds and entry.name.startswith(begun)
        ]

    return complete


ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME[:ARGUMENT]",
        help="Generator; repeat it to compare several.",
        autocompletion=names_of("generator"),
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="Metric; may be repeated.", autocompletion=names_of("metric")),
]
PromptsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--prompts",
        metavar="NAME|FILE",
        help="Prompt source, or a txt, CSV or JSONL file; may be repeated. Default: the model's or metric's own.",
        autocompletion=names_of("prompt_source"),
    ),
]
JudgeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="[CAPABILITY=]NAME",
        help="Judge to take instead of the chosen one; may be repeated.",
        autocompletion=names_of("judge"),
    ),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME.KEY=VALUE",
        help="Option of a component (see t2i info NAME); may be repeated. Write KIND:NAME where kinds share it.",
    ),
]
SeedsOption = Annotated[
    str | None,
    typer.Option("--seeds", metavar="N|LIST|RANGE", help="How many seeds (16), a list (0,7) or a range (0-63)."),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", help="At most N prompts, a seeded sample spread over their facets."),
]
RecipeOption = Annotated[
    Path | None,
    typer.Option("--recipe", metavar="FILE", help="YAML file with these options; the command line overrides it."),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="The run's folder. Default: one under t2i-runs."),
]
FreshOption = Annotated[
    bool | None,
    typer.Option("--fresh/--no-fresh", help="Make again what this command would take from the cache."),
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", metavar="D", help="cpu, cuda, cuda:1, mps. Default: the best there is.")
]
BatchSizeOption = Annotated[
    str | None,
    typer.Option("--batch-size", metavar="N|auto", help="How many at a time; halved where memory runs out."),
]
ShardOption = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Do only the I-th of N parts; run without it for the scores."),
]
IntervalOption = Annotated[
    Literal["new", "prompts", "seeds"] | None,
    typer.Option(
        "--interval",
        help="What intervals answer: new prompts and seeds (default), new prompts, or new seeds.",
    ),
]
NoiseOption = Annotated[
    Literal["shared", "per-prompt"] | None,
    typer.Option("--noise", help="Starting noise: shared by all prompts (default), or drawn per prompt."),
]
MaxFailedOption = Annotated[
    float | None,
    typer.Option(
        "--max-failed", metavar="SHARE", help="Share of failed samples above which the run fails. Default: 0.01."
    ),
]
OfflineOption = Annotated[bool | None, typer.Option("--offline/--no-offline", help="Fetch nothing.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, alone on standard output.")]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND:NAME", help="A component, as list-plugins shows it.", autocompletion=names_of(*KINDS)
    ),
]
RunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Run folders, as t2i runs lists them.", file_okay=False)
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, as t2i runs lists it.", file_okay=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
