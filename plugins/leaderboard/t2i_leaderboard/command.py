"""The command `t2i leaderboard`. It imports its implementation when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from t2i_core.api.command import write_examples
from t2i_core.api.text import escape_control_characters

if TYPE_CHECKING:
    from .verification import Verification

app = typer.Typer(add_completion=False)


def _tell(message: str) -> None:
    print(escape_control_characters(message), file=sys.stderr)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _describe_verified(verified: Sequence[Verification]) -> str:
    """Return how many scores were verified without a difference, and how many could not be verified."""
    own = [each for each in verified if not each.skipped]
    skipped = len(verified) - len(own)
    images = _count(sum(each.images for each in own), "image")
    line = f"verified: {_count(len(own), 'score')}, {images} judged anew, no difference"
    return f"{line}; not verified: {_count(skipped, 'score')} (reasons above)" if skipped else line


@app.command(
    epilog=write_examples(
        "t2i leaderboard t2i-runs --out board",
        "t2i leaderboard t2i-runs --out board --title 'Our models'",
        "t2i leaderboard submitted --out board --verify 20",
    )
)
def leaderboard(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, or folders that hold runs.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the site.")],
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Title of the site.")] = "Leaderboard",
    verify: Annotated[
        int | None,
        typer.Option(
            "--verify",
            metavar="N",
            min=1,
            help="Judge N images of each score anew with the run's judges, and compare the values, first.",
        ),
    ] = None,
    images_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--images-from",
            metavar="DIR",
            help="With --verify: allow images from this folder, for runs whose images lie outside their folder; "
            "may be repeated.",
            file_okay=False,
            exists=True,
        ),
    ] = None,
) -> None:
    """Write a leaderboard of runs as a static site: scores with intervals, possible ranks, history.

    Each metric has a board of the models that were measured in the same way. They are compared paired, on the
    prompts and seeds that they share. Scores that were measured with another version, judge or setting are left
    out; the command names them, and how to repeat them. Nothing is generated, and nothing judged without --verify.
    """
    from t2i_core.api.errors import BadFolder, BadOption
    from t2i_core.api.resolver import installed_resolver

    from .boards import make_boards
    from .entries import BoardEntry, LeftOut, list_entries, read_runs
    from .public_text import make_publisher
    from .site import write_site
    from .verification import verify_entries

    if images_from and verify is None:
        raise BadOption("--images-from has no effect without --verify")
    resolver = installed_resolver()
    read, left_out = read_runs(runs, images_from or ())
    publish = make_publisher(read)
    entries: list[BoardEntry] = []
    for run in read:
        for found in list_entries(run, resolver):
            if isinstance(found, LeftOut):
                left_out.append(found)
            else:
                entries.append(found)
    verified = [] if verify is None else verify_entries(entries, verify, resolver, _tell)
    if verify is not None:
        _tell(_describe_verified(verified))
    boards = make_boards(entries, publish)
    for each in [*left_out, *(each for board in boards for each in board.left_out)]:
        _tell(f"left out: {each.what}: {each.reason}")
        if each.command:
            _tell(f"  repeat it with: {each.command}")
    if not boards:
        raise BadFolder("none of these runs has a score for a board; the reasons are above")
    write_site(boards, left_out, verified, out, title, publish)
    scores = _count(sum(len(board.rows) for board in boards), "score")
    _tell(f"{out / 'index.html'}: {scores} on {_count(len(boards), 'board')}")
