"""Counts of the calls that work makes: database statements, file accesses, digests, JSON texts, named functions.

Calls are counted where they leave Python's code (`sqlite3`, `os`, `hashlib`, `json`), so that the counts stay
comparable when the code that makes them is rewritten.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sqlite3
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

DATABASE = {
    **dict.fromkeys(("select", "values", "with"), "database reads"),
    **dict.fromkeys(("insert", "replace", "update", "delete"), "database writes"),
    **dict.fromkeys(("begin", "commit", "end", "rollback", "savepoint", "release"), "transaction statements"),
}
"""What a statement counts as, by its first word."""
OTHER_STATEMENTS = "other database statements"

STATS, READ, WRITTEN = "file stats", "files opened to read", "files opened to write"
FILE_EVENTS = {
    **dict.fromkeys(("os.listdir", "os.scandir"), "folders listed"),
    **dict.fromkeys(
        ("os.link", "os.symlink", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.utime"),
        "names made or removed",
    ),
}
"""What a file access counts as, by its audit event. Opening a file is told apart by its flags."""
JSON_TEXTS, DIGESTS = "JSON texts", "digests"

_STATS = ("stat", "lstat", "access")  # they raise no audit event
_HASHES = frozenset(
    id(function)
    for function in (
        *(getattr(hashlib, name, None) for name in hashlib.algorithms_guaranteed),
        getattr(sys.modules.get("_hashlib"), "new", None),
    )
    if inspect.isbuiltin(function)
)


KINDS = tuple(
    dict.fromkeys(
        (JSON_TEXTS, DIGESTS, *DATABASE.values(), OTHER_STATEMENTS, STATS, READ, WRITTEN, *FILE_EVENTS.values())
    )
)
"""All kinds of calls that are counted, beside the named functions."""


def find_functions(modules: Iterable[ModuleType], names: Mapping[str, Sequence[str]]) -> dict[CodeType, str]:
    """Find functions and methods by their possible names.

    Args:
        modules: Modules to search, and the classes that they define.
        names: For each kind the possible names of its functions: `name`, or `Class.name`.

    Returns:
        The kind of each function's code.

    Raises:
        LookupError: If a kind has no function.
    """
    kinds = {name: kind for kind, each in names.items() for name in each}
    found: dict[CodeType, str] = {}
    for module in modules:
        for owner in (module, *(v for v in vars(module).values() if isinstance(v, type))):
            for value in vars(owner).values():
                function = _function(value)
                if function is not None:
                    kind = kinds.get(function.__name__) or kinds.get(function.__qualname__)
                    if kind is not None:
                        found[function.__code__] = kind
    for kind in names:
        if kind not in found.values():
            raise LookupError(f"{kind}: no function is called {' or '.join(names[kind])}; add its name")
    return found


def _function(value: Any) -> FunctionType | None:
    """Return the function of a method, a property or a cached function."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    value = inspect.unwrap(getattr(value, "__func__", value))
    return value if isinstance(value, FunctionType) else None


class CallCounts:
    """The calls that were made while `count_calls` counted them."""

    def __init__(self, folders: Iterable[Path], functions: Mapping[CodeType, str]) -> None:
        self._folders = tuple(folders)
        self._functions = functions  # keeps the code alive, so that its ids stay valid
        self._kinds = {id(code): kind for code, kind in functions.items()}  # hashing code takes microseconds
        self._calls: deque[str] = deque()  # appending is atomic, in whatever thread
        self._connected: deque[str] = deque()

    def total(self) -> Counter[str]:
        """Return the number of calls of each kind."""
        return Counter(self._calls)

    def on_call(self, frame: FrameType, event: str, arg: Any) -> None:
        """Count the end of a Python function, or the start of one in C; set as profile function."""
        if event == "c_call":
            if id(arg) in _HASHES:
                self._calls.append(DIGESTS)
        elif event == "return":
            if frame.f_code is json.JSONEncoder.encode.__code__:
                self._calls.append(JSON_TEXTS)
            elif (kind := self._kinds.get(id(frame.f_code))) is not None and not self._is_inside(frame, kind):
                self._calls.extend([kind] * _results(arg))

    def _is_inside(self, frame: FrameType, kind: str) -> bool:
        """Return whether another function of this kind has called this one, and is counted itself."""
        caller = frame.f_back
        while caller is not None:
            if self._kinds.get(id(caller.f_code)) == kind:
                return True
            caller = caller.f_back
        return False

    def on_event(self, event: str, args: tuple[Any, ...]) -> None:
        """Count an audit event, if it is a file access within the folders."""
        if event == "sqlite3.connect/handle":
            self._connected.append(event)
        elif event == "open":
            path, _, flags = args
            if self._is_within(path):
                self._calls.append(WRITTEN if flags & (os.O_WRONLY | os.O_RDWR) else READ)
        elif (kind := FILE_EVENTS.get(event)) is not None and any(map(self._is_within, args)):
            self._calls.append(kind)

    def _is_within(self, path: Any) -> bool:
        """Return whether a path is in the folders; a relative path, which an open folder completes, is."""
        try:
            name = Path(os.fsdecode(path))
        except TypeError:  # a file descriptor, or a number among an event's arguments
            return False
        return not name.is_absolute() or any(name.is_relative_to(folder) for folder in self._folders)

    def stat(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of `os` that counts its calls."""

        def counted(path: Any, *args: Any, **more: Any) -> Any:
            if self._is_within(path):
                self._calls.append(STATS)
            return function(path, *args, **more)

        return counted

    def connect(self, function: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
        """Return `sqlite3.connect` so that the statements of its connections are counted."""

        def on_statement(sql: str) -> None:
            self._calls.append(DATABASE.get(sql.split(None, 1)[0].lower().rstrip(";"), OTHER_STATEMENTS))

        def counted(*args: Any, **more: Any) -> sqlite3.Connection:
            connection = function(*args, **more)
            self._connected.pop()
            connection.set_trace_callback(on_statement)
            return connection

        return counted

    def check_connections(self) -> None:
        """Raise RuntimeError if a connection was opened in a way whose statements are not counted."""
        if self._connected:
            raise RuntimeError(
                "a database was opened, but not by `sqlite3.connect`: its statements are not counted"
            )


def _results(value: Any) -> int:
    """Return how many results a function has returned, or a generator has yielded at a time."""
    if value is None:  # it raised, or the generator has ended
        return 0
    return len(value) if isinstance(value, list | tuple | set | frozenset | dict) else 1


_counting: list[CallCounts] = []
_hooked: list[bool] = []


def _on_event(event: str, args: tuple[Any, ...]) -> None:
    for counts in _counting:
        counts.on_event(event, args)


@contextmanager
def count_calls(folders: Iterable[Path], functions: Mapping[CodeType, str]) -> Iterator[CallCounts]:
    """Count the calls of the block, also those of threads that it starts.

    Args:
        folders: Absolute folders, free of links, in which file accesses are counted.
        functions: The kind of each function whose results are counted, by its code. A function that another one
            of its kind has called is not counted again.

    Yields:
        The counts. The database's own accesses to its files are not among them.
    """
    if not _hooked:
        sys.addaudithook(_on_event)  # it cannot be removed
        _hooked.append(True)
    counts = CallCounts(folders, functions)
    replaced = [(os, name, counts.stat(getattr(os, name))) for name in _STATS]
    replaced += [(sqlite3, "connect", counts.connect(sqlite3.connect))]
    supporting = [s for n, s in vars(os).items() if n.startswith("supports_") and isinstance(s, set)]
    profile, of_threads = sys.getprofile(), threading.getprofile()
    with _replaced(replaced, supporting):
        _counting.append(counts)
        threading.setprofile(counts.on_call)
        sys.setprofile(counts.on_call)
        try:
            yield counts
        finally:
            sys.setprofile(profile)
            threading.setprofile(of_threads)
            _counting.remove(counts)
    counts.check_connections()


@contextmanager
def _replaced(replaced: Sequence[tuple[ModuleType, str, Any]], supporting: Sequence[set[Any]]) -> Iterator[None]:
    """Replace functions of modules for a while, also in the sets that say what they support."""
    before = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    added: list[tuple[set[Any], Any]] = []
    try:
        for (module, name, function), (_, _, original) in zip(replaced, before, strict=True):
            added += [(each, function) for each in supporting if original in each]
            setattr(module, name, function)
        for each, function in added:
            each.add(function)
        yield
    finally:
        for each, function in added:
            each.discard(function)
        for module, name, original in before:
            setattr(module, name, original)
