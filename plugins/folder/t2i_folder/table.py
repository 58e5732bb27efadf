"""The mapping from prompts and seeds to the images of a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from t2i_core.api.errors import BadModel, BadPrompts
from t2i_core.api.prompt import Prompt
from t2i_core.io.prompt_file import merge_duplicates, read_table_records

from . import geneval, parquet, path_pattern, table_entries, webdataset
from .entries import File, FolderEntry, Made
from .layouts import Layout, find_ignored, find_layout
from .options import FolderOptions
from .record_table import RecordTable, explain_empty

Key = tuple[Made, int]


@dataclass(frozen=True)
class Table:
    """The images of a folder.

    Attributes:
        source: File of the table, or the folder.
        own: Prompts with known texts, without repetitions.
        files: Images by prompt key and seed; images of a prompt with an id also by `("both", ID, TEXT)`.
        ambiguous: Texts and seeds with several images, which differ only in the prompts' ids.
        unlisted: Images next to those of the table that the table does not list.
        passed_over: Files of other layouts that were ignored, if no option sets the layout.
        unshared_seeds: Why images of one seed have nothing in common between prompts; None if prompts share seeds.
    """

    source: Path
    layout: str
    own: tuple[Prompt, ...]
    files: Mapping[Key, File]
    ambiguous: frozenset[Key]
    unlisted: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    unshared_seeds: str | None = None

    @property
    def seeds(self) -> list[int]:
        """All seeds of the images, ascending."""
        return sorted({seed for _, seed in self.files})

    @property
    def made(self) -> set[Made]:
        """The prompt keys of the images."""
        return {made for made, _ in self.files if made[0] != "both"}

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the folder's own prompts. Raises BadPrompts if it has only ids."""
        if not self.own:
            found = (
                "numbers of COCO's images" if any(kind == "image" for kind, *_ in self.made) else "ids of prompts"
            )
            raise BadPrompts(f"{self.source}: has {found} but no texts; name the prompts with --prompts")
        return self.own

    def list_keys(self, prompt: Prompt) -> list[Made]:
        """Return the keys under which images of a prompt may be."""
        number = path_pattern.find_coco_image(prompt)
        return [("text", prompt.text), ("id", prompt.id), *([] if number is None else [("image", str(number))])]

    def find(self, prompt: Prompt, seed: int) -> File | None:
        """Return a prompt's image: by text and id, by text, or, if the text is unknown, by id or COCO image."""
        if (found := self.files.get((("both", prompt.id, prompt.text), seed))) is not None:
            return found
        keys = ((made, seed) for made in self.list_keys(prompt))
        return next((self.files[key] for key in keys if key in self.files and key not in self.ambiguous), None)

    def explain_missing(self, prompt: Prompt, seed: int) -> str:
        """Return why a prompt has no image."""
        if (("text", prompt.text), seed) in self.ambiguous:
            return (
                f"{self.source}: has several images of this text under seed {seed}, told apart by their prompts' "
                f"ids, and none of the id {prompt.id!r}"
            )
        return f"{self.source}: has no image of this prompt and seed"


def read_table(folder: Path, options: FolderOptions) -> Table:
    """Return the images of a folder by prompt and seed; an unchanged table is not read again.

    Raises:
        BadModel: The folder or its table is not valid; the message names file and line.
        BadPrompts: A prompt is malformed.
    """
    layout = find_layout(folder, options)
    if layout.kind not in ("table", "parquet", "webdataset"):
        return _read(layout, options)
    stamps = tuple((s.st_size, s.st_mtime_ns) for s in (f.stat() for f in layout.files))
    return _read_cached(layout, options.model_dump_json(), stamps)


@lru_cache(maxsize=4)
def _read_cached(layout: Layout, options: str, stamps: tuple[tuple[int, int], ...]) -> Table:
    return _read(layout, FolderOptions.model_validate_json(options))


def _read(layout: Layout, options: FolderOptions) -> Table:
    own: list[Prompt] = []
    beside: tuple[str, ...] = ()
    if layout.kind == "pattern":
        entries = list(path_pattern.entries(layout.folder, options.pattern or "", options.suffixes))
    elif layout.kind == "geneval":
        entries, own = geneval.read(layout.files, options.suffixes)
        beside = tuple(geneval.find_unlisted(layout.folder, options.suffixes))
    elif layout.kind == "parquet":
        entries = _read_tables([parquet.read(f, options.suffixes, options.image) for f in layout.files], options)
    elif layout.kind == "webdataset":
        entries = _read_tables([webdataset.read(file, options) for file in layout.files], options)
    else:
        entries = _read_tables([RecordTable(layout.files[0], *read_table_records(layout.files[0]))], options)
        beside = tuple(table_entries.find_unlisted(entries, options.suffixes))
    if not entries:
        if layout.kind == "geneval":
            raise BadModel(
                f"folder:{layout.folder}: its numbered folders hold no samples (00000/samples/0000.png)"
            )
        raise BadModel(f"folder:{layout.folder}: {options.pattern or layout.source.name} names no image")
    merged, _ = merge_duplicates(own or (e.prompt for e in entries if e.prompt))
    said = options.pattern or options.table or options.layout
    others = () if said else find_ignored(layout)
    images = _assign_seeds(entries)
    return Table(layout.source, layout.kind, tuple(merged), *images, beside, others, _find_unshared_seeds(entries))


def _read_tables(tables: Sequence[RecordTable], options: FolderOptions) -> list[FolderEntry]:
    """Return the images of a table, or of the parts of one."""
    columns = list(dict.fromkeys(column for table in tables for column in table.columns))
    entries = [e for table in tables for e in table_entries.entries(replace(table, columns=columns), options)]
    if options.where and not entries:
        raise explain_empty(tables, options.where)
    return entries


def _find_unshared_seeds(entries: Collection[FolderEntry]) -> str | None:
    """Return why images of one seed have nothing in common between prompts; None if prompts share their seeds."""
    unnamed = sum(entry.seed is None for entry in entries)
    if unnamed:
        return f"{unnamed} of {len(entries)} images name no seed"
    own = sum(entry.noise_seed not in (None, entry.seed) for entry in entries)
    return f"{own} of {len(entries)} images have a noise_seed that is not their seed" if own else None


def _assign_seeds(entries: Iterable[FolderEntry]) -> tuple[dict[Key, File], frozenset[Key]]:
    """Return the images by key; an image without a seed gets the lowest seed that its prompt does not use."""
    keyed: dict[Key, FolderEntry] = {}
    ambiguous: set[Key] = set()
    for entry in entries:
        if entry.seed is not None:
            _add_image(entry, entry.seed, keyed, ambiguous)
    lowest: dict[Made, int] = {}
    for entry in entries:
        if entry.seed is None:
            seed = lowest.get(entry.made, 0)
            while (entry.made, seed) in keyed:
                seed += 1
            _add_image(entry, seed, keyed, ambiguous)
            lowest[entry.made] = seed + 1
    return {key: entry.file for key, entry in keyed.items()}, frozenset(ambiguous)


def _add_image(entry: FolderEntry, seed: int, keyed: dict[Key, FolderEntry], ambiguous: set[Key]) -> None:
    """Add an image. Raises BadModel if its prompt already has one with this seed."""
    key = (entry.made, seed)
    other = keyed.setdefault(key, entry)
    if other is not entry and entry.prompt and entry.id and other.id and other.id != entry.id:
        ambiguous.add(key)
    elif other is not entry:
        raise _make_duplicate_error(entry, other, seed)
    if entry.prompt and entry.id:
        same = keyed.setdefault((("both", entry.id, entry.prompt.text), seed), entry)
        if same is not entry:
            raise _make_duplicate_error(entry, same, seed)


def _make_duplicate_error(entry: FolderEntry, other: FolderEntry, seed: int) -> BadModel:
    return BadModel(
        f"{entry.where}: seed: {other.where} has the same prompt and the same seed {seed}; "
        "give each image of a prompt its own seed"
    )
