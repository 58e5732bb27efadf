"""Commands of `t2i people`. Each command imports its implementation when it runs."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

RunsArgument = Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders with images.")]


def serve(
    runs: RunsArgument,
    votes: Annotated[Path, typer.Option(metavar="FILE", help="File for the answers (SQLite).")] = Path(
        "votes.sqlite"
    ),
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="Show only this model; may be repeated. Default: all."),
    ] = None,
    images_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--images-from",
            metavar="DIR",
            help="Allow images from this folder, for runs whose images lie outside their own folder; may be "
            "repeated.",
            file_okay=False,
            exists=True,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Question to ask: pair (default), caption-similarity, components, diversity, grid, mistakes, "
            "rating or yes-no. Each form brings its own defaults of --each, --pairs, --training and --controls.",
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="Study file with the questions to ask.", show_default=False),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="paper|FILE.yaml",
            help="Ask which groups of people each model's images show, with these groups, instead of comparing "
            "models.",
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text of the question.", show_default=False)
    ] = None,
    grid: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=36,
            metavar="N",
            help="Images on each side. Default: 1; with --people and --form grid 9.",
            show_default=False,
        ),
    ] = None,
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Print a link for this person; may be repeated.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of votes per person. Default: all.")
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="LABEL",
            help="Compare each model with this one only. Default: each two models.",
            show_default=False,
        ),
    ] = "",
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="N items of each prompt and two models. Default: all.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Show N images of each model, or grids, drawn at random: the same prompts and seeds of all "
            "models. Default: all.",
            show_default=False,
        ),
    ] = None,
    each: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of people per item. Default: 1.", show_default=False),
    ] = None,
    training: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Training tasks before the first vote; the known answer is shown. Default: 0.",
            show_default=False,
        ),
    ] = None,
    controls: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="One task in N is a hidden check with a known answer. Default: 0, for none.",
            show_default=False,
        ),
    ] = None,
    controls_in_a_row: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of wrong checks in a row that end a person's study. Default: 0, for any.",
            show_default=False,
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Tasks with known answers (CSV). Default: images of another prompt, or one image repeated.",
        ),
    ] = None,
    instructions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="Instructions (Markdown), shown before the first task."),
    ] = None,
    pass_mark: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of known answers that must be right. Default: 0.8.",
            show_default=False,
        ),
    ] = None,
    fastest: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Answers faster than this do not count.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed for sides and order.")] = 0,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on. If other machines can reach it, links have a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="P", help="Port to listen on; 0 takes any free one.")
    ] = 8765,
    token: Annotated[bool, typer.Option("--token", help="Require a token in links on this machine too.")] = False,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Public address of the page, if it is behind a proxy."),
    ] = None,
) -> None:
    """Serve a page on which people answer questions about the images of runs, until Ctrl-C."""
    from dataclasses import replace

    from t2i_core.api.errors import BadOption
    from t2i_core.io.rater_rules import Rules

    from .form_choice import choose_form
    from .serve import serve
    from .study_setup import StudyRequest

    chosen = choose_form(form, study, people, question, grid, known, instructions)
    given: dict[str, Any] = {
        **{"each": each, "pairs": pairs, "training": training, "controls": controls},
        **{"controls_in_a_row": controls_in_a_row, "pass_mark": pass_mark},
    }
    asked = replace(chosen.protocol, **{name: value for name, value in given.items() if value is not None})
    if asked.controls == 1:
        raise BadOption("--controls must be 0, or 2 or more (got 1, which leaves no votes)")
    if controls_in_a_row and not asked.controls:
        raise BadOption("--controls-in-a-row is only used with --controls N; add it")
    request = StudyRequest(
        runs=runs,
        votes=votes,
        models=model or (),
        form=chosen,
        each=asked.each,
        baseline=baseline,
        pairs=asked.pairs,
        limit=limit,
        images_from=images_from or (),
        rules=Rules(
            tasks, asked.training, asked.controls, asked.pass_mark, asked.controls_in_a_row, fastest, seed
        ),
    )
    serve(request, annotator or (), host, port, token, url, lambda line: print(line, file=sys.stderr, flush=True))


def export(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="ANSWERS...", help="Answers collected by t2i people serve, and tables of answers."),
    ],
    out: Annotated[Path, typer.Argument(metavar="FILE.csv", help="The table to write.")],
) -> None:
    """Write the answers that count, of one study or several, as one table (CSV) with a line per answer."""
    from t2i_core.api.errors import BadFolder, BadOption
    from t2i_core.io.answers import read_answers, write_answers

    if out.suffix.lower() != ".csv":
        raise BadOption(f"{out}: answers are written as a table; end the name in .csv")
    found = [read_answers(file) for file in files]
    answers = [answer for each in found for answer in each.answers]
    where: dict[object, Path] = {}
    for each in found:
        for answer in each.answers:
            # a study may ask one question of a person again, in another task
            if (other := where.setdefault((*answer.identity, answer.task), each.path)) != each.path:
                raise BadOption(
                    f"{each.path}: {answer.rater} answers {answer.question!r} about images that {other} has an "
                    "answer about too; export one of the two"
                )
    try:
        write_answers(out, answers)
    except OSError as error:
        raise BadFolder(f"{out}: cannot be written ({error.strerror})") from error
    left_out: Counter[str] = Counter()
    for each in found:
        left_out.update(each.left_out)
    reasons = "".join(f", {count} {why} left out" for why, count in sorted(left_out.items()))
    print(f"{len(answers)} answers written to {out}{reasons}", file=sys.stderr)
