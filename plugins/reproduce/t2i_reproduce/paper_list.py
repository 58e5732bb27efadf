"""The installed papers: YAML files in the packages of plugins, found without importing them.

A plugin names a folder of its package in the entry-point group `t2i.paper_tables`:

    [project.entry-points."t2i.paper_tables"]
    tiam = "t2i_tiam.paper_tables"         # the files *.yaml in t2i_tiam/paper_tables

Table 1 of `tiam.yaml` is `tiam-1`, its Figure 2 `tiam-figure-2`, and `tiam` stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from t2i_core.api.errors import AmbiguousName, BadRecipe, BrokenPlugin, T2IError, UnknownName
from t2i_core.api.extension import Extension
from t2i_core.api.resolver import Resolver
from t2i_core.api.terminal import print_json, write_line
from t2i_core.io.text_file import read_text
from t2i_core.io.yaml_file import MAX_BYTES

GROUP = "t2i.paper_tables"
FIGURE = "-figure-"
"""Between the name of a paper and the number of a figure in the figure's name."""


@dataclass(frozen=True)
class EntryName:
    """A table or a figure of a paper, as a list shows it.

    Attributes:
        name: Its name, such as `tiam-1` or `tiam-figure-2`.
        title: Its subject.
        place: Keys that lead to it in the paper's file.
    """

    name: str
    title: str
    place: tuple[str, str]

    @property
    def heading(self) -> str:
        """The kind and number: `Table 1`."""
        kind, number = self.place
        return f"{kind.removesuffix('s').title()} {number}"


@dataclass(frozen=True)
class PaperFile:
    """A paper's file of which only the titles were read.

    Attributes:
        name: Name of the paper, which is the file's.
        path: The file.
        title: Title of the paper.
        entries: Its tables and figures.
        plugin: The entry point of its folder; None for a user's own file.
    """

    name: str
    path: Path
    title: str
    entries: tuple[EntryName, ...]
    plugin: Extension | None = None

    @property
    def dist(self) -> str:
        """Name of the distribution; empty for a user's own file."""
        return self.plugin.dist if self.plugin else ""


@dataclass(frozen=True)
class PaperList:
    """The installed papers.

    Attributes:
        files: Files, in the order of their names. Several plugins may describe parts of one paper.
        problems: Why a file, or the folder of an entry point, cannot be used.
    """

    files: tuple[PaperFile, ...]
    problems: tuple[BrokenPlugin, ...] = ()

    def find(self, name: str) -> list[tuple[PaperFile, EntryName]]:
        """Return the entries of a name: a table, a figure or a paper, with `DISTRIBUTION/` before it if needed.

        Raises:
            UnknownName: Nothing has the name.
            AmbiguousName: Several distributions offer it.
        """
        dist, _, stem = name.rpartition("/")
        own = [(file, entry) for file in self.files for entry in file.entries if dist in ("", file.dist)]
        found = [pair for pair in own if stem in (pair[0].name, pair[1].name)]
        if not found:
            known = [name for file, entry in own for name in (entry.name, file.name)]
            hints = ["see t2i reproduce --list", *map(str, self.problems)]
            raise UnknownName.among("table or figure", name, dict.fromkeys(known), "; ".join(hints))
        names = [entry.name for _, entry in found]
        if twice := next((n for n in names if names.count(n) > 1), None):
            ways = " or ".join(f"{file.dist}/{twice}" for file, entry in found if entry.name == twice)
            raise AmbiguousName(f"{twice!r} is offered by several distributions; write {ways}")
        return found


def list_papers(resolver: Resolver[Any]) -> PaperList:
    """Return the papers of all installed plugins; a broken entry point or file affects no other."""
    files: list[PaperFile] = []
    problems: list[BrokenPlugin] = []
    for plugin in resolver.list_extensions(GROUP):
        try:
            paths = _list_files(plugin)
        except BrokenPlugin as error:
            problems.append(error)
            continue
        for path in paths:
            try:
                files.append(read_titles(path, plugin))
            except BadRecipe as error:
                problems.append(BrokenPlugin(f"plugin {plugin.origin}: {error}"))
    return PaperList(tuple(sorted(files, key=_make_sort_key)), tuple(problems))


def find_entries(names: Sequence[str], resolver: Resolver[Any]) -> list[tuple[PaperFile, EntryName]]:
    """Return the entries of names, each once; a name that ends in .yaml is a user's own file.

    Raises:
        UnknownName: Nothing has a name.
        AmbiguousName: Several distributions offer it.
        BadRecipe: A user's own file cannot be read.
    """
    installed: PaperList | None = None
    found: list[tuple[PaperFile, EntryName]] = []
    for name in names:
        if name.endswith((".yaml", ".yml")):
            file = read_titles(Path(name))
            found += [(file, entry) for entry in file.entries]
            continue
        installed = installed or list_papers(resolver)
        found += installed.find(name)
    return list(dict.fromkeys(found))


def print_list(names: Sequence[str], resolver: Resolver[Any], as_json: bool) -> None:
    """Print tables and figures of the installed papers, and on standard error the files that are broken.

    Args:
        names: Tables, figures and papers; all papers if empty.
        resolver: Finds the papers.
        as_json: Whether to print JSON.

    Raises:
        UnknownName: Nothing has a name.
        AmbiguousName: Several distributions offer it.
    """
    papers = list_papers(resolver)
    every = [(file, entry) for file in papers.files for entry in file.entries]
    listed = list(dict.fromkeys(pair for name in names for pair in papers.find(name))) if names else every
    if as_json:
        print_json([_describe(file, entry) for file, entry in listed])
    else:
        width = max((len(entry.name) for _, entry in listed), default=0) + 2
        heading = ""
        for file, entry in listed:
            if file.title != heading:  # several plugins may describe parts of one paper
                heading = file.title
                write_line(heading, bold=True)
            write_line(f"  {entry.name:<{width}}{entry.heading}: {entry.title}")
    for problem in papers.problems:
        write_line(f"warning: {problem}", err=True)


def read_titles(path: Path, plugin: Extension | None = None) -> PaperFile:
    """Read the titles of a paper's file, without a check of the rest.

    Args:
        path: The file.
        plugin: The entry point of its folder; None for a user's own file.

    Raises:
        BadRecipe: The file cannot be read, or has no title or no entries with titles.
    """
    text = read_text(path, BadRecipe, MAX_BYTES)
    try:
        # only titles are read, so the fast parser may do it; `read_paper` has limits and says what is wrong
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        title = str(data["title"])
        entries = [
            EntryName(f"{path.stem}{joint}{number}", str(content["title"]), (place, str(number)))
            for place, joint in (("tables", "-"), ("figures", FIGURE))
            for number, content in (data.get(place) or {}).items()
        ]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadRecipe(f"{path}: not YAML ({' '.join(str(error).split())})") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise BadRecipe(f"{path}: must have a title, and tables or figures with titles") from error
    if not entries:
        raise BadRecipe(f"{path}: has no tables and no figures")
    return PaperFile(path.stem, path, title, tuple(entries), plugin)


def _list_files(plugin: Extension) -> Iterator[Path]:
    """Return the YAML files of an entry point. Raises BrokenPlugin if it names no folder with some."""
    package, *below = plugin.target.split(".")
    try:
        spec = find_spec(package)
    except (ImportError, ValueError) as error:  # a module that is half imported has no spec
        raise BrokenPlugin(f"plugin {plugin.origin}: {GROUP}: {error}") from error
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    paths = sorted(path for place in places for path in Path(place, *below).glob("*.yaml"))
    if not paths:
        raise BrokenPlugin(f"plugin {plugin.origin}: {GROUP}: no folder {plugin.target} with YAML files")
    return iter(paths)


def explain_broken(file: PaperFile, error: T2IError) -> T2IError:
    """Return the error of a paper's file, with its distribution if a plugin brings it."""
    return error if file.plugin is None else BrokenPlugin(f"plugin {file.plugin.origin}: {error}")


def _make_sort_key(file: PaperFile) -> tuple[str, int, str]:
    """Return a key that sorts by paper, then by the number of the first entry."""
    number = file.entries[0].place[1]
    return file.name, int(number) if number.isdigit() else 0, file.dist


def _describe(file: PaperFile, entry: EntryName) -> dict[str, Any]:
    return {
        "name": entry.name,
        "heading": entry.heading,
        "title": entry.title,
        "paper": file.title,
        "dist": file.dist,
    }
