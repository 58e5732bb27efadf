"""Discovery of installed components from metadata, in one scan, without importing a plugin.

This module imports only the standard library and a data class of core, so that listing stays fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email import message_from_string
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from t2i_core.api.extension import Extension

if TYPE_CHECKING:
    from t2i_core.api.plugin_info import Kind

EntryKind = Literal["generator", "judge", "metric", "prompt_source", "sink", "command"]
KIND_OF_GROUP: dict[str, EntryKind] = {
    "t2i.generators": "generator",
    "t2i.judges": "judge",
    "t2i.metrics": "metric",
    "t2i.prompt_sources": "prompt_source",
    "t2i.sinks": "sink",
    "t2i.commands": "command",
}
CAPABILITY_PREFIX = "t2i.judges."
ELSEWHERE_GROUP = "t2i.elsewhere"
"""Entry-point group for names that other distributions offer, which may not be installed: NAME = PACKAGE."""
SUITES = "t2i.suites"
"""Entry-point group of suites, which are not components."""
KINDS: tuple[Kind, ...] = ("generator", "judge", "metric", "prompt_source", "sink")
DISABLE_VARIABLE = "T2I_DISABLE_PLUGINS"


@dataclass(frozen=True, order=True)
class Entry:
    """One component that an installed distribution offers.

    Attributes:
        kind: Kind of the component.
        name: Name of the component.
        dist: Name of the distribution.
        version: Version of the distribution.
        module: Target of the entry point: the plugin's light module.
        summary: Summary of the distribution.
        capabilities: For a judge, the capabilities of its groups `t2i.judges.CAPABILITY`.
        licence: Licence of the distribution, not of weights; empty if the metadata has none.
    """

    kind: EntryKind
    name: str
    dist: str
    version: str
    module: str
    summary: str = ""
    capabilities: tuple[str, ...] = ()
    licence: str = ""

    @property
    def origin(self) -> str:
        """Distribution, version and module, for messages about a plugin."""
        return f"{self.dist} {self.version} ({self.module})"

    @property
    def full_name(self) -> str:
        """The name with its distribution, for use if several distributions offer the name."""
        return f"{self.dist}/{self.name}"


@dataclass(frozen=True)
class Catalogue:
    """The result of one scan.

    Attributes:
        entries: Components, sorted by kind, name and distribution.
        commands: Commands of plugins.
        disabled: Entries that `T2I_DISABLE_PLUGINS` left out.
        problems: Messages about distributions whose metadata cannot be read.
        elsewhere: Known names that may not be installed, each with its distribution.
        extensions: Entry points in groups that plugins read, sorted.
    """

    entries: tuple[Entry, ...]
    commands: tuple[Entry, ...] = ()
    disabled: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    extensions: tuple[Extension, ...] = ()

    def list_kind(self, kind: EntryKind) -> tuple[Entry, ...]:
        """Return the components (or commands) of one kind."""
        return tuple(e for e in (self.commands if kind == "command" else self.entries) if e.kind == kind)

    def find_entries(self, kind: EntryKind, name: str, dist: str | None = None) -> tuple[Entry, ...]:
        """Return all entries of a name, from one distribution or, if `dist` is None, from any."""
        return tuple(
            e
            for e in self.list_kind(kind)
            if e.name == name and (dist is None or normalize_name(e.dist) == normalize_name(dist))
        )


@dataclass
class _Found:
    """The entry points of one distribution."""

    targets: dict[tuple[EntryKind, str], list[str]] = field(default_factory=dict)
    capabilities: dict[str, set[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    elsewhere: dict[str, str] = field(default_factory=dict)
    extensions: list[tuple[str, str, str]] = field(default_factory=list)


def normalize_name(dist: str) -> str:
    """Return a distribution's name in the normal form that installers compare."""
    return re.sub(r"[-_.]+", "-", dist).lower()


def scan() -> Catalogue:
    """Read the metadata of every installed distribution once.

    Unreadable metadata affects only its own distribution; `problems` lists it.
    """
    found: list[Entry] = []
    problems: list[str] = []
    elsewhere: dict[str, str] = {}
    extensions: list[Extension] = []
    seen: set[str] = set()
    folders: set[str] = set()
    for dist in distributions():  # in the order of the path: of several with one name, the first is imported
        folder = _read_folder_name(dist)
        shadowed = folder in folders
        folders.add(folder)
        try:
            text = dist.read_text("entry_points.txt") or ""
        except (OSError, UnicodeError) as error:
            problems.append(f"{_locate(dist)}: entry_points.txt cannot be read: {error}")
            continue
        if "t2i." not in text:
            continue
        try:
            name, version, summary, licence = _read_identity(dist)
        except (OSError, ValueError, LookupError, TypeError) as error:
            problems.append(f"{_locate(dist)}: its metadata cannot be read: {error}")
            continue
        if shadowed or normalize_name(name) in seen:
            continue
        seen.add(normalize_name(name))
        of_dist = _read_entry_points(text)
        problems += [f"{name} {version}: {problem}" for problem in of_dist.problems]
        found += _list_entries(of_dist, name, version, summary, licence)
        elsewhere |= of_dist.elsewhere
        extensions += [Extension(group, key, name, version, target) for group, key, target in of_dist.extensions]
    disabled = _find_disabled(found)
    off = {normalize_name(word) for word in _read_disabled()}
    kept = sorted(set(found) - disabled)
    return Catalogue(
        entries=tuple(e for e in kept if e.kind != "command"),
        commands=tuple(e for e in kept if e.kind == "command"),
        disabled=tuple(sorted(disabled)),
        problems=tuple(problems),
        elsewhere=elsewhere,
        extensions=tuple(sorted(e for e in extensions if not off & {"all", normalize_name(e.dist)})),
    )


def _read_identity(dist: Distribution) -> tuple[str, str, str, str]:
    """Return name, version, summary and licence; of a full licence text, only the first line."""
    text = dist.read_text("METADATA") or dist.read_text("PKG-INFO") or ""
    metadata = message_from_string(text.partition("\n\n")[0])  # without the description: it is long
    name = metadata["Name"]
    if not name:
        raise LookupError("it has no name")
    title = str(metadata["License"] or "").strip().partition("\n")[0]
    licence = str(metadata["License-Expression"] or title)
    return str(name), str(metadata["Version"] or "?"), str(metadata["Summary"] or ""), licence


def _locate(dist: Distribution) -> str:
    """Return the folder of a distribution's metadata."""
    return str(getattr(dist, "_path", None) or dist.locate_file(""))


def _read_folder_name(dist: Distribution) -> str:
    """Return the normal name of a distribution that the folder of its metadata has; no file is read."""
    return normalize_name(Path(_locate(dist)).stem.partition("-")[0])


def _read_entry_points(text: str) -> _Found:
    """Read the text of entry_points.txt line by line, so that a bad line affects no other line."""
    found, group = _Found(), ""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
            continue
        if not group.startswith("t2i."):
            continue
        name, equals, target = (part.strip() for part in line.partition("="))
        kind = KIND_OF_GROUP.get(group)
        if not name or not equals or not EntryPoint.pattern.match(target):
            found.problems.append(f"[{group}] {line!r} is not an entry point; it must be NAME = MODULE")
        elif kind is not None:
            found.targets.setdefault((kind, name), []).append(target)
        elif group == ELSEWHERE_GROUP:
            found.elsewhere[name] = normalize_name(target.partition(".")[0])
        elif group.startswith(CAPABILITY_PREFIX):
            found.capabilities.setdefault(name, set()).add(group.removeprefix(CAPABILITY_PREFIX))
        else:
            found.extensions.append((group, name, target))
    found.problems += [
        f"{name!r} is registered in {CAPABILITY_PREFIX}{min(capabilities)}, but not in t2i.judges"
        for name, capabilities in found.capabilities.items()
        if ("judge", name) not in found.targets
    ]
    return found


def _list_entries(found: _Found, dist: str, version: str, summary: str, licence: str) -> Iterator[Entry]:
    for (kind, name), targets in found.targets.items():
        capabilities = tuple(sorted(found.capabilities.get(name, ()))) if kind == "judge" else ()
        for target in dict.fromkeys(targets):
            yield Entry(kind, name, dist, version, target, summary, capabilities, licence)


def _read_disabled() -> set[str]:
    """Return the words of the environment variable that disables plugins."""
    return {word.strip() for word in os.environ.get(DISABLE_VARIABLE, "").split(",") if word.strip()}


def _find_disabled(entries: Iterable[Entry]) -> set[Entry]:
    """Return the entries that the environment variable disables: by distribution, by component, or `all`."""
    words = _read_disabled()
    dists = {normalize_name(word) for word in words}
    return {
        e
        for e in entries
        if "all" in words or normalize_name(e.dist) in dists or words & {e.name, e.full_name, f"{e.kind}:{e.name}"}
    }
