"""The command `t2i questions`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from t2i_core.api import Prompt
    from t2i_core.api.resolver import OptionTable, Resolver

app = typer.Typer(add_completion=False)


@app.command()
def questions(
    prompts: Annotated[
        list[str],
        typer.Argument(metavar="NAME|FILE...", help="Prompt sources or files of prompts (.txt, .csv, .jsonl)."),
    ],
    judge: Annotated[
        str, typer.Option(metavar="MODEL", help="Language model that offers `reply`, such as openai:gpt-4o-mini.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="File of prompts with questions to write.")],
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N prompts.")] = None,
    attempts: Annotated[
        int,
        typer.Option(
            min=1, max=10, metavar="N", help="Number of requests for a text whose replies are not usable."
        ),
    ] = 3,
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
    """Have a language model write yes-no questions for prompts, for metrics such as dsg.

    Each reply is kept as it arrives in FILE.jsonl.answers.jsonl, so that the same command resumes.
    """
    from t2i_core.api.budget import Budget
    from t2i_core.api.errors import BadFolder
    from t2i_core.api.language_model import find_language_model
    from t2i_core.api.prices import refuse_unknown_price
    from t2i_core.api.progress_display import show_progress
    from t2i_core.api.resolver import installed_resolver
    from t2i_core.io.kept_replies import KeptReplies

    from .question_writer import list_open_texts, write_file, write_questions

    if out.suffix.lower() != ".jsonl":
        raise BadFolder(
            f"--out must end in .jsonl (got {out}), because files of prompts have their form by their name"
        )
    resolver = installed_resolver()
    options = resolver.read_options(option or [])
    listed = _read_prompts(prompts, resolver, options)[:limit]
    model = find_language_model(judge, resolver, options, "questions")
    if max_cost is not None:
        refuse_unknown_price(model)
    kept = KeptReplies.beside(out, model)
    open_texts = list_open_texts(listed, kept, attempts)
    texts = len({prompt.text for prompt in listed})
    print(
        f"prompts: {len(listed):,}; requests to {judge}: {len(open_texts):,}; replies kept in {kept.path}: "
        f"{texts - len(open_texts):,}",
        file=sys.stderr,
    )
    if dry_run:
        return
    budget = Budget(max_cost)
    try:
        with show_progress() as progress, budget.charge_to(f"judge {judge}"):
            found = write_questions(listed, model, kept, attempts, progress, budget)
    finally:
        if spent := budget.describe():
            print(spent, file=sys.stderr)
    write_file(found, out)
    count = sum(len(prompt.questions) for prompt in found)
    print(f"questions written to {out}: {count:,}, for {len(found):,} of the prompts", file=sys.stderr)


def _read_prompts(names: list[str], resolver: Resolver[Any], options: OptionTable) -> list[Prompt]:
    """Return the prompts of sources and files, each once. Raises T2IError."""
    from t2i_core.api.plugin_guard import guard_plugin
    from t2i_core.io.prompt_file import is_prompt_file, merge_duplicates, read_prompts

    found: list[Prompt] = []
    for name in names:
        if is_prompt_file(name):
            found += read_prompts(name)
            continue
        source = resolver.component("prompt_source", name, options)
        with guard_plugin(source, "to give its prompts"):
            found += source.info.prompts(source.setup())
    return merge_duplicates(found)[0]
