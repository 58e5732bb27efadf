"""GenEval's layout: a numbered folder for each prompt, with its metadata and its samples.

00000/metadata.jsonl       one JSON object: `prompt`, `tag`, and the required objects, `include`
00000/samples/0000.png     the number becomes the seed
00000/grid.png             ignored

GenEval has COCO's classes, three of them under other names (evaluation/object_names.txt of djghosh13/geneval).
GenEval uses `exclude` for exact counts: no further object of the class may appear. A scene's count says the same;
other uses of `exclude` are not supported.
GenEval's scripts set the same seed before each prompt (`seed_everything` in generation/diffusers_generate.py), so
that samples of one number share their starting noise.

References:
    Ghosh, Hajishirzi, Schmidt: GenEval. NeurIPS 2023.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel
from t2i_core.api.prompt import ObjectClass, Prompt, Relation, Scene, SceneObject
from t2i_core.io.text_file import read_text
from t2i_torch_support.coco_classes import CLASSES

from .entries import FolderEntry

METADATA = "metadata.jsonl"
_COCO = {"computer mouse": "mouse", "tv remote": "remote", "computer keyboard": "keyboard"}
"""COCO's names of classes with other names in GenEval."""
_PREDICATES = {"left of": "left", "right of": "right", "above": "above", "below": "below"}


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
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadModel(f"{file}: must be one JSON object with a field 'prompt' ({error})") from error
    if not isinstance(data, dict) or not isinstance(data.get("prompt"), str):
        raise BadModel(f"{file}: must be one JSON object with a field 'prompt'")
    facets = {"tag": data["tag"]} if isinstance(data.get("tag"), str) else {}
    try:
        scene = _scene(data["include"]) if data.get("include") else None
    except ValueError as error:
        raise BadModel(f"{file}: include: not as GenEval writes it: {error}") from error
    return Prompt(file.parent.name, data["prompt"], scene, facets)


def _scene(include: Any) -> Scene:
    """Return the required objects as a scene. Raises ValueError with the expected form."""
    if not isinstance(include, list) or not all(isinstance(each, Mapping) for each in include):
        raise ValueError("must be a list of objects, each {'class': 'dog', 'count': 1}")
    objects, relations = [], []
    for number, each in enumerate(include):
        count = each.get("count", 1)
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"object {number}: count must be a whole number above 0 (got {count!r})")
        colour = each.get("color")
        if not isinstance(colour, str | None):
            raise ValueError(f"object {number}: color must be a word (got {colour!r})")
        if not isinstance(each.get("class"), str):
            raise ValueError(f"object {number}: class must be a name (got {each.get('class')!r})")
        objects.append(SceneObject(_class(each["class"]), colour, count))
        if each.get("position"):
            relations.append(_relation(number, each["position"], len(include)))
    return Scene(tuple(objects), tuple(relations))


def _relation(number: int, position: Any, count: int) -> Relation:
    """Return the relation of an object to one of `count` objects. Raises ValueError with the expected form."""
    match position:
        case [str(where), int(other)] if where in _PREDICATES and 0 <= other < count:
            return Relation(number, _PREDICATES[where], other)
    raise ValueError(
        f"object {number}: position must be one of {', '.join(_PREDICATES)} and the number of one of {count} "
        f"objects, counted from 0 (['left of', 0]), not {position!r}"
    )


def _class(name: str) -> ObjectClass:
    """Return COCO's class for a name of GenEval; a class without synset if COCO does not have it."""
    return CLASSES.get(_COCO.get(name, name)) or ObjectClass(name)
