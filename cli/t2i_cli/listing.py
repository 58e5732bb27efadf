"""`t2i list-plugins`: what is installed, from metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import typer
from t2i_core.errors import did_you_mean
from t2i_registry import Entry, scan
from t2i_registry.discovery import EntryKind

from .terminal import console, print_json, shown

if TYPE_CHECKING:
    from t2i_registry.checking import Checked


def list_plugins(kind: str | None, as_json: bool, check: bool) -> None:
    """Print every component; with `check`, also whether it loads."""
    catalogue = scan()
    wanted = _kind(kind)
    entries = [e for e in (*catalogue.entries, *catalogue.commands) if wanted in (None, e.kind)]
    checked = _check(entries) if check else {}
    if as_json:
        print_json([_row(entry, checked.get(entry)) for entry in entries])
        return
    _print_table(entries, checked)
    for problem in catalogue.problems:
        typer.echo(f"warning: {problem}", err=True)
    if catalogue.disabled:
        typer.echo(f"disabled: {', '.join(e.name for e in catalogue.disabled)}", err=True)


def _kind(word: str | None) -> EntryKind | None:
    if word is None:
        return None
    singular = word.strip().lower().replace("-", "_").removesuffix("s")
    kinds: tuple[EntryKind, ...] = get_args(EntryKind)
    if singular not in kinds:
        near = did_you_mean(singular, kinds) or f"; want one of {', '.join(kinds)}"
        raise typer.BadParameter(f"unknown kind {word!r}{near}", param_hint="--kind")
    return next(k for k in kinds if k == singular)


def _check(entries: list[Entry]) -> dict[Entry, Checked]:
    from t2i_registry.checking import check

    return {checked.entry: checked for checked in check(entries)}


def _row(entry: Entry, checked: Checked | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": entry.name,
        "kind": entry.kind,
        "dist": entry.dist,
        "version": entry.version,
        "module": entry.module,
        "summary": entry.summary,
    }
    if checked is not None:
        row |= {
            "status": checked.status,
            "error": checked.error or None,
            "slow": checked.slow,
            "seconds": round(checked.seconds, 2),
        }
    return row


def _print_table(entries: list[Entry], checked: dict[Entry, Checked]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("kind", "name", "distribution", "version", *(["status"] if checked else []), "summary"):
        table.add_column(column, overflow="fold", no_wrap=column in ("kind", "name"))
    for entry in entries:
        status = [_status(checked[entry])] if checked else []
        about = checked[entry].error or entry.summary if checked else entry.summary
        capabilities = f" ({', '.join(entry.capabilities)})" if entry.capabilities else ""
        row = [entry.kind.replace("_", " "), entry.name, entry.dist, entry.version]
        table.add_row(*map(shown, row), *status, shown(about + capabilities))
    console().print(table)


def _status(checked: Checked) -> str:
    if checked.slow:
        return f"[yellow]{checked.status}, slow ({checked.seconds:.1f} s)[/]"
    return f"[{'red' if checked.error else 'green'}]{checked.status}[/]"
