"""What `t2i arena` has for people's votes. Each command's work is imported when it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

RunsArgument = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs with images.")]


def serve(
    runs: RunsArgument,
    votes: Annotated[Path, typer.Option(metavar="FILE", help="Where answers are kept (SQLite).")] = Path(
        "votes.sqlite"
    ),
    model: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Only this model; may be repeated. Default: all.")
    ] = None,
    images_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--images-from",
            metavar="DIR",
            help="Show images of this folder, where a run names images outside of its own; may be repeated.",
            file_okay=False,
            exists=True,
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="paper|FILE.yaml",
            help="Ask what is seen of people in each model's images, in these groups, instead of what is better.",
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What is asked about two images.", show_default=False)
    ] = None,
    grid: Annotated[
        int | None,
        typer.Option(
            min=1, max=36, metavar="N", help="Images a side. Default: 1; with --people 9.", show_default=False
        ),
    ] = None,
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Print a link for this person; may be repeated.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Votes of each person. Default: all.")
    ] = None,
    each: Annotated[int, typer.Option(min=1, metavar="N", help="People wanted for a pair of images.")] = 1,
    training: Annotated[
        int, typer.Option(min=0, metavar="N", help="Tasks with a known answer before one begins, told after each.")
    ] = 0,
    controls: Annotated[
        int, typer.Option(min=0, metavar="N", help="One of N tasks has a known answer that is not told. 0: none.")
    ] = 0,
    known: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Known answers (CSV). Default: images of the prompt and of another."),
    ] = None,
    pass_mark: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Of known answers that must be given.")
    ] = 0.8,
    fastest: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Answers that take less do not count.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of sides and order.")] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen. Beyond this machine, links have a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="P", help="0: any that is free.")] = 8765,
    token: Annotated[bool, typer.Option("--token", help="Links have a token on this machine too.")] = False,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where people reach the page, if something stands in front of it."),
    ] = None,
) -> None:
    """Have people vote on the images of runs, on a page that this command serves until Ctrl-C."""
    from t2i_core.api.errors import BadOption

    from .groups import read_groups
    from .opening import StudyRequest
    from .questions import BETTER, MORE_DIVERSE
    from .serve import serve
    from .standing import Rules

    if controls == 1:
        raise BadOption("--controls 1: would leave no votes; want 2 or more, or 0")
    groups = {} if people is None else read_groups(people)
    side = grid or (9 if groups else 1)
    asked = StudyRequest(
        runs=runs,
        votes=votes,
        models=model or (),
        question="" if groups else question or (BETTER if side == 1 else MORE_DIVERSE),
        groups=groups,
        grid=side,
        each=each,
        known=known,
        images_from=images_from or (),
        rules=Rules(tasks, training, controls, pass_mark, fastest, seed),
    )
    serve(asked, annotator or (), host, port, token, url, lambda line: print(line, file=sys.stderr, flush=True))


def tally(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="VOTES|BATTLES|RUN", help="Votes of the page, files of battles (.csv, .jsonl), runs of elo."
        ),
    ],
    ties: Annotated[
        Literal["half", "omit"], typer.Option(help="A tie, and both bad, is half a win for each, or left out.")
    ] = "half",
    position: Annotated[bool, typer.Option(help="Fit what it is worth to be shown first.")] = True,
    rounds: Annotated[int, typer.Option(min=100, metavar="N", help="Of resampling.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Rate models by what people and models said, and say how far those agree."""
    from ..sources import read_source
    from ..tally import as_text
    from ..tally import tally as add_up

    found = add_up([read_source(path) for path in sources], ties, rounds, position)
    print(json.dumps(found.plain(), ensure_ascii=False, allow_nan=False) if as_json else as_text(found))


def export(
    votes: Annotated[Path, typer.Argument(metavar="VOTES", help="The file that serve wrote.")],
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="Battles (.csv, .jsonl); answers about people (.csv).")
    ],
) -> None:
    """Write the votes that count: battles for elo.battles, or answers for bias.people."""
    from t2i_core.api.errors import BadFolder, BadOption

    from ..battle_files import write_battles
    from .export import read_votes, write_answers

    found = read_votes(votes)
    if not found.pairs and out.suffix.lower() != ".csv":
        raise BadOption(f"{out}: answers about people are a table, .csv")
    try:
        if found.pairs:
            write_battles(out, found.battles())
        else:
            write_answers(out, found)
    except OSError as error:
        raise BadFolder(f"{out}: cannot be written ({error.strerror})") from error
    said = "".join(f", {count} {why} left out" for why, count in sorted(found.left_out.items()))
    print(f"{len(found.kept)} votes written to {out}{said}", file=sys.stderr)
