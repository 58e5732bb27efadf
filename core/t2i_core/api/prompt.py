"""Prompts, and what a prompt expects: no metric ever parses English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any

from .digest import digest_data

RESERVED = frozenset(
    {"metric", "model", "model_a", "model_b", "prompt", "text", "cluster", "seed", "seeds", "left_out"}
    | {"measure", "value", "because"}
)
"""Columns of the measured table, which no facet may be named after."""


def is_writable(name: str) -> bool:
    """Whether tables can hold a name: NUL ends a cell for its readers, UTF-8 has no half of a surrogate pair."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name


def find_invalid_facet(facets: Mapping[str, Any]) -> str | None:
    """Return the name of a facet that is neither a text that tables can hold nor a finite number, if any is."""
    for name, value in facets.items():
        fits = is_writable(value) if isinstance(value, str) else isinstance(value, int) or _finite(value)
        if not (fits and is_writable(name)):
            return name
    return None


def _finite(value: Any) -> bool:
    return isinstance(value, Real) and isfinite(value)


@dataclass(frozen=True)
class ObjectClass:
    """A class of objects: the name a prompt uses, and the WordNet 3.0 noun synset that settles it.

    Names differ between worlds (bike, bicycle; human, person); two classes are the same when their synsets are.
    A class that has no synset (a judge with free labels) is compared by name.
    """

    name: str
    synset: str | None = None

    def same_as(self, other: ObjectClass) -> bool:
        """Whether both name the same thing: by synset where both have one, else by name."""
        if self.synset and other.synset:
            return self.synset == other.synset
        return self.name == other.name


@dataclass(frozen=True)
class SceneObject:
    """One expected object: its class, and its colour, number and attributes where the prompt says them."""

    cls: ObjectClass
    colour: str | None = None
    count: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Relation:
    """`objects[subject]` is `predicate` (left, right, above, below) of `objects[object]`."""

    subject: int
    predicate: str
    object: int


@dataclass(frozen=True)
class Scene:
    """What an image of a prompt must show, objects in the order in which the prompt names them."""

    objects: tuple[SceneObject, ...]
    relations: tuple[Relation, ...] = ()

    @property
    def classes(self) -> tuple[ObjectClass, ...]:
        """The expected classes, in the prompt's order."""
        return tuple(o.cls for o in self.objects)

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal scene."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scene:
        """Read what `to_json` wrote.

        Raises KeyError, TypeError or ValueError where a field is missing, bad or unknown.
        """
        if not isinstance(data, Mapping):
            raise TypeError("want an object with 'objects'")
        _only(data, ("objects", "relations"), "scene")
        objects = tuple(_object(o, f"objects[{n}]") for n, o in enumerate(data["objects"]))
        relations = tuple(_relation(r, f"relations[{n}]") for n, r in enumerate(data.get("relations") or ()))
        return cls(objects, relations)


def _object(data: Mapping[str, Any], where: str) -> SceneObject:
    _only(data, [f.name for f in fields(SceneObject)], where)
    _only(data["cls"], [f.name for f in fields(ObjectClass)], f"{where}.cls")
    return SceneObject(
        cls=ObjectClass(**data["cls"]),
        colour=data.get("colour"),
        count=_number(data.get("count", 1), where),
        attributes=dict(data.get("attributes") or {}),
    )


def _relation(data: Mapping[str, Any], where: str) -> Relation:
    _only(data, [f.name for f in fields(Relation)], where)
    return Relation(**data)


def _only(data: Any, known: Sequence[str], where: str) -> None:
    """Refuse a field that nobody reads: most often it is misspelt."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{where}: want an object with {', '.join(known)}")
    unknown = [str(name) for name in data if name not in known]
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]!r}; known are {', '.join(known)}")


def _number(count: Any, where: str) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{where}: count: want a whole number from 1, not {count!r}")
    return count


@dataclass(frozen=True)
class Prompt:
    """A text to be drawn, with what is known about it.

    id:       unique in its list; shown in tables and used to pair models
    text:     sent to the generator as it is
    scene:    what the image must show, where known
    facets:   what scores can be broken down by
    images:   paths of images that belong to the prompt itself (a likelihood is asked of these)
    texts:    candidate captions of those images
    answer:   index of the right one among `texts`
    cluster:  what is resampled as one when prompts are resampled; the prompt itself unless it says otherwise
    """

    id: str
    text: str
    scene: Scene | None = None
    facets: Mapping[str, str | int | float] = field(default_factory=dict)
    images: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    answer: int | None = None
    cluster: str | None = None

    @property
    def cluster_id(self) -> str:
        """The cluster's name, the prompt's own id by default."""
        return self.cluster if self.cluster is not None else self.id

    @cached_property
    def text_digest(self) -> str:
        """SHA-256 of the text: what a generator that reads only texts depends on."""
        return digest_data(["text", self.text])

    @cached_property
    def scene_digest(self) -> str:
        """SHA-256 of text and scene: what a generator that draws the expectation depends on."""
        return digest_data(["scene", self.text, self.scene.to_json() if self.scene else None])
