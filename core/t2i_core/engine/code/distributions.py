"""Installed distributions of modules."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from ...files.package_files import digest_sources

PYTHON = "python"
"""The origin of modules of the standard library."""


def find_origin(module: str) -> str | None:
    """Return a text that identifies the installed code of a module.

    Args:
        module: A dotted name. The module need not be imported yet.

    Returns:
        `python` for the standard library; name and version of the distribution for other installed modules; name
        and source digest if the distribution is installed in editable form, because its code changes under the
        same version.
        t2i-core is identified by its name alone, because its stored forms have their own version
        (`t2i_core.storage.store.FORMAT`). None for `__main__` and for modules outside a distribution, such as
        notebooks and files that were merely found on the path.
    """
    top = module.partition(".")[0]
    if top == __name__.partition(".")[0]:
        return "t2i-core"
    if top in ("", "__main__"):
        return None
    folder = _find_folder(top)
    if folder is None:
        return PYTHON if top in sys.builtin_module_names else None
    if top in sys.stdlib_module_names and folder in _list_standard_folders():
        return PYTHON
    for dist, editable in _list_candidates(top, folder):
        if not editable:
            return _describe_release(dist)
        if module not in sys.modules:
            import_module(module)
        return f"{dist.name} {digest_sources(module, ('**/*',))}"
    return None


def _find_folder(top: str) -> Path | None:
    """Return the folder that holds a top-level module or package; None if it has no file."""
    loaded = sys.modules.get(top)
    if loaded is not None:
        file, paths = getattr(loaded, "__file__", None), list(getattr(loaded, "__path__", ()))
    else:
        spec = find_spec(top)
        if spec is None:
            return None
        file, paths = (spec.origin if spec.has_location else None), list(spec.submodule_search_locations or ())
    if paths:
        return Path(paths[0]).resolve().parent
    return Path(file).resolve().parent if file else None


@lru_cache(maxsize=1)
def _list_standard_folders() -> frozenset[Path]:
    folders = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    return frozenset([*folders, *(folder / "lib-dynload" for folder in folders)])


def _list_candidates(top: str, folder: Path) -> Iterator[tuple[Distribution, bool]]:
    """Yield the distributions that installed a top-level name in this folder, with True if in editable form."""
    index = _index_distributions(tuple((path, _read_change_time(path)) for path in sys.path))
    yield from ((dist, False) for dist in index.installed.get((top, folder), ()))
    if (folder / top / "__init__.py").is_file():
        yield from ((dist, True) for dist in index.roots.get(folder, ()))
    yield from ((dist, True) for project, dist in index.mapped.get(top, ()) if folder.is_relative_to(project))


def _read_change_time(path: str) -> int | None:
    """Return the time of a folder's last change; None if it does not exist or may not be read."""
    try:
        return os.stat(path or ".").st_mtime_ns  # noqa: PTH116 - asked about all folders for each module of a digest
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _describe_release(dist: Distribution) -> str:
    """Return name and version of a distribution, each of which parses its metadata whenever it is read."""
    return f"{dist.name} {dist.version}"


class _Index:
    """The installed distributions.

    Attributes:
        installed: By top-level name and the folder that holds it.
        roots: Editable ones, by the folder that they put on the path.
        mapped: Editable ones that an import hook finds, by top-level name, with the project's folder.
    """

    def __init__(self) -> None:
        self.installed: defaultdict[tuple[str, Path], list[Distribution]] = defaultdict(list)
        self.roots: defaultdict[Path, list[Distribution]] = defaultdict(list)
        self.mapped: defaultdict[str, list[tuple[Path, Distribution]]] = defaultdict(list)
        for dist in distributions():
            self._add(dist)

    def _add(self, dist: Distribution) -> None:
        base = Path(str(dist.locate_file(""))).resolve()
        declared = (dist.read_text("top_level.txt") or "").split()
        files = [line.partition(",")[0] for line in (dist.read_text("RECORD") or "").splitlines()]
        for name in {file.partition("/")[0].partition(".")[0] for file in files} | {*declared}:
            self.installed[name, base].append(dist)
        for file in files:
            if file.endswith(".pth") and "/" not in file:
                for root in _read_roots(base / file):
                    self.roots[root].append(dist)
        url = json.loads(dist.read_text("direct_url.json") or "{}")
        if url.get("dir_info", {}).get("editable"):
            from urllib.request import url2pathname  # imports much, and is rarely needed

            project = Path(url2pathname(urlsplit(url["url"]).path)).resolve()
            for name in declared:
                self.mapped[name].append((project, dist))


@lru_cache(maxsize=2)
def _index_distributions(stamps: tuple[tuple[str, int | None], ...]) -> _Index:
    """Return the installed distributions. The folders' times, `stamps`, change if one is installed."""
    return _Index()


def _read_roots(pth: Path) -> Iterator[Path]:
    """Yield the folders that an editable installation puts on the path."""
    try:
        lines = pth.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # Python cannot read it either, so its folders are not on the path
        return
    yield from (Path(line).resolve() for line in lines if Path(line).is_absolute())
