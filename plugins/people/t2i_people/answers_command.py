"""The commands `t2i people tally` and `t2i people agree`. Each imports its implementation when it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="People's answers: a database of t2i people serve, or CSV.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def tally(
    file: FileArgument,
    by_subset: Annotated[
        bool, typer.Option("--by-subset", help="Separate lines for each subset of the prompts.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what people said: shares of answers by question and model, mean ratings, and preferences."""
    from t2i_core.api.terminal import print_json
    from t2i_core.io.answers import read_answers

    from .tally import tally as count

    found = count(read_answers(file), by_subset)
    if as_json:
        print_json(found)
        return
    part = ("subset",) * by_subset
    _print_table(found["answers"], (*part, "question", "model", "answer", "count", "share", "ci"))
    _print_table(found["ratings"], (*part, "question", "model", "n", "mean", "ci"))
    _print_table(found["preferences"], (*part, "a", "b", "a_better", "b_better", "tie", "both_bad", "share", "ci"))
    _print_end(found, "share of preferences: of a over b, without ties" if found["preferences"] else "")


def agree(
    file: FileArgument,
    raters: Annotated[
        Literal["fixed", "new"],
        typer.Option(help="Raters that intervals are about: these only, or others too (needs at least three)."),
    ] = "fixed",
    as_json: JsonOption = False,
) -> None:
    """Show how far people agree with each other: Krippendorff's alpha and kappa for each question."""
    from t2i_core.api.terminal import print_json
    from t2i_core.io.answers import read_answers

    from .rater_agreement import measure_agreement

    found = measure_agreement(read_answers(file), raters)
    if as_json:
        print_json(found)
        return
    _print_table(found["questions"], ("question", "coefficient", "value", "ci", "items", "raters"))
    lonely = all(line["value"] is None for line in found["questions"])
    _print_end(
        found,
        "agreement needs images that two people judged; t2i people serve --each 2 collects them" if lonely else "",
    )


_TITLES = {"ci": "95 % interval", "a_better": "a better", "b_better": "b better", "both_bad": "both bad"}


def _print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    from t2i_core.api.terminal import console, make_table, shown

    if rows:
        table = make_table(*(_TITLES.get(name, name) for name in columns))
        for row in rows:
            table.add_row(*(shown(_format(name, row[name])) for name in columns))
        out = console()
        out.print(table)
        out.print()


def _format(name: str, value: Any) -> str:
    from t2i_core.results.number_format import format_interval, format_number

    if name == "ci":
        return format_interval(value)
    return format_number(value) if isinstance(value, float) or value is None else str(value)


def _print_end(found: Mapping[str, Any], remark: str) -> None:
    """Print the question of the intervals, the notes and the answers that do not count."""
    from t2i_core.api.terminal import write_line

    write_line(f"intervals: {found['interval']}")
    if remark:
        write_line(remark)
    lines = [line for name in ("answers", "ratings", "preferences", "questions") for line in found.get(name, ())]
    for note in _list_notes(lines):
        write_line(f"note: {note}")
    if left_out := found.get("left_out"):
        write_line(f"left out: {', '.join(f'{count} {why}' for why, count in sorted(left_out.items()))}")


def _list_notes(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(note for line in lines for note in line["notes"]))
