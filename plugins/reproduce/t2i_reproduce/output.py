"""Output of `t2i reproduce`: plans, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from t2i_core.api.terminal import console, make_table, print_json, shown, write_line
from t2i_core.results.table_format import TableFormat, format_table, print_table

from .entry_results import EntryResult, explain_absent
from .paper_figures import write_analyses
from .paper_runs import GPU
from .reproduction import Reproduction

if TYPE_CHECKING:
    import pandas as pd
    from t2i_core.api.command import Evaluator

PageFormat = Literal["text", "md", "latex", "csv", "html", "json"]
_FORMATS: dict[str, TableFormat] = {"md": "markdown", "latex": "latex", "csv": "csv", "html": "html"}

MOST_ROWS = 24
"""Number of rows of a figure's table that are printed; its file has all."""


def print_plans(plans: Sequence[Reproduction], evaluator: Evaluator, how: PageFormat) -> None:
    """Print the work of each run: images, judge calls and an estimate of the hours on a GPU."""
    if how == "json":
        print_json([_describe_plan(plan, evaluator) for plan in plans])
        return
    screen = console()
    for plan in plans:
        screen.print(shown(plan.paper.title, "bold"))
        for wanted in plan.wanted:
            screen.print(shown(f"{wanted.name.name}: {wanted.entry.title}"))
            if wanted.entry.shown_by is not None:
                screen.print(shown(f"  shown by: {wanted.entry.shown_by}"))
        page = make_table("run", "models", "prompts", "seeds", "images", "judge calls", "GPU hours")
        costs = plan.estimate_costs(evaluator)
        for cost in costs:
            numbers = (cost.models, cost.prompts, cost.seeds, cost.images, cost.calls)
            page.add_row(*map(shown, (cost.run, *map("{:,}".format, numbers), f"{cost.hours:,.1f}")))
        images, calls, hours = (
            sum(getattr(cost, name) for cost in costs) for name in ("images", "calls", "hours")
        )
        if len(costs) > 1:
            page.add_row(*map(shown, ("all", "", "", "", f"{images:,}", f"{calls:,}", f"{hours:,.1f}")))
        if costs:
            screen.print(page)
            screen.print(shown(f"assumed rates on {GPU}: {'; '.join(plan.list_rates())}; nothing in the cache"))
        for needed in plan.needed.values():
            if needed.missing_files:
                screen.print(shown(f"note: run {needed.name}: {explain_absent(needed)}"))


def print_results(results: Sequence[EntryResult], how: PageFormat, figures: Path) -> None:
    """Print tables and figures.

    Args:
        results: The tables and figures.
        how: The format.
        figures: Folder for the tables and pictures of figures.
    """
    if how == "json":
        print_json([_describe_result(result, figures) for result in results])
        return
    for result in results:
        if result.table is not None:
            _print_frame(result, result.table.make_frame(exact=how == "csv"), how)
            continue
        pictures = write_analyses(result.wanted.name.name, result.analyses, figures)
        if how == "text":
            _print_frame(result, None, how)
        for metric, analysis in result.analyses:
            if how == "text":
                console().print(shown(f"{metric} {analysis.name}: {analysis.summary}"))
                console().print(print_table(analysis.table, MOST_ROWS))
            else:
                _print_frame(result, analysis.table, how)
        for path in pictures:
            write_line(f"figure: {path}", err=how != "text")


def _print_frame(result: EntryResult, frame: pd.DataFrame | None, how: PageFormat) -> None:
    """Print one table below its heading; in formats other than text the notes go to standard error."""
    if how == "text":
        screen = console()
        screen.print(shown(result.heading, "bold"))
        if frame is not None:
            screen.print(print_table(frame))
    elif frame is not None:
        print(format_table(frame, _FORMATS[how]), end="")
    for note in result.notes:
        write_line(f"note: {note}", err=how != "text")


def _describe_plan(plan: Reproduction, evaluator: Evaluator) -> dict[str, Any]:
    costs = plan.estimate_costs(evaluator)
    return {
        "paper": plan.paper.title,
        "entries": [wanted.name.name for wanted in plan.wanted],
        "runs": [asdict(cost) for cost in costs],
        "images": sum(cost.images for cost in costs),
        "calls": sum(cost.calls for cost in costs),
        "gpu_hours": sum(cost.hours for cost in costs),
        "assumed_rates": plan.list_rates(),
        "missing_files": {k: v for needed in plan.needed.values() for k, v in needed.missing_files.items()},
    }


def _describe_result(result: EntryResult, figures: Path) -> dict[str, Any]:
    if result.table is not None:
        return result.table.to_json()
    written = write_analyses(result.wanted.name.name, result.analyses, figures)
    return {
        "name": result.wanted.name.name,
        "heading": result.heading,
        "analyses": [analysis.name for _, analysis in result.analyses],
        "files": list(map(str, written)),
        "notes": list(result.notes),
    }
