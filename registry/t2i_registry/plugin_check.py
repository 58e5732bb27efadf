"""Check whether installed plugins load; each module loads in its own process, so that none affects another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING

from t2i_core.api.errors import BrokenPlugin, MissingDependency, T2IError

from .descriptor import load
from .discovery import Entry

if TYPE_CHECKING:
    from .registry import Registry

TIMEOUT = 120.0
"""Time limit per plugin in seconds; importing torch from a slow disk may take 30 s."""

SLOW = 1.0
"""Import time in seconds above which a plugin's light module is reported as slow."""


@dataclass(frozen=True)
class PluginCheck:
    """The result of checking one entry.

    Attributes:
        entry: The entry.
        error: Why it cannot be used; empty if it can.
        lacks: Whether the entry loads itself, but is a preset of a component that is not installed.
        seconds: Time to import its module and to return its descriptor.
    """

    entry: Entry
    error: str = ""
    lacks: bool = False
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """`ok`, `broken`, or `missing` if another distribution must be installed."""
        return "missing" if self.lacks else "broken" if self.error else "ok"

    @property
    def slow(self) -> bool:
        """Whether importing the module takes longer than `SLOW`."""
        return self.seconds > SLOW


def check_plugins(entries: Iterable[Entry], timeout: float = TIMEOUT) -> list[PluginCheck]:
    """Load every entry, one process per module, and return the results sorted by entry."""
    ordered = sorted(entries, key=_name_module)
    modules = [list(group) for _, group in groupby(ordered, key=_name_module)]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        checked = [c for group in pool.map(lambda group: _check_module(group, timeout), modules) for c in group]
    return sorted(checked, key=lambda c: c.entry)


def _name_module(entry: Entry) -> tuple[str, str]:
    return entry.module, entry.dist


def _check_module(entries: list[Entry], timeout: float) -> list[PluginCheck]:
    """Load the entries of one module in a child process."""
    wanted = [[e.kind, e.name, e.dist, e.module] for e in entries]
    command = [sys.executable, "-c", f"from {__name__} import answer_parent; answer_parent()"]
    try:
        child = subprocess.run(
            command,
            input=json.dumps([sys.path, wanted]),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [PluginCheck(e, f"plugin {e.origin}: still loading after {timeout:g} s") for e in entries]
    try:
        answers = json.loads(child.stdout)
    except ValueError:
        last = (child.stderr.strip().splitlines() or [""])[-1]
        cause = f"plugin {{}}: ended its process with status {child.returncode}{f': {last}' if last else ''}"
        return [PluginCheck(e, cause.format(e.origin)) for e in entries]
    slowest = max(seconds for *_, seconds in answers)  # the first entry's time includes the import
    return [PluginCheck(e, error, lacks, slowest) for e, (error, lacks, _) in zip(entries, answers, strict=True)]


def answer_parent() -> None:
    """Run the child process: load the entries that standard input lists, and write the results.

    Standard output holds only the results; prints of plugins go to standard error.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:], wanted = json.load(sys.stdin)

    from .registry import Registry

    import_module("t2i_core.api.plugin_info")  # every plugin imports it, so its time does not count
    registry, answers = Registry(), []
    for kind, name, dist, module in wanted:
        entry = next(e for e in registry.catalogue.find_entries(kind, name, dist) if e.module == module)
        start = time.perf_counter()
        error, lacks = "", False
        try:
            _load(registry, entry)
        except T2IError as problem:
            error = str(problem)
            lacks = isinstance(problem, MissingDependency) and _is_sound(entry)
        answers.append((error, lacks, time.perf_counter() - start))
    with out:
        json.dump(answers, out)


def _is_sound(entry: Entry) -> bool:
    """Return whether an entry's own module loads and offers the entry, ignoring the base of a preset."""
    try:
        load(entry)
    except T2IError:
        return False
    return True


def _load(registry: Registry, entry: Entry) -> None:
    """Load an entry; raise BrokenPlugin if its capabilities differ from its entry points."""
    if entry.kind == "command":
        registry.load_command(entry.name)
        return
    info = registry.describe(entry).info
    if entry.kind == "judge":
        offered = set(getattr(info, "capabilities", ()))
        for capability in offered.symmetric_difference(entry.capabilities):
            offers = "offers" if capability in offered else "does not offer"
            but = "is not" if capability in offered else "is"
            raise BrokenPlugin(
                f"plugin {entry.origin}: {entry.name!r} {offers} {capability}, but {but} registered in "
                f"t2i.judges.{capability}; correct the entry points and install the plugin again"
            )
