"""The command `t2i count-captions`."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from .captions import CorpusCounts

app = typer.Typer(add_completion=False)

UNNAMED = "captions"
"""Column of the captions that have no name."""

SECONDS = 30.0
"""Time between two lines of progress, if standard error is not a terminal."""


@app.command()
def count_captions(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]PATH...",
            help="Captions: text files with one per line, CSV, TSV or Parquet, or folders of such files. Those "
            "with the same NAME are one corpus, which has its own column.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="CSV file to write.")],
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of tables with the captions. Default: by its name.")
    ] = None,
    taxonomy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with your own taxonomy. Default: WordNet's nouns.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of processes. Default: all cores.")
    ] = None,
) -> None:
    """Count the captions that contain each synset's word, for `t2i analyze -o isp.frequency=FILE`."""
    from .captions import count_captions as count
    from .taxonomy_file import read_taxonomy
    from .wordnet import nouns

    corpora = _name_corpora(sources)
    inputs = [path for paths in corpora.values() for path in paths]
    _check_out(out, [*inputs, taxonomy] if taxonomy else inputs)  # before counting, which may take hours
    progress = _CaptionRate()
    known = nouns() if taxonomy is None else read_taxonomy(taxonomy)
    found = count(corpora, known, workers, column, progress.report)
    _write_counts(out, found)
    progress.end()
    counted = ", ".join(f"{own.captions:,} in {name}" for name, own in found.items())
    print(f"{counted}; {progress.describe()}; written to {out}", file=sys.stderr)


def _name_corpora(sources: Sequence[str]) -> dict[str, list[Path]]:
    """Return the paths of each corpus. A path that exists is never split, though it may contain an equals sign."""
    corpora: dict[str, list[Path]] = {}
    for source in sources:
        name, equals, path = source.partition("=")
        named = bool(equals and name and path) and not Path(source).exists()
        corpora.setdefault(name if named else UNNAMED, []).append(Path(path if named else source))
    return corpora


def _check_out(out: Path, inputs: Iterable[Path]) -> None:
    """Refuse a file that cannot be written, or that is an input.

    Raises:
        BadFolder: The file cannot be written there.
    """
    from t2i_core.api.errors import BadFolder

    if not out.parent.is_dir():
        raise BadFolder(
            f"{out}: the folder {out.parent} does not exist; create it or name another file with --out"
        )
    if out.is_dir():
        raise BadFolder(f"{out}: is a folder; name a file with --out")
    if out.exists() and any(file.exists() and out.samefile(file) for file in inputs):
        raise BadFolder(f"{out}: is an input file and would be overwritten; name another file with --out")


def _write_counts(out: Path, found: Mapping[str, CorpusCounts]) -> None:
    """Write a column for each corpus, completely or not at all."""
    from t2i_core.api.errors import BadFolder
    from t2i_core.files.atomic_write import replace_file
    from t2i_core.files.spreadsheet import escape

    columns = [own.counts for own in found.values()]
    try:
        with replace_file(out) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("synset", *map(escape, found)))
            writer.writerows((escape(synset), *(counts[synset] for counts in columns)) for synset in columns[0])
    except OSError as error:
        raise BadFolder(f"{out}: cannot write the file ({error.strerror})") from error


class _CaptionRate:
    """Shows on standard error how far the work is and how fast it goes."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown = self._started
        self._captions = 0

    def report(self, captions: int, share: float) -> None:
        """Show the progress: on a terminal several times a second in one line, otherwise a line now and then."""
        self._captions = captions
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now - self._shown >= (0.2 if terminal else SECONDS):
            self._shown = now
            text = f"{captions:,} captions, {share:.0%}, {captions / (now - self._started):,.0f} a second"
            print(
                f"\r\x1b[K{text}" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True
            )

    def end(self) -> None:
        """Clear the line."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)

    def describe(self) -> str:
        """Return the time and the rate."""
        seconds = time.monotonic() - self._started
        return f"{seconds:.1f} s, {self._captions / seconds:,.0f} captions a second"
