"""`t2i list-plugins`: list the installed components; read metadata only, import no plugin."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BrokenPlugin
from t2i_core.api.terminal import PIPE_WIDTH, print_json, write_line
from t2i_core.api.text import escape_control_characters
from t2i_registry import Catalogue, Entry, Registry, scan
from t2i_registry.discovery import SUITES, EntryKind

from .kinds import read_kind

if TYPE_CHECKING:
    from t2i_registry.plugin_check import PluginCheck

_HEADINGS: dict[EntryKind, str] = {
    "generator": "Generators (--model)",
    "judge": "Judges (--judge), by capability",
    "metric": "Metrics (--metric)",
    "prompt_source": "Prompt sources (--prompts)",
    "sink": "Sinks (--sink)",
    "command": "Commands",
}


def list_plugins(kind: str | None, as_json: bool, check: bool) -> None:
    """Print every component.

    Args:
        kind: List only components of this kind.
        as_json: Print JSON on standard output.
        check: Also load each component and print whether that works.

    Raises:
        BrokenPlugin: A component does not load; raised after the list is printed.
    """
    catalogue = scan()
    wanted = None if kind is None else read_kind(kind, "--kind")
    entries = [e for e in (*catalogue.entries, *catalogue.commands) if wanted in (None, e.kind)]
    checked = _check(entries) if check else {}
    if as_json:
        print_json([_describe_entry(entry, checked.get(entry)) for entry in entries])
    else:
        _print_all(catalogue, entries, checked, wanted)
    if broken := [entry.name for entry, found in checked.items() if found.status == "broken"]:
        raise BrokenPlugin(f"{len(broken)} of {len(checked)} components do not load: {', '.join(broken)}")


def _print_all(
    catalogue: Catalogue, entries: list[Entry], checked: Mapping[Entry, PluginCheck], wanted: EntryKind | None
) -> None:
    """Print all components for a reader."""
    _print_groups(entries, checked)
    if wanted is None:
        _print_suites(catalogue)
        _print_absent(catalogue)
    if not checked and entries:
        write_line()
        _echo(
            "",
            "t2i info NAME shows a component's options and the licence of its weights. The licences above are "
            "those of the plugins' code.",
        )
    for problem in catalogue.problems:
        write_line(f"warning: {problem}", err=True)
    if catalogue.disabled:
        write_line(f"disabled: {', '.join(e.name for e in catalogue.disabled)}", err=True)


def _check(entries: list[Entry]) -> dict[Entry, PluginCheck]:
    from t2i_registry.plugin_check import check_plugins

    return {checked.entry: checked for checked in check_plugins(entries)}


def _describe_entry(entry: Entry, checked: PluginCheck | None) -> dict[str, Any]:
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


def _print_groups(entries: list[Entry], checked: Mapping[Entry, PluginCheck]) -> None:
    """Print the names by kind and distribution; after a check, print one line per name."""
    for number, (kind, of_kind) in enumerate(groupby(entries, lambda e: e.kind)):
        if number:
            write_line()
        write_line(_HEADINGS[kind], bold=True)
        for _, of_dist in groupby(sorted(of_kind, key=_read_dist), _read_dist):
            group = list(of_dist)
            first = group[0]
            licence = f" ({first.licence})" if first.licence else ""
            _echo("  ", f"{first.dist} {first.version}{licence}: {first.summary}")
            for line, colour in _list_statuses(group, checked) if checked else _group_by_capabilities(group):
                _echo("    ", line, colour)


def _read_dist(entry: Entry) -> tuple[str, str]:
    return entry.dist, entry.version


def _group_by_capabilities(group: list[Entry]) -> Iterator[tuple[str, None]]:
    """Yield a line of names for each set of capabilities."""
    names: dict[tuple[str, ...], list[str]] = {}
    for entry in group:
        names.setdefault(entry.capabilities, []).append(entry.name)
    for capabilities, those in names.items():
        yield f"{', '.join(capabilities)}: {', '.join(those)}" if capabilities else ", ".join(those), None


def _list_statuses(group: list[Entry], checked: Mapping[Entry, PluginCheck]) -> Iterator[tuple[str, str]]:
    """Yield each name with its status, and a colour for the status."""
    for entry in group:
        found = checked[entry]
        slow = f", slow ({found.seconds:.1f} s)" if found.slow else ""
        error = f": {found.error}" if found.error else ""
        colour = "red" if found.status == "broken" else "yellow" if found.error or found.slow else "green"
        yield f"{entry.name}: {found.status}{slow}{error}", colour


def _print_suites(catalogue: Catalogue) -> None:
    """Print the names of suites by distribution."""
    suites = sorted((each for each in catalogue.extensions if each.group == SUITES), key=lambda e: e.dist)
    if suites:
        write_line()
        write_line("Suites (t2i eval --suite)", bold=True)
    for dist, own in groupby(suites, lambda e: e.dist):
        _echo("  ", f"{dist}: {', '.join(each.name for each in own)}")


def _print_absent(catalogue: Catalogue) -> None:
    """Print the components of known distributions that are not installed."""
    registry = Registry(catalogue)
    absent: dict[str, list[str]] = {}
    for name in sorted(catalogue.elsewhere):
        if wanted := registry.find_missing_dist(name):
            absent.setdefault(wanted, []).append(name)
    if absent:
        write_line()
        write_line("Not installed", bold=True)
    for dist, names in absent.items():
        _echo("  ", f"{dist}: {', '.join(names)}")


def _echo(indent: str, text: str, colour: str | None = None) -> None:
    """Print a text wrapped to the terminal's width; never break a name."""
    width = max(shutil.get_terminal_size((PIPE_WIDTH, 0)).columns, 40)
    lines = textwrap.wrap(
        escape_control_characters(text), width, initial_indent=indent, subsequent_indent=f"{indent}  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    for line in lines:
        write_line(line, fg=colour)
