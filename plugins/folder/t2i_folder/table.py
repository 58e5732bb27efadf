"""Which image of a folder belongs to which prompt and seed: from a table, or from the files' names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from t2i_core.errors import BadModel, BadPrompts
from t2i_core.prompt_files import FILE_FIELDS, Record, id_of, merge_duplicates, prompts_of, read_records
from t2i_core.prompts import Prompt

from .options import PLACES, SUFFIXES, TABLES, FolderOptions

Made = tuple[str, str]
"""What an image was made from: `("text", TEXT)`, or `("id", ID)` where the prompt's text is not known here."""


@dataclass(frozen=True)
class Table:
    """The images of a folder.

    source:  the table's file, or the folder whose file names were read
    own:     the prompts whose texts are known here, without repetitions
    files:   by what each image was made from, and its seed
    """

    source: Path
    own: tuple[Prompt, ...]
    files: Mapping[tuple[Made, int], Path]

    @property
    def seeds(self) -> list[int]:
        """Every seed that some prompt has an image of, in ascending order."""
        return sorted({seed for _, seed in self.files})

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the folder's own prompts. Raises BadPrompts where it knows only ids."""
        if not self.own:
            raise BadPrompts(f"{self.source}: has ids of prompts but no texts; say which prompts with --prompts")
        return self.own

    def find(self, prompt: Prompt, seed: int) -> Path | None:
        """Return the file of a prompt's image: by its text, or by its id where the text is not known here."""
        return self.files.get((("text", prompt.text), seed)) or self.files.get((("id", prompt.id), seed))


@dataclass(frozen=True)
class _Entry:
    """One image as the folder has it.

    where:   begins a message about it
    prompt:  None where only an id is known
    seed:    None where none is given
    """

    where: str
    file: Path
    seed: int | None
    id: str | None
    prompt: Prompt | None

    @property
    def made(self) -> Made:
        return ("text", self.prompt.text) if self.prompt else ("id", self.id or "")


def read_table(folder: Path, options: FolderOptions) -> Table:
    """Read which image belongs to which prompt and seed.

    Raises BadModel, in one line that names file and line, and BadPrompts where a prompt itself is malformed.
    """
    if options.pattern is not None:
        source, entries = folder, list(_matching(existing(folder), options.pattern))
    else:
        source = table_file(folder, options)
        entries = _listed(read_records(source))
    if not entries:
        raise BadModel(f"folder:{folder}: {options.pattern or source.name} names no image")
    own, _ = merge_duplicates(e.prompt for e in entries if e.prompt)
    return Table(source, tuple(own), _by_seed(entries))


def existing(folder: Path) -> Path:
    """Return the folder. Raises BadModel where it is none."""
    if not folder.is_dir():
        raise BadModel(f"folder:{folder}: {'this is no folder' if folder.exists() else 'no such folder'}")
    return folder


def table_file(folder: Path, options: FolderOptions) -> Path:
    """Return the path of a folder's table. Raises BadModel where there is no folder or no table."""
    names = (options.table,) if options.table is not None else TABLES
    for name in names:
        if (existing(folder) / name).is_file():
            return folder / name
    raise BadModel(f"folder:{folder}: holds no table of prompts ({', '.join(names)}) and no pattern is given")


def _listed(records: list[Record]) -> list[_Entry]:
    prompts = iter(prompts_of(r for r in records if r.text is not None))
    return [
        _Entry(r.where, _file(r), _seed(r), r.id, next(prompts) if r.text is not None else None) for r in records
    ]


def _file(record: Record) -> Path:
    name = next((record.fields[f] for f in FILE_FIELDS if f in record.fields), None)
    if not isinstance(name, str):
        raise BadModel(f"{record.where}: file: {'is missing' if name is None else 'want the name of an image'}")
    if record.text is None and record.id is None:
        raise BadModel(f"{record.where}: prompt: is missing, and there is no id either")
    return record.path.parent / name


def _seed(record: Record) -> int | None:
    seed = record.fields.get("seed")
    if isinstance(seed, str) and seed.isdecimal():
        return int(seed)
    if seed is None or (isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0):
        return seed
    raise BadModel(f"{record.where}: seed: want a whole number from 0 on, not {seed!r}")


def _matching(folder: Path, pattern: str) -> Iterator[_Entry]:
    parts = re.split(r"(\{\w+\}|\*)", pattern)
    expression = re.compile("".join(PLACES.get(part, re.escape(part)) for part in parts))
    for file in sorted(folder.rglob("*")):
        match = expression.fullmatch(file.relative_to(folder).as_posix())
        if match and file.suffix.lower() in SUFFIXES:
            found = match.groupdict()
            text, seed = found.get("text"), found.get("seed")
            prompt = Prompt(found.get("id") or id_of(text), text) if text else None
            yield _Entry(str(file), file, int(seed) if seed else None, found.get("id"), prompt)


def _by_seed(entries: Iterable[_Entry]) -> dict[tuple[Made, int], Path]:
    """Key the files. An image without a seed gets the lowest, from 0, that its prompt does not have yet."""
    keyed: dict[tuple[Made, int], _Entry] = {}
    for entry in entries:
        if entry.seed is not None and keyed.setdefault((entry.made, entry.seed), entry) is not entry:
            other = keyed[entry.made, entry.seed].where
            raise BadModel(f"{entry.where}: seed: {other} has the same prompt under the same seed {entry.seed}")
    lowest: dict[Made, int] = {}
    for entry in entries:
        if entry.seed is None:
            seed = lowest.get(entry.made, 0)
            while (entry.made, seed) in keyed:
                seed += 1
            keyed[entry.made, seed] = entry
            lowest[entry.made] = seed + 1
    return {key: entry.file for key, entry in keyed.items()}
