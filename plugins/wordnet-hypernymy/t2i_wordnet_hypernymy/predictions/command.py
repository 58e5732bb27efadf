"""The command `t2i taxonomy-predictions`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .questions import Task

app = typer.Typer(add_completion=False)


@app.command()
def taxonomy_predictions(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Judge that offers `reply`, such as openai:gpt-4o-mini.")
    ],
    concepts: Annotated[
        list[str] | None,
        typer.Option(
            "--concepts",
            metavar="NAME|FILE",
            help="Synsets to predict: a prompt source, or a CSV file with the column synset and, if you like, "
            "subset; may be repeated. Default: easy-concepts and wordnet-random.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="CSV file to write.")] = Path("predictions.csv"),
    task: Annotated[
        Task, typer.Option(help="Kind of question; auto: the kind that the subset of a synset needs.")
    ] = "auto",
    definitions: Annotated[
        bool, typer.Option("--definitions/--no-definitions", help="Ask for a definition of each prediction.")
    ] = True,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N synsets.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME.KEY=VALUE",
            help="Option of the model or of a prompt source (see t2i info NAME); may be repeated.",
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="USD",
            help="Stop before this command spends more US dollars than this, by the prices in the options.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the number of requests, and stop.")] = False,
) -> None:
    """Have a language model predict synsets from their neighbours, for the prompts taxonomy-predictions:FILE.

    Each answer is kept as it arrives in FILE.answers.jsonl, so that the same command resumes.
    """
    from t2i_core.api.budget import Budget
    from t2i_core.api.language_model import find_language_model
    from t2i_core.api.prices import refuse_unknown_price
    from t2i_core.api.progress_display import show_progress
    from t2i_core.api.resolver import installed_resolver
    from t2i_core.io.kept_replies import KeptReplies

    from .concepts import read_targets
    from .prediction import describe_cost, predict, write_predictions

    resolver = installed_resolver()
    options = resolver.read_options(option or [])
    targets = read_targets(concepts or ["easy-concepts", "wordnet-random"], resolver, options, task)[:limit]
    found = find_language_model(model, resolver, options, "predictions")
    if max_cost is not None:
        refuse_unknown_price(found)
    answers = KeptReplies.beside(out, found)
    print(describe_cost(targets, definitions, answers, model), file=sys.stderr)
    if dry_run:
        return
    budget = Budget(max_cost)
    try:
        with show_progress() as progress, budget.charge_to(f"judge {model}"):
            predictions = predict(targets, definitions, found, answers, progress, budget)
    finally:
        if spent := budget.describe():
            print(spent, file=sys.stderr)
    write_predictions(predictions, out)
    print(f"{len(predictions)} predictions written to {out}", file=sys.stderr)
