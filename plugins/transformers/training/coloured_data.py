"""Training data of coloured detectors: images with COCO annotations and a colour for each object."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api import ObjectClass
from t2i_core.api.errors import BadFolder
from t2i_core.api.text import describe_error
from t2i_transformers.class_names import read_class


@dataclass(frozen=True)
class LabelledThing:
    """One annotated object of an image.

    Attributes:
        cls: Class of the object.
        box: x0, y0, x1, y1 as shares of the image's width and height.
        colour: Colour, if it is known.
    """

    cls: ObjectClass
    box: tuple[float, float, float, float]
    colour: str | None


@dataclass(frozen=True)
class LabelledPicture:
    """An image file and its annotated objects."""

    file: Path
    things: tuple[LabelledThing, ...]


def find_annotations(images: Path) -> Path:
    """Return where the sink `coco-annotations` writes those of a folder of images: RUN/annotations/MODEL.json."""
    return images.resolve().parent.parent / "annotations" / f"{images.resolve().name}.json"


def read(images: Path, annotations: Path, plain: str | None = None) -> list[LabelledPicture]:
    """Read COCO annotations; leave out crowds, boxes without area, and images without objects.

    Args:
        images: Folder of the images.
        annotations: JSON file.
        plain: Colour of objects without one; if None, their colour is unknown.

    Raises:
        BadFolder: The annotations are not valid; the message names the file and the entry.
    """
    try:
        data = json.loads(annotations.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFolder(f"{annotations}: COCO annotations cannot be read ({describe_error(error)})") from error
    if not isinstance(data, dict):
        raise BadFolder(f"{annotations}: must be a JSON object with images, categories and annotations")
    classes = {
        _read_field(one, "id", int, where): read_class(_read_field(one, "name", str, where), one.get("synset"))
        for where, one in _entries(data, "categories", annotations)
    }
    shown: dict[int, list[LabelledThing]] = {}
    known = {
        _read_field(one, "id", int, where): (where, one) for where, one in _entries(data, "images", annotations)
    }
    for where, one in _entries(data, "annotations", annotations):
        image, category = _read_field(one, "image_id", int, where), _read_field(one, "category_id", int, where)
        if image not in known:
            raise BadFolder(f"{where}: image_id {image} is not among the images")
        if category not in classes:
            raise BadFolder(f"{where}: category_id {category} is not among the categories")
        box = _box(one, where, known[image])
        if not one.get("iscrowd") and box[0] < box[2] and box[1] < box[3]:
            shown.setdefault(image, []).append(LabelledThing(classes[category], box, _colour(one, where, plain)))
    pictures = [
        LabelledPicture(images / _read_field(one, "file_name", str, where), tuple(shown[number]))
        for number, (where, one) in known.items()
        if number in shown
    ]
    if not pictures:
        raise BadFolder(f"{annotations}: no image has an annotated object")
    if missing := [picture.file for picture in pictures if not picture.file.is_file()]:
        raise BadFolder(
            f"{annotations}: {len(missing)} of its images are not in {images}, such as {missing[0].name}"
        )
    return pictures


def list_classes(pictures: Sequence[LabelledPicture]) -> tuple[ObjectClass, ...]:
    """Return the classes of all objects, sorted by name; one for each synset."""
    found: dict[str, ObjectClass] = {}
    for thing in (thing for picture in pictures for thing in picture.things):
        found.setdefault(thing.cls.synset or thing.cls.name, thing.cls)
    return tuple(sorted(found.values(), key=lambda one: one.name))


def list_colours(pictures: Sequence[LabelledPicture]) -> tuple[str, ...]:
    """Return the colours of all objects, sorted by name. Raises BadFolder if there are fewer than two."""
    found = sorted({t.colour for picture in pictures for t in picture.things if t.colour is not None})
    if len(found) < 2:
        raise BadFolder(f"the annotations must have at least two colours of objects (`colour`; got {len(found)})")
    return tuple(found)


def _entries(data: Mapping[str, Any], key: str, file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the entries of a list, each with its place for messages."""
    entries = data.get(key)
    if not isinstance(entries, list):
        raise BadFolder(f"{file}: the list {key!r} is missing")
    for number, one in enumerate(entries):
        if not isinstance(one, dict):
            raise BadFolder(f"{file}: {key}[{number}] must be a JSON object")
    return [(f"{file}: {key}[{number}]", one) for number, one in enumerate(entries)]


def _read_field(one: Mapping[str, Any], key: str, kind: type[Any], where: str) -> Any:
    value = one.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadFolder(f"{where}: {key} must be {_TYPE_NAMES[kind]} (got {value!r})")
    return value


_TYPE_NAMES: dict[type[Any], str] = {int: "a whole number", str: "a text"}


def _box(
    one: Mapping[str, Any], where: str, image: tuple[str, Mapping[str, Any]]
) -> tuple[float, float, float, float]:
    box = one.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(side, int | float) for side in box):
        raise BadFolder(f"{where}: bbox must be four numbers: x, y, width, height (got {box!r})")
    width, height = (_read_field(image[1], side, int, image[0]) for side in ("width", "height"))
    if width < 1 or height < 1:
        raise BadFolder(f"{image[0]}: width and height must be positive (got {width} by {height} pixels)")
    x, y, wide, high = box
    x0, x1 = (min(max(at / width, 0.0), 1.0) for at in (x, x + wide))
    y0, y1 = (min(max(at / height, 0.0), 1.0) for at in (y, y + high))
    return x0, y0, x1, y1


def _colour(one: Mapping[str, Any], where: str, plain: str | None) -> str | None:
    """Return the colour of an object; PaintSkills' files spell it `color`, and say `plain` of an unpainted one."""
    colour = one.get("colour", one.get("color"))
    if colour is not None and not isinstance(colour, str):
        raise BadFolder(f"{where}: colour must be a text or null (got {colour!r})")
    return plain if colour in (None, "plain") else colour
