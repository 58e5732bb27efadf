"""Check whether installed plugins load; each module loads in its own process, so that none affects another."""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BrokenPlugin, MissingDependency, T2IError

from .descriptor import load
from .discovery import Entry

if TYPE_CHECKING:
    from .registry import Registry

TIMEOUT = 120.0
"""Time limit per plugin in seconds; importing torch from a slow disk may take 30 s."""

_NEEDED = ("t2i_core.api.plugin_info", "t2i_core.api.hookspecs", "packaging.requirements", "pluggy", "typer")
"""Modules that most plugins import, or that load them."""

_FORKS = sys.platform == "linux"
"""True if modules are loaded in forks of a process."""

_Answer = tuple[str, bool, float]
"""Reason why an entry cannot be used, whether it lacks another distribution, and the seconds that it took."""

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
        """True if importing the module takes longer than `SLOW`."""
        return self.seconds > SLOW


def check_plugins(entries: Iterable[Entry], timeout: float = TIMEOUT) -> list[PluginCheck]:
    """Load every entry, one process per module, and return the results sorted by entry.

    On Linux these processes are forks of one that has imported what most plugins need, which takes a fifth of the
    time. Elsewhere, forks may crash in system libraries, and each process starts anew.
    """
    ordered = sorted(entries, key=_name_module)
    modules = [list(group) for _, group in groupby(ordered, key=_name_module)]
    shares = ([modules] if modules else []) if _FORKS else [[module] for module in modules]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        checked = pool.map(lambda share: _check_modules(share, timeout), shares)
        return sorted((c for share in checked for c in share), key=lambda c: c.entry)


def _name_module(entry: Entry) -> tuple[str, str]:
    return entry.module, entry.dist


def _check_modules(modules: list[list[Entry]], timeout: float) -> list[PluginCheck]:
    """Load the entries of some modules in a child process, or in its forks."""
    wanted = [[[e.kind, e.name, e.dist, e.module] for e in entries] for entries in modules]
    command = [sys.executable, "-c", f"from {__name__} import answer_parent; answer_parent()"]
    try:
        child = subprocess.run(
            command,
            input=json.dumps([sys.path, wanted, timeout if _FORKS else None]),
            capture_output=True,
            text=True,
            timeout=None if _FORKS else timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [found for entries in modules for found in _make_checks(entries, [], None, "", timeout)]
    try:
        ended = json.loads(child.stdout)
    except ValueError:
        ended = [[[], child.returncode, child.stderr]] * len(modules)
    results = zip(modules, ended, strict=True)
    return [
        found
        for entries, (own, status, errors) in results
        for found in _make_checks(entries, own, status, errors, timeout)
    ]


def _make_checks(
    entries: list[Entry], answers: list[_Answer], status: int | None, errors: str, timeout: float
) -> list[PluginCheck]:
    """Return the results of a module's entries.

    Args:
        entries: The entries.
        answers: What loading them gave; empty if the process did not end by itself.
        status: Exit status of the process; None if it took too long.
        errors: What the process printed on standard error.
        timeout: Time limit in seconds.
    """
    if answers:
        slowest = max(seconds for *_, seconds in answers)  # the first entry's time includes the import
        return [
            PluginCheck(e, error, lacks, slowest) for e, (error, lacks, _) in zip(entries, answers, strict=True)
        ]
    last = (errors.strip().splitlines() or [""])[-1]
    cause = f"ended its process with status {status}{f': {last}' if last else ''}"
    if status is None:
        cause = f"still loading after {timeout:g} s"
    return [PluginCheck(e, f"plugin {e.origin}: {cause}") for e in entries]


def answer_parent() -> None:
    """Run the child process: load the entries that standard input lists, and write the results.

    Standard output holds only the results; prints of plugins go to standard error.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:], wanted, timeout = json.load(sys.stdin)

    from .registry import Registry

    for needed in _NEEDED:  # so that their time does not count
        import_module(needed)
    registry = Registry()
    registry.catalogue.list_kind("command")  # scans, before there are forks
    gc.disable()  # a collection in a fork would copy the whole memory
    ended = [
        [_load_entries(registry, module), 0, ""] if timeout is None else _load_in_fork(registry, module, timeout)
        for module in wanted
    ]
    with out:
        json.dump(ended, out)


def _load_in_fork(registry: Registry, module: list[list[str]], timeout: float) -> list[Any]:
    """Load the entries of one module in a fork; return the answers, the exit status and the standard error."""
    (answers, writes_answers), (errors, writes_errors) = os.pipe(), os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.dup2(writes_errors, 1)
            os.dup2(writes_errors, 2)
            found = json.dumps(_load_entries(registry, module)).encode()
            with os.fdopen(writes_answers, "wb") as out:
                out.write(found)
        finally:
            os._exit(0)
    os.close(writes_answers)
    os.close(writes_errors)
    read, is_late = _drain((answers, errors), time.monotonic() + timeout)
    if is_late:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    found = json.loads(read[answers]) if read[answers] else []
    ended = None if is_late else os.waitstatus_to_exitcode(status)
    return [found, ended, read[errors].decode("utf-8", "replace")]


def _drain(descriptors: Sequence[int], deadline: float) -> tuple[dict[int, bytes], bool]:
    """Read pipes to their ends and close them; return what they held, and whether the deadline came first."""
    read = dict.fromkeys(descriptors, b"")
    with selectors.DefaultSelector() as selector:
        for each in descriptors:
            selector.register(each, selectors.EVENT_READ)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                if part := os.read(key.fd, 1 << 16):
                    read[key.fd] += part
                else:
                    selector.unregister(key.fd)
        is_late = bool(selector.get_map())
    for each in descriptors:
        os.close(each)
    return read, is_late


def _load_entries(registry: Registry, wanted: list[list[str]]) -> list[_Answer]:
    """Return for each entry why it cannot be used, whether it lacks another distribution, and its seconds."""
    answers: list[_Answer] = []
    for kind, name, dist, module in wanted:
        found = registry.catalogue.find_entries(kind, name, dist)  # type: ignore[arg-type]  # from JSON
        entry = next(e for e in found if e.module == module)
        start = time.perf_counter()
        error, lacks = "", False
        try:
            _load(registry, entry)
        except T2IError as problem:
            error = str(problem)
            lacks = isinstance(problem, MissingDependency) and _is_sound(entry)
        answers.append((error, lacks, time.perf_counter() - start))
    return answers


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
