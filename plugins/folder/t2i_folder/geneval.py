"""GenEval's layout: a numbered folder for each prompt, with its metadata and its samples.

00000/metadata.jsonl       one JSON object: `prompt`, `tag`, and the required objects, `include`
00000/samples/0000.png     the number becomes the seed
00000/grid.png             ignored

`t2i_torch_support.geneval_records` reads the metadata.
GenEval's scripts set the same seed before each prompt (`seed_everything` in generation/diffusers_generate.py), so
that samples of one number share their starting noise.

References:
    Ghosh, Hajishirzi, Schmidt: GenEval. NeurIPS 2023.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from t2i_core.api.errors import BadModel
from t2i_core.api.prompt import Prompt
from t2i_core.io.text_file import read_text
from t2i_torch_support.geneval_records import make_prompt

from .entries import FolderEntry

METADATA = "metadata.jsonl"


def metadata_files(folder: Path) -> tuple[Path, ...]:
    """Return the metadata files of the numbered folders, in order."""
    return tuple(place / METADATA for place in _list_numbered(folder) if (place / METADATA).is_file())


def find_unlisted(folder: Path, suffixes: Sequence[str]) -> Iterator[str]:
    """Yield the images of numbered folders without metadata, whose prompts are unknown."""
    for place in _list_numbered(folder):
        if not (place / METADATA).is_file():
            yield from sorted(str(f) for f in (place / "samples").glob("*") if f.suffix.lower() in suffixes)


def _list_numbered(folder: Path) -> list[Path]:
    return sorted(place for place in folder.iterdir() if place.name.isdecimal() and place.is_dir())


def read(files: Iterable[Path], suffixes: Sequence[str]) -> tuple[list[FolderEntry], list[Prompt]]:
    """Return the images, and all prompts including those without images. Raises BadModel."""
    entries, prompts = [], []
    for file in files:
        prompt = _prompt(file)
        prompts.append(prompt)
        entries += [
            FolderEntry(str(image), image, seed, prompt.id, prompt)
            for seed, image in _samples(file.parent / "samples", suffixes)
        ]
    return entries, prompts


def _samples(folder: Path, suffixes: Sequence[str]) -> Iterator[tuple[int, Path]]:
    for image in sorted(folder.iterdir()) if folder.is_dir() else ():
        if image.suffix.lower() not in suffixes or image.stem == "grid":
            continue
        if not image.stem.isdecimal():
            raise BadModel(f"{image}: the name must be a number, the seed (0000.png); rename or remove the file")
        yield int(image.stem), image


def _prompt(file: Path) -> Prompt:
    text = read_text(file, BadModel)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadModel(f"{file}: must be one JSON object with a field 'prompt' ({error})") from error
    try:
        return make_prompt(file.parent.name, record)
    except ValueError as error:
        raise BadModel(f"{file}: {error}") from error
