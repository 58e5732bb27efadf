"""The layout of a folder, which maps images to prompts: detected from its files, or set by an option."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from t2i_core.api.errors import BadModel

from . import geneval, parquet, webdataset
from .options import TABLES, FolderOptions

RUN = "run.json"
PROMPTS_OF_RUN = "prompts.jsonl"
_OF_RUN = "images/*/metadata.jsonl"
"""The tables of a run, one for each model."""


@dataclass(frozen=True)
class Layout:
    """A folder's layout.

    Attributes:
        kind: `table`, `parquet`, `webdataset`, `geneval` or `pattern`.
        files: Files that describe the images; empty for a pattern.
    """

    kind: str
    folder: Path
    files: tuple[Path, ...] = ()

    @property
    def source(self) -> Path:
        """The path for messages: the table, if there is one."""
        return self.files[0] if len(self.files) == 1 and self.kind != "geneval" else self.folder

    def depends_on(self) -> list[Path | str]:
        """Return a digest of the list of images."""
        digest = {"parquet": parquet.fingerprint, "webdataset": webdataset.fingerprint}.get(self.kind)
        return [digest(file) if digest else file for file in self.files]


def find_layout(folder: Path, options: FolderOptions) -> Layout:
    """Return a folder's layout. Raises BadModel if the folder does not exist or has no known layout."""
    if not folder.is_dir():
        if folder.exists():
            raise BadModel(
                f"folder:{folder}: not a folder; name the folder of the file, and the file with -o "
                f"folder.table={folder.name}"
            )
        raise BadModel(f"folder:{folder}: no such folder")
    if options.pattern is not None:
        return Layout("pattern", folder)
    if options.table is not None:
        return _named_table(folder, options.table)
    for kind, find in _FINDERS.items():
        if options.layout in (None, kind) and (found := find(folder)) is not None:
            return found
    wanted = {
        "table": f"no table of prompts ({', '.join(TABLES)})",
        "parquet": "no *.parquet, nor in data/",
        "webdataset": "no *.tar, nor in data/",
        "geneval": "no 00000/metadata.jsonl",
        "run": f"no {RUN} of `t2i generate`",
    }
    if options.layout is not None:
        raise BadModel(f"folder:{folder}: holds {wanted[options.layout]}, which layout={options.layout} needs")
    others = sorted(f.name for f in folder.iterdir() if f.suffix.lower() in (".csv", ".jsonl") and f.is_file())
    hint = f"; if {others[0]} is the table, set -o folder.table={others[0]}" if others else ""
    raise BadModel(f"folder:{folder}: holds {', '.join(wanted.values())}, and no pattern is set{hint}")


def find_ignored(taken: Layout) -> tuple[str, ...]:
    """Return the first file of each other table and layout that the folder has too."""
    folder = taken.folder
    tables = _list_tables(folder)
    others = [found.files[0] for found in (_parquet(folder), _webdataset(folder), _geneval(folder)) if found]
    runs = sorted(folder.glob(_OF_RUN))[:1] if (folder / RUN).is_file() else []
    return tuple(
        file.relative_to(folder).as_posix() for file in (*tables, *others, *runs) if file not in taken.files
    )


def _named_table(folder: Path, name: str) -> Layout:
    file = folder / name
    if not file.is_file():
        raise BadModel(f"folder:{folder}: holds no {name}, which table={name} needs")
    return Layout({".parquet": "parquet", ".tar": "webdataset"}.get(file.suffix.lower(), "table"), folder, (file,))


def _table(folder: Path) -> Layout | None:
    return Layout("table", folder, (found[0],)) if (found := _list_tables(folder)) else None


def _list_tables(folder: Path) -> list[Path]:
    """Return a folder's tables of images; the prompts that a run keeps are none of them."""
    of_run = (PROMPTS_OF_RUN,) if (folder / RUN).is_file() else ()
    return [folder / name for name in TABLES if name not in of_run and (folder / name).is_file()]


def _parquet(folder: Path) -> Layout | None:
    return _find_parts("parquet", folder, "*.parquet")


def _webdataset(folder: Path) -> Layout | None:
    return _find_parts("webdataset", folder, "*.tar")


def _find_parts(kind: str, folder: Path, pattern: str) -> Layout | None:
    for place in (folder, folder / "data"):
        if files := tuple(sorted(file for file in place.glob(pattern) if file.is_file())):
            return Layout(kind, folder, files)
    return None


def _geneval(folder: Path) -> Layout | None:
    files = geneval.metadata_files(folder)
    return Layout("geneval", folder, files) if files else None


def _run(folder: Path) -> Layout | None:
    if not (folder / RUN).is_file():
        return None
    files = sorted(folder.glob(_OF_RUN))
    if len(files) == 1:
        return Layout("table", folder, (files[0],))
    if files:
        names = " or ".join(f"folder:{file.parent}" for file in files)
        raise BadModel(f"folder:{folder}: is a run with images of {len(files)} models; name {names}")
    raise BadModel(
        f"folder:{folder}: is a run without a table of its images; `t2i generate` with the same model, prompts "
        "and seeds writes one"
    )


_FINDERS = {"table": _table, "parquet": _parquet, "webdataset": _webdataset, "geneval": _geneval, "run": _run}
