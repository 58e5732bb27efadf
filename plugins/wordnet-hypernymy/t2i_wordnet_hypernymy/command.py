"""The command `t2i count-captions`."""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def count_captions(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Captions, one per line, UTF-8.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="CSV file to write.")],
    taxonomy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with your own taxonomy. Default: WordNet's nouns.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of processes. Default: all cores.")
    ] = None,
) -> None:
    """Count the captions that contain each synset's word, for `t2i analyze -o isp.frequency=FILE`."""
    from t2i_core.api.errors import BadFolder
    from t2i_core.files.atomic_write import replace_file
    from t2i_core.files.spreadsheet import escape

    from .captions import count_captions as count
    from .taxonomy_file import read_taxonomy
    from .wordnet import nouns

    # checked before counting, which may take hours
    if not out.parent.is_dir():
        raise BadFolder(
            f"{out}: the folder {out.parent} does not exist; create it or name another file with --out"
        )
    if out.is_dir():
        raise BadFolder(f"{out}: is a folder; name a file with --out")
    inputs = [*files, taxonomy] if taxonomy else files
    if out.exists() and any(file.exists() and out.samefile(file) for file in inputs):
        raise BadFolder(f"{out}: is an input file and would be overwritten; name another file with --out")
    started = time.monotonic()
    counts, captions = count(files, nouns() if taxonomy is None else read_taxonomy(taxonomy), workers)
    try:
        with replace_file(out) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("synset", "captions"))
            writer.writerows((escape(synset), count) for synset, count in counts.items())
    except OSError as error:
        raise BadFolder(f"{out}: cannot write the file ({error.strerror})") from error
    seconds = time.monotonic() - started
    print(f"{captions} captions in {seconds:.1f} s; written to {out}", file=sys.stderr)
