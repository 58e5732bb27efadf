"""The results of entries: tables with their measured values, and figures with their analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadOption, FailedRun

from .cell_means import fill_means
from .cell_values import FinishedRun, NoValue, Unmeasured
from .grid import Cell
from .paper import PaperModel, PaperRun
from .paper_figures import find_analyses
from .paper_runs import NeededRun, make_request
from .paper_table import FilledCell, FilledTable, Settings
from .reproduction import Reproduction, WantedEntry

if TYPE_CHECKING:
    from t2i_core.api.command import Evaluator
    from t2i_core.api.study import Analysis

NO_PAPER = "mini: no paper has measured the models of the mini world, so nothing is compared"
CHANGES = {"seeds": "--seeds", "limit": "--limit"}
"""Options of the command line that make another measurement than the paper's."""


@dataclass(frozen=True)
class EntryResult:
    """A table with its measured values, or a figure with its analyses.

    Attributes:
        wanted: The entry.
        heading: Paper, number and subject.
        table: The table; None for a figure.
        analyses: The analyses of a figure, each with the title of its metric.
        notes: Notes to print below it.
        problems: Values and analyses that finished runs do not give.
    """

    wanted: WantedEntry
    heading: str
    table: FilledTable | None = None
    analyses: Sequence[tuple[str, Analysis]] = ()
    notes: Sequence[str] = ()
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class Measurement:
    """The finished runs of a paper's entries.

    Attributes:
        plan: The entries.
        runs: The finished runs by name; runs that are not possible here are absent.
        changes: Options of the command line by which the runs differ from the paper's.
        options: Whether the command line sets options of components.
    """

    plan: Reproduction
    runs: Mapping[str, FinishedRun]
    changes: Sequence[str]
    options: bool

    def list_results(self) -> list[EntryResult]:
        """Return the results of the entries."""
        return [self._make_result(wanted) for wanted in self.plan.wanted]

    def raise_failures(self, results: Sequence[EntryResult]) -> None:
        """Report failed runs, and values that the paper's file asks for and no run gives.

        A shortened run may lack values, so those are reported for whole runs only.

        Raises:
            FailedRun: More samples of a run failed than allowed.
            BadOption: A run does not give a value or an analysis.
        """
        failed = [run.run.failed for run in self.runs.values() if run.run.failed]
        problems = [] if self.changes else [text for result in results for text in result.problems]
        if failed:
            raise FailedRun("; ".join([*failed, *problems]))
        if problems:
            raise BadOption("; ".join(dict.fromkeys(problems)))

    def _make_result(self, wanted: WantedEntry) -> EntryResult:
        heading = f"{self.plan.paper.title}. {wanted.name.heading}: {wanted.entry.title}"
        notes = list(self._list_notes(wanted))
        if not wanted.grid.cells:
            analyses, missing, problems = find_analyses(wanted.shows, self.runs)
            notes = [*(f"not measured: {why}" for why in dict.fromkeys(missing)), *notes]
            named = [f"{wanted.name.name}: {problem}" for problem in problems]
            return EntryResult(wanted, heading, None, analyses, notes, named)
        filled, problems = [], []
        for cell in wanted.grid.cells:
            try:
                filled.append(self._fill(wanted, cell))
            except Unmeasured as error:
                filled.append(FilledCell(cell, reason=str(error)))
            except NoValue as error:
                filled.append(FilledCell(cell, reason=str(error)))
                problems.append(f"{wanted.name.name}, {cell.row}, {cell.column}: {error}")
        filled = fill_means(filled, wanted.grid.columns)
        table = FilledTable(wanted.name.name, heading, wanted.grid, filled, (), self.plan.is_mini)
        table = replace(table, notes=[*table.list_reasons(), *notes])
        return EntryResult(wanted, heading, table, notes=table.notes, problems=problems)

    def _fill(self, wanted: WantedEntry, cell: Cell) -> FilledCell:
        if cell.reason is not None or cell.source.mean_of or cell.source.run is None:
            return FilledCell(cell, reason=cell.reason)
        needed = self.plan.needed[cell.source.run]
        if (run := self.runs.get(needed.name)) is None:
            return FilledCell(cell, reason=explain_absent(needed))
        return FilledCell(cell, run.find_value(cell.source), settings=self._judge_settings(wanted, cell, needed))

    def _judge_settings(self, wanted: WantedEntry, cell: Cell, needed: NeededRun) -> Settings:
        parts: list[PaperRun | PaperModel] = [needed.run]
        parts += [needed.models[key] for key in cell.list_models() or needed.models]
        if self.changes or any(part.differs for part in parts):
            return "different"
        assumed = self.options or wanted.entry.assumes or any(part.assumes for part in parts)
        return "assumed" if assumed else "paper's"

    def _list_notes(self, wanted: WantedEntry) -> Iterator[str]:
        if wanted.entry.shown_by is not None:
            yield f"shown by: {wanted.entry.shown_by}"
        if self.plan.is_mini:
            yield NO_PAPER
            yield from wanted.entry.mini.notes
            return
        names = {cell.source.run for cell in wanted.grid.cells if cell.reason is None and not cell.source.mean_of}
        names |= {show.run for show in wanted.shows}
        used = [needed for name, needed in self.plan.needed.items() if name in names]
        if wanted.grid.cells:
            differs = [*self.changes, *(text for each in used for text in each.list_settings()[1])]
            for text in dict.fromkeys(differs):
                yield f"differs from the paper, so these values are not compared: {text}"
        else:
            yield from (f"not measured: {explain_absent(each)}" for each in used if each.name not in self.runs)
        assumes = [*wanted.entry.assumes, *(text for each in used for text in each.list_settings()[0])]
        for text in dict.fromkeys(assumes):
            yield f"assumption: {text}"
        if self.options:
            yield "assumption: options of the command line (-o) do not change what is measured"
        yield from wanted.entry.notes


def measure_entries(plan: Reproduction, evaluator: Evaluator, out: Path | None, as_json: bool) -> Measurement:
    """Run what the entries need. All requests are checked before the first run begins.

    Args:
        plan: The entries.
        evaluator: Runs evaluations.
        out: Folder for the runs. None: the default.
        as_json: Whether standard output must stay clean.

    Raises:
        T2IError: A run is not possible.
    """
    file = f"{plan.file.name}.yaml"
    possible = [each for each in plan.needed.values() if each.is_available and not each.missing_files]
    for each in possible:
        make_request(each, file, evaluator, out)
    runs: dict[str, FinishedRun] = {}
    folders: dict[str, str] = {}
    for each in sorted(possible, key=lambda each: len(each.list_prior_runs())):
        if not folders.keys() >= set(each.list_prior_runs()):
            continue
        run = evaluator.run(make_request(each, file, evaluator, out, folders), as_json)
        folders[each.name] = str(run.folder)
        runs[each.name] = FinishedRun(run, each, folders, evaluator.resolver)
    given = evaluator.given
    changes = [f"{flag} {_write(given[key])}" for key, flag in CHANGES.items() if given.get(key)]
    return Measurement(plan, runs, changes, bool(given.get("options")))


def explain_absent(needed: NeededRun) -> str:
    """Return why a run is not possible here."""
    if missing := needed.missing_files:
        return "; ".join(f"{file} is missing: {how}" for file, how in missing.items())
    return "no model of the run, or of a run that it needs, is available"


def _write(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
