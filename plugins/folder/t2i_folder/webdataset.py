"""WebDataset's tar files: the files of one sample share their name up to the first dot.

    000000.png      the image
    000000.txt      the prompt's text
    000000.json     further fields, one JSON object

Tar files are read in place and never unpacked: an image is read by its position in the file. Compressed tar files
are not supported, because they have no positions.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel
from t2i_core.files.regular_file import IMAGE_BYTES
from t2i_core.io.prompt_record import TEXT_FIELDS, PromptRecord

from .entries import File, Packed
from .options import FolderOptions
from .record_table import RecordTable, check_column

_TEXT_BYTES = 1 << 20
"""Maximum size of a text or JSON file."""

_TEXTS = ("txt", "text", "json")
KEY = "__key__"
"""WebDataset's name for the name of a sample."""


@dataclass
class _Sample:
    """The files of one sample: texts, and the positions of all files by ending."""

    key: str
    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, Packed] = field(default_factory=dict)


@dataclass(frozen=True)
class TarRecord(PromptRecord):
    """One sample; `line` is its number in the tar file, from 1."""

    key: str = ""

    @property
    def where(self) -> str:
        """`FILE, sample KEY`, the start of messages."""
        return f"{self.path}, sample {self.key}"


def read(file: Path, options: FolderOptions) -> RecordTable:
    """Return the samples of a tar file with an image, and the positions of the images.

    The columns are the endings of text files, the fields of JSON files, and `__key__`. Without an option, the
    prompt is the text of `txt`, or else the field `prompt`, `text` or `caption`; other fields become facets only
    if the option facets names them.

    Raises:
        BadModel: If the file is not such a tar file.
    """
    records: list[TarRecord] = []
    stored: dict[int, File] = {}
    columns: dict[str, None] = {KEY: None}
    endings: dict[str, None] = {}
    for number, sample in enumerate(_scan(file), 1):
        fields = _read_fields(file, sample)
        columns |= dict.fromkeys(fields)
        endings |= dict.fromkeys(sample.files)
        if (image := _find_image(sample, file, options)) is not None:
            records.append(TarRecord(file, number, fields, sample.key))
            stored[number] = image
    if options.image is not None:
        check_column(options.image, "images", endings, file)
    if not records:
        raise BadModel(f"{file}: holds no image ({', '.join(options.suffixes)})")
    selected = [_select(record, options) for record in records]
    columns |= dict.fromkeys(name for record in selected for name in record.fields)
    return RecordTable(file, list(columns), selected, stored)


def _select(record: TarRecord, options: FolderOptions) -> TarRecord:
    """Return a sample with its prompt, and only the fields that the options use."""
    named = {*options.columns.values(), *options.where, *(options.facets or ())}
    kept = {name: value for name, value in record.fields.items() if name in named}
    kept |= {name: record.fields[name] for name in ("id", "seed", "objects", "scene") if name in record.fields}
    text = next((name for name in ("txt", *TEXT_FIELDS, "caption") if name in record.fields), None)
    if options.prompt is None and text is not None:
        kept["prompt"] = record.fields[text]
    return TarRecord(record.path, record.line, kept, record.key)


def _find_image(sample: _Sample, file: Path, options: FolderOptions) -> Packed | None:
    if options.image is not None:
        return sample.files.get(options.image)
    found = [packed for ending, packed in sample.files.items() if f".{ending}" in options.suffixes]
    if len(found) > 1:
        names = ", ".join(packed.name for packed in found)
        raise BadModel(
            f"{file}, sample {sample.key}: has several images ({names}); name an ending (folder.image=png)"
        )
    return found[0] if found else None


def _read_fields(file: Path, sample: _Sample) -> dict[str, Any]:
    fields: dict[str, Any] = {KEY: sample.key}
    for ending, text in sample.texts.items():
        if ending != "json":
            fields[ending] = text.strip()
            continue
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadModel(f"{file}, sample {sample.key}: json: not JSON ({error})") from error
        if not isinstance(data, dict):
            raise BadModel(f"{file}, sample {sample.key}: json: must be one JSON object")
        fields |= data
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def fingerprint(file: Path) -> str:
    """Return a digest of the list of images and of their texts, without the images' bytes."""
    listed = [[s.key, s.texts, [(e, p.size) for e, p in s.files.items()]] for s in _scan(file)]
    return f"webdataset {hashlib.sha256(json.dumps(listed).encode()).hexdigest()}"


def read_image(image: Packed) -> bytes:
    """Return the bytes of an image. Raises BadModel if the tar file can no longer be read."""
    try:
        with image.file.open("rb") as opened:
            opened.seek(image.offset)
            return opened.read(image.size)
    except OSError as error:
        raise BadModel(f"{image.file}: cannot be read ({error.strerror})") from error


def _scan(file: Path) -> tuple[_Sample, ...]:
    stamp = file.stat()
    return _scan_cached(file, stamp.st_size, stamp.st_mtime_ns)


@lru_cache(maxsize=64)
def _scan_cached(file: Path, size: int, changed: int) -> tuple[_Sample, ...]:
    samples: dict[str, _Sample] = {}
    try:
        with tarfile.open(file, "r:") as tar:
            for member in _list_files(tar):
                if member.offset_data + member.size > size:
                    raise BadModel(f"{file}: is truncated: {member.name} ends beyond the file")
                folder, _, name = member.name.rpartition("/")
                stem, _, ending = name.partition(".")
                sample = samples.setdefault(
                    f"{folder}/{stem}" if folder else stem, _Sample(f"{folder}/{stem}".lstrip("/"))
                )
                _add(sample, ending.lower(), member, tar, file)
    except tarfile.TarError as error:
        raise BadModel(f"{file}: cannot be read as an uncompressed tar file ({error})") from error
    except OSError as error:
        raise BadModel(f"{file}: cannot be read ({error.strerror})") from error
    return tuple(samples.values())


def _list_files(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the regular members: links and devices are never followed, hidden files are skipped."""
    for member in tar:
        if member.isfile() and not member.issparse() and not member.name.rpartition("/")[2].startswith("."):
            yield member


def _add(sample: _Sample, ending: str, member: tarfile.TarInfo, tar: tarfile.TarFile, file: Path) -> None:
    if ending in sample.files:
        raise BadModel(f"{file}, sample {sample.key}: has two files {member.name}")
    if ending in _TEXTS:
        if member.size > _TEXT_BYTES:
            raise BadModel(f"{file}: {member.name} has more than {_TEXT_BYTES} bytes")
        content = tar.extractfile(member)
        assert content is not None  # a regular file
        try:
            sample.texts[ending] = content.read().decode()
        except UnicodeDecodeError as error:
            raise BadModel(f"{file}: {member.name} is not UTF-8") from error
    elif member.size <= IMAGE_BYTES:
        sample.files[ending] = Packed(file, member.name, member.offset_data, member.size)
