"""The run under fire, at length: every case of tests/fire with many tries, for the table of docs/reliability.md.

python tests/fire_campaign.py OUT [--tries 100] [--seed 0] [--only processes] [--docs docs/reliability.md]

OUT is a scratch folder, empty or new; what stays in it shows what became of a case that lost something.
Exits 1 where anything was lost, invented or differs.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Sequence
from pathlib import Path

from fire.tally import Case, Difference
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from t2i_core.api.terminal import console as wide_console

GROUPS = ("processes", "damage", "misbehaviour")
COLUMNS = ("what was done", "tried", "rows compared", "lost", "invented", "differing", "note")


def campaign(folder: Path, group: str, tries: int, seed: int, console: Console) -> list[Case]:
    """Try all cases of a group, in a folder of its own, and say of each one what came of it."""
    found: list[Case] = []
    folder.mkdir()
    before = time.monotonic()
    for case in importlib.import_module(f"fire.{group}").cases(folder, tries, seed):
        now = time.monotonic()
        took, before = now - before, now
        console.print(f"{took:6.0f} s  {group}: {escape(case.name)}  {said(case)}")
        found.append(case)
    return found


def said(case: Case) -> str:
    """A case's figures in words."""
    d = case.difference
    colour = "green" if d == Difference() else "bold red"
    return (
        f"{case.tried} tries, {case.compared} rows: "
        f"[{colour}]{d.lost} lost, {d.invented} invented, {d.differing} differing[/]"
    )


def lines(cases: Sequence[Case]) -> list[tuple[str, ...]]:
    """The table's lines, its sum at the end."""
    found = [_line(case.name, case.tried, case.compared, case.difference, case.note) for case in cases]
    total = sum((case.difference for case in cases), Difference())
    tried, compared = sum(case.tried for case in cases), sum(case.compared for case in cases)
    return [*found, _line("all", tried, compared, total, "")]


def _line(name: str, tried: int, compared: int, d: Difference, note: str) -> tuple[str, ...]:
    return (name, *(f"{n:,}" for n in (tried, compared, d.lost, d.invented, d.differing)), note)


def markdown(cases: Sequence[Case]) -> str:
    """The table as Markdown."""
    rows = [COLUMNS, ("---", *["---:"] * 5, "---"), *lines(cases)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)


def table(cases: Sequence[Case]) -> Table:
    """The table for a terminal."""
    shown = Table(*COLUMNS, box=None, pad_edge=False, header_style="bold")
    for row in lines(cases):
        shown.add_row(*map(escape, row))
    return shown


def put_into(document: Path, group: str, text: str) -> None:
    """Replace what stands between the two markers of a group in a document."""
    begin, end = f"<!-- campaign: {group} -->", f"<!-- end of {group} -->"
    before, found, rest = document.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"{document}: has no {begin} and {end}")
    document.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def main(words: Sequence[str] | None = None) -> int:
    """Run the campaign."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("out", type=Path, metavar="OUT", help="a scratch folder, empty or new")
    asked.add_argument("--tries", type=int, default=100, help="how many tries a random case has")
    asked.add_argument("--seed", type=int, default=0, help="seeds moments, bytes and places")
    asked.add_argument("--only", choices=GROUPS, action="append", help="only this group of cases")
    asked.add_argument("--docs", type=Path, help="a document whose tables of these groups are replaced")
    given = asked.parse_args(words)
    out = given.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        asked.error(f"{out} is not empty")
    console = wide_console()
    cases = []
    for group in given.only or GROUPS:
        own = campaign(out / group, group, given.tries, given.seed, console)
        console.print(table(own))
        if given.docs:
            put_into(given.docs, group, markdown(own))
        cases += own
    return int(any(case.difference != Difference() for case in cases))


if __name__ == "__main__":
    raise SystemExit(main())
