"""The installed tables of papers: YAML files in the packages of plugins, found without importing them.

A plugin names a folder of its package in the entry-point group `t2i.paper_tables`:

    [project.entry-points."t2i.paper_tables"]
    tiam = "t2i_tiam.paper_tables"         # the files *.yaml in t2i_tiam/paper_tables
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from t2i_core.api.errors import AmbiguousName, BrokenPlugin, T2IError, UnknownName
from t2i_core.api.extension import Extension
from t2i_core.api.resolver import Resolver
from t2i_core.api.terminal import print_json, write_line

from .paper_table import PaperTable, read_file

GROUP = "t2i.paper_tables"


@dataclass(frozen=True)
class TableFile:
    """An installed table, not yet read.

    Attributes:
        name: Name of the table, which is the file's.
        path: The file.
        plugin: The entry point of its folder.
    """

    name: str
    path: Path
    plugin: Extension

    def read(self) -> PaperTable:
        """Read the table. Raises BrokenPlugin, which names the distribution."""
        try:
            return read_file(self.path, self.name)
        except T2IError as error:
            raise BrokenPlugin(f"plugin {self.plugin.origin}: {error}") from error


@dataclass(frozen=True)
class TableList:
    """The installed tables.

    Attributes:
        files: Tables, in the order of their names.
        problems: Why the folder of an entry point has no tables.
    """

    files: tuple[TableFile, ...]
    problems: tuple[BrokenPlugin, ...]

    def find(self, name: str) -> TableFile:
        """Return the table of a name, `NAME` or `DISTRIBUTION/NAME`.

        Raises:
            UnknownName: No table has the name.
            AmbiguousName: Several distributions offer it.
        """
        dist, _, stem = name.rpartition("/")
        found = [f for f in self.files if f.name == stem and dist in ("", f.plugin.dist)]
        if not found:
            hints = ["see t2i reproduce --list", *map(str, self.problems)]
            raise UnknownName.among("table", name, [f.name for f in self.files], "; ".join(hints))
        if len(found) > 1:
            ways = " or ".join(f"{each.plugin.dist}/{each.name}" for each in found)
            raise AmbiguousName(f"table {name!r} is offered by several distributions; write {ways}")
        return found[0]


def list_tables(resolver: Resolver[Any]) -> TableList:
    """Return the tables of all installed plugins; a broken entry point harms no other."""
    files: list[TableFile] = []
    problems: list[BrokenPlugin] = []
    for plugin in resolver.list_extensions(GROUP):
        try:
            files += _list_files(plugin)
        except BrokenPlugin as error:
            problems.append(error)
    return TableList(tuple(sorted(files, key=_make_sort_key)), tuple(problems))


def read_table(name: str, resolver: Resolver[Any]) -> PaperTable:
    """Read a table by its name, or from a file.

    Raises:
        UnknownName: No installed plugin has a table of this name.
        AmbiguousName: Several have one.
        BrokenPlugin: The table of a plugin is not valid.
        BadRecipe: The user's file cannot be read or is not valid.
    """
    if Path(name).suffix in (".yaml", ".yml"):
        return read_file(Path(name), name)
    return list_tables(resolver).find(name).read()


def print_tables(resolver: Resolver[Any], as_json: bool) -> None:
    """Print the installed tables on standard output, and what is wrong with others on standard error."""
    found = list_tables(resolver)
    problems: list[T2IError] = [*found.problems]
    tables: dict[TableFile, PaperTable] = {}
    for file in found.files:
        try:
            tables[file] = file.read()
        except BrokenPlugin as error:
            problems.append(error)
    if as_json:
        print_json([_describe_table(file.name, table) for file, table in tables.items()])
    else:
        width = max((len(file.name) for file in tables), default=0) + 3
        for file, table in tables.items():
            stored = "" if table.published else " (no published values stored)"
            write_line(f"{file.name + ':':<{width}}{table.title}{stored}")
    for problem in problems:
        write_line(f"warning: {problem}", err=True)


def _list_files(plugin: Extension) -> Iterator[TableFile]:
    """Yield the tables of an entry point. Raises BrokenPlugin if it names no folder with tables."""
    package, *below = plugin.target.split(".")
    try:
        spec = find_spec(package)
    except (ImportError, ValueError) as error:  # a module that is half imported has no spec
        raise BrokenPlugin(f"plugin {plugin.origin}: {GROUP}: {error}") from error
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    paths = [path for place in places for path in Path(place, *below).glob("*.yaml")]
    if not paths:
        raise BrokenPlugin(f"plugin {plugin.origin}: {GROUP}: no folder {plugin.target} with YAML files")
    for path in paths:
        yield TableFile(path.stem, path, plugin)


def _make_sort_key(file: TableFile) -> list[tuple[bool, int, str]]:
    """Return a key that sorts `tiam-2` before `tiam-10`."""
    parts = file.name.split("-")
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _describe_table(name: str, table: PaperTable) -> dict[str, Any]:
    values = sum(map(len, table.published.values()))
    return {"name": name, "title": table.title, "paper": table.paper, "published": values, "notes": table.notes}
