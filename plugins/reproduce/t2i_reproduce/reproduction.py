"""Tables and figures to make again, by paper, with the runs that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadOption, BadRecipe

from .grid import Grid, make_grid, make_mini_grid, replace_models
from .paper import Paper, PaperEntry, Show, Side
from .paper_file import read_paper
from .paper_list import EntryName, PaperFile, explain_broken
from .paper_runs import NeededRun, RunCost, estimate_cost, find_default_seeds, list_needed_runs, list_rates

if TYPE_CHECKING:
    from t2i_core.api.command import Evaluator


@dataclass(frozen=True)
class WantedEntry:
    """A table or a figure to make.

    Attributes:
        name: Its name in the list of papers.
        entry: Its description.
        grid: Its cells; without any if it is a figure.
        shows: Its analyses; without any if it is a table.
    """

    name: EntryName
    entry: PaperEntry
    grid: Grid
    shows: Sequence[Show]


@dataclass(frozen=True)
class Reproduction:
    """Entries of one paper with the runs that they share.

    Attributes:
        file: The paper's file.
        paper: The paper.
        side: The paper, or its mini version.
        wanted: Its entries to make.
        needed: The runs that they need, by name.
    """

    file: PaperFile
    paper: Paper
    side: Side = field(repr=False)
    wanted: Sequence[WantedEntry]
    needed: Mapping[str, NeededRun]

    @property
    def is_mini(self) -> bool:
        """Return whether it is the mini version."""
        return self.side is not self.paper

    def estimate_costs(self, evaluator: Evaluator) -> list[RunCost]:
        """Return the work of each run. Nothing is loaded."""
        given = evaluator.given
        return [
            estimate_cost(
                each,
                given.get("seeds") or each.run.recipe.get("seeds") or find_default_seeds(each, evaluator.resolver),
                given.get("limit"),
                each.run.images_of in self.needed,
            )
            for each in self.needed.values()
        ]

    def list_rates(self) -> list[str]:
        """Return the assumed rates behind the estimates, in words."""
        return list_rates(list(self.needed.values()))


def plan_reproductions(
    entries: Sequence[tuple[PaperFile, EntryName]], rows: Sequence[str], mini: bool
) -> list[Reproduction]:
    """Return the entries by paper, with the runs that they need.

    Args:
        entries: The entries.
        rows: Rows to make, `NAME` or `NAME=SPEC`; all rows without any.
        mini: Make the versions for the mini world.

    Raises:
        BadOption: A table has no such row, or a figure was asked for rows.
        BadRecipe: A user's own file is not valid.
        BrokenPlugin: A plugin's file is not valid.
    """
    found = []
    for file, group in groupby(entries, key=lambda pair: pair[0]):
        names = [name for _, name in group]
        try:
            paper = read_paper(file.path)
            grids = {name: _make_grid(name, paper, file, mini) for name in names}
        except BadRecipe as error:
            raise explain_broken(file, error) from error
        if rows:
            paper, grids = _select_rows(paper, grids, file, rows, mini)
        side = paper.mini if mini else paper
        wanted = [_want(name, paper, grid, mini) for name, grid in grids.items()]
        cells = [cell for each in wanted for cell in each.grid.cells]
        needed = list_needed_runs(side, cells, [show for each in wanted for show in each.shows])
        found.append(Reproduction(file, paper, side, wanted, needed))
    return found


def _find_entry(name: EntryName, paper: Paper) -> PaperEntry:
    kind, number = name.place
    entries = paper.tables if kind == "tables" else paper.figures
    return entries[number]


def _find_values(name: EntryName, file: PaperFile) -> Path | None:
    """Return the file of a table's printed values; None if it has none."""
    path = file.path.with_name(f"{name.name}.csv")
    return path if path.is_file() else None


def _make_grid(name: EntryName, paper: Paper, file: PaperFile, mini: bool) -> Grid:
    entry = _find_entry(name, paper)
    if not entry.columns and _find_values(name, file) is None:
        return Grid()  # a figure that analyses draw, or an entry that needs no measurement
    return (make_mini_grid if mini else make_grid)(entry, paper, _find_values(name, file))


def _select_rows(
    paper: Paper, grids: Mapping[EntryName, Grid], file: PaperFile, rows: Sequence[str], mini: bool
) -> tuple[Paper, dict[EntryName, Grid]]:
    """Return the tables that have one of the rows, with these only, and the paper with a user's own generators."""
    side = paper.mini if mini else paper
    specs: dict[str, str] = {}
    picked: list[str] = []
    known = {word for grid in grids.values() for word in (*grid.rows, *grid.columns)}
    for row in rows:
        begun = [word for word in known if row.startswith(f"{word}=")]
        if row in known or not begun:
            picked.append(row)
            continue
        longest = max(begun, key=len)  # a row's own name may contain "="
        picked.append(longest)
        specs[longest] = row.removeprefix(f"{longest}=")
    names = {name: grid.list_names(side) for name, grid in grids.items()}
    for row in picked:
        if not any(row in own for own in names.values()):
            there = ", ".join(dict.fromkeys(word for own in names.values() for word in own))
            raise BadOption(f"--row {row!r}: no such row; the table has {there or 'no rows'}")
    selected = {name: grid.select(picked) for name, grid in grids.items() if {*names[name]} & {*picked}}
    if not specs:
        return paper, selected
    if mini:
        raise BadOption(f"--row {next(iter(specs))!r}: the mini version takes no other generators")
    for name, grid in selected.items():
        paper = replace_models(paper, grid, {row: spec for row, spec in specs.items() if row in names[name]})
    remade = {name: _make_grid(name, paper, file, mini).select(picked) for name in selected}
    return paper, remade


def _want(name: EntryName, paper: Paper, grid: Grid, mini: bool) -> WantedEntry:
    entry = _find_entry(name, paper)
    shows = entry.mini.show if mini and entry.mini.show is not None else entry.show
    if mini:
        shows = [show for show in shows if show.run in paper.mini.runs]
    return WantedEntry(name, entry, grid, shows)
