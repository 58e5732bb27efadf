"""Images with annotations in COCO's form, and a colour of each thing: what coloured detectors are trained on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api import ObjectClass
from t2i_core.api.errors import BadFolder
from t2i_core.api.text import describe_error


@dataclass(frozen=True)
class LabelledThing:
    """One thing of an image: class, box (x0, y0, x1, y1) in shares of the image, colour where it is known."""

    cls: ObjectClass
    box: tuple[float, float, float, float]
    colour: str | None


@dataclass(frozen=True)
class LabelledPicture:
    """An image file and what it shows."""

    file: Path
    things: tuple[LabelledThing, ...]


def annotations_of(images: Path) -> Path:
    """Where `t2i generate` writes what is true of a folder of images: RUN/annotations/MODEL.json."""
    return images.resolve().parent.parent / "annotations" / f"{images.resolve().name}.json"


def read(images: Path, annotations: Path, plain: str | None = None) -> list[LabelledPicture]:
    """Read a file of annotations. Crowds, and boxes without area, are left out; so are images that show nothing.

    plain: the colour of things of which none is said; None: theirs is not known

    Raises BadFolder with the file, the entry and what is wrong.
    """
    try:
        data = json.loads(annotations.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFolder(
            f"{annotations}: annotations in COCO's form cannot be read ({describe_error(error)})"
        ) from error
    if not isinstance(data, dict):
        raise BadFolder(f"{annotations}: is no JSON object with images, categories and annotations")
    classes = {
        _of(one, "id", int, where): ObjectClass(_of(one, "name", str, where), one.get("synset"))
        for where, one in _entries(data, "categories", annotations)
    }
    shown: dict[int, list[LabelledThing]] = {}
    known = {_of(one, "id", int, where): (where, one) for where, one in _entries(data, "images", annotations)}
    for where, one in _entries(data, "annotations", annotations):
        image, category = _of(one, "image_id", int, where), _of(one, "category_id", int, where)
        if image not in known:
            raise BadFolder(f"{where}: its image_id {image} is none of the images")
        if category not in classes:
            raise BadFolder(f"{where}: its category_id {category} is none of the categories")
        box = _box(one, where, known[image])
        if not one.get("iscrowd") and box[0] < box[2] and box[1] < box[3]:
            shown.setdefault(image, []).append(LabelledThing(classes[category], box, _colour(one, where, plain)))
    pictures = [
        LabelledPicture(images / _of(one, "file_name", str, where), tuple(shown[number]))
        for number, (where, one) in known.items()
        if number in shown
    ]
    if not pictures:
        raise BadFolder(f"{annotations}: no image of it shows anything")
    if missing := [picture.file for picture in pictures if not picture.file.is_file()]:
        raise BadFolder(
            f"{annotations}: {len(missing)} of its images are not in {images}, such as {missing[0].name}"
        )
    return pictures


def classes_of(pictures: Sequence[LabelledPicture]) -> tuple[ObjectClass, ...]:
    """The classes of all things, by name; one for each synset."""
    found: dict[str, ObjectClass] = {}
    for thing in (thing for picture in pictures for thing in picture.things):
        found.setdefault(thing.cls.synset or thing.cls.name, thing.cls)
    return tuple(sorted(found.values(), key=lambda one: one.name))


def colours_of(pictures: Sequence[LabelledPicture]) -> tuple[str, ...]:
    """The colours that are said of things, by name. Raises BadFolder where there are none to tell apart."""
    found = sorted({t.colour for picture in pictures for t in picture.things if t.colour is not None})
    if len(found) < 2:
        raise BadFolder(f"the annotations say {len(found)} colours of things (`colour`); a head of them needs two")
    return tuple(found)


def _entries(data: Mapping[str, Any], key: str, file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """A list's entries, each after what to call it in messages."""
    entries = data.get(key)
    if not isinstance(entries, list):
        raise BadFolder(f"{file}: has no list of {key}")
    for number, one in enumerate(entries):
        if not isinstance(one, dict):
            raise BadFolder(f"{file}: {key}[{number}] is no JSON object")
    return [(f"{file}: {key}[{number}]", one) for number, one in enumerate(entries)]


def _of(one: Mapping[str, Any], key: str, kind: type[Any], where: str) -> Any:
    value = one.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadFolder(f"{where}: its {key} is {value!r}, and should be {_SAID[kind]}")
    return value


_SAID: dict[type[Any], str] = {int: "a whole number", str: "a text"}


def _box(
    one: Mapping[str, Any], where: str, image: tuple[str, Mapping[str, Any]]
) -> tuple[float, float, float, float]:
    box = one.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(side, int | float) for side in box):
        raise BadFolder(f"{where}: its bbox is {box!r}, and should be four numbers: x, y, width, height")
    width, height = (_of(image[1], side, int, image[0]) for side in ("width", "height"))
    if width < 1 or height < 1:
        raise BadFolder(f"{image[0]}: it is {width} by {height} pixels")
    x, y, wide, high = box
    x0, x1 = (min(max(at / width, 0.0), 1.0) for at in (x, x + wide))
    y0, y1 = (min(max(at / height, 0.0), 1.0) for at in (y, y + high))
    return x0, y0, x1, y1


def _colour(one: Mapping[str, Any], where: str, plain: str | None) -> str | None:
    """The colour of a thing, which other writers than t2i spell `color`."""
    colour = one.get("colour", one.get("color"))
    if colour is not None and not isinstance(colour, str):
        raise BadFolder(f"{where}: its colour is {colour!r}, and should be a text, or null where it has none")
    return plain if colour is None else colour
