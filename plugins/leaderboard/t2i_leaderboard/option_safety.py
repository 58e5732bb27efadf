"""Options of another's run that name files, servers or code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

OptionTable = Mapping[str, Mapping[str, Any]]
"""Options by component, as `Request.options` has them."""

_REACHING = ("remote_code", "url", "_env")
"""Ends of the names of options that run code of a repository, or name a server or an environment variable."""


def select_options(options: OptionTable, specs: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the options of components, under whichever address (`NAME`, `KIND:NAME`, `DIST/NAME`) they are given.

    Args:
        options: The options of a run.
        specs: The components as the run names them, with or without an argument.
    """
    names = {_find_name(spec.partition(":")[0]) for spec in specs}
    return {key: dict(own) for key, own in options.items() if _find_name(key.rpartition(":")[2]) in names}


def _find_name(address: str) -> str:
    """Return the component's name of `NAME` or `DIST/NAME`."""
    return address.rpartition("/")[2]


def reaches_out(key: str) -> bool:
    """Return whether an option runs code of a repository, or names a server or an environment variable."""
    return key.endswith(_REACHING)


def list_keys(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of options; those of nested ones, too."""
    for key, value in options.items():
        yield key, value
        if isinstance(value, Mapping):
            yield from list_keys(value)


def find_local_path(options: Mapping[str, Any]) -> str | None:
    """Return the name of an option that names a local file or folder; None if there is no such option."""
    return next((key for key, value in list_keys(options) if any(map(is_local_path, _list_texts(value)))), None)


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the texts of a value, and the items of each, because a command line writes lists as one text."""
    if isinstance(value, str):
        yield value
        yield from (item.strip(" \t[]{}'\"") for item in re.split(",|: ", value))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _list_texts(each)


def is_local_path(text: str) -> bool:
    """Return whether a text has the form of a local path, or is the path of a file or folder."""
    if text.startswith(("./", "../", "/", "~", "\\")) or PureWindowsPath(text).drive:
        return True
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # too long, or a NUL character: no path
        return False
