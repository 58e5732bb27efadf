"""The command `t2i taxonomy`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def taxonomy(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder, as t2i runs lists it.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Output file.")] = Path("taxonomy.html"),
    images: Annotated[
        int, typer.Option(min=0, max=100, metavar="N", help="Number of images for each prompt and model.")
    ] = 1,
    side: Annotated[
        int, typer.Option(min=16, max=1024, metavar="PIXELS", help="Maximum side of pictures in pixels.")
    ] = 160,
    own: Annotated[
        Path | None,
        typer.Option(
            "--taxonomy", metavar="FILE", help="File with your own taxonomy. Default: WordNet's nouns and verbs."
        ),
    ] = None,
    images_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--images-from",
            metavar="DIR",
            help="Allow images from this folder, for runs whose images lie outside their own folder; may be "
            "repeated. Images that you evaluated yourself do not need it.",
            file_okay=False,
            exists=True,
        ),
    ] = None,
) -> None:
    """Write a page with a run's synsets as a tree: images by model, scores and neighbours of each."""
    from t2i_core.api.text import escape_control_characters
    from t2i_core.files.byte_size import format_size
    from t2i_core.results.run import load_finished_run

    from ..metrics import taxonomy_of
    from ..wordnet import wordnet
    from .content import collect_content
    from .page import write_taxonomy

    def warn(message: str) -> None:
        print(f"warning: {escape_control_characters(message)}", file=sys.stderr)

    content = collect_content(
        load_finished_run(run, images_from or ()), wordnet() if own is None else taxonomy_of(own), images
    )
    write_taxonomy(content, out, side, warn)
    print(f"{out} ({format_size(out.stat().st_size)})", file=sys.stderr)
