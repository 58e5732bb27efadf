"""Prompts and their expected scenes, so that no metric ever parses English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

from .digest import digest_data

if TYPE_CHECKING:
    from .prompt_question import PromptQuestion

RESERVED = frozenset(
    {"metric", "model", "model_a", "model_b", "prompt", "text", "cluster", "seed", "seeds", "left_out"}
    | {"measure", "value", "because", "by"}
)
"""Columns of the measurement table, whose names facets may not have."""


def is_writable(name: str) -> bool:
    """Return whether tables can store a name, which must have no NUL and no half of a surrogate pair."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name


def find_invalid_facet(facets: Mapping[str, Any]) -> str | None:
    """Return the name of a facet that is neither a text for tables nor a finite number; None if all fit."""
    for name, value in facets.items():
        fits = is_writable(value) if isinstance(value, str) else isinstance(value, int) or _finite(value)
        if not (fits and is_writable(name)):
            return name
    return None


def _finite(value: Any) -> bool:
    return isinstance(value, Real) and isfinite(value)


@dataclass(frozen=True)
class ObjectClass:
    """A class of objects.

    Names differ between domains (bike, bicycle; human, person), so classes are equal if their synsets are. A class
    without a synset (a judge with free labels) is compared by name.

    Attributes:
        name: The name that a prompt uses.
        synset: The WordNet 3.0 synset, such as `car.n.01`.
    """

    name: str
    synset: str | None = None

    def same_as(self, other: ObjectClass) -> bool:
        """Return whether both are the same class: by synset if both have one, else by name."""
        if self.synset and other.synset:
            return self.synset == other.synset
        return self.name == other.name


@dataclass(frozen=True)
class SceneObject:
    """One expected object.

    Attributes:
        cls: Its class.
        colour: Its colour, if the prompt names one.
        count: Number of such objects, at least 1.
        attributes: Its attributes, if the prompt names any.
    """

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
    """The scene that an image of a prompt must show.

    Attributes:
        objects: The objects, in the order in which the prompt names them.
        relations: Relations between them.
    """

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
        """Return the scene that `to_json` wrote.

        Raises:
            KeyError: If a field is missing.
            TypeError: If a field has the wrong type.
            ValueError: If a field has an impossible value or is unknown.
        """
        if not isinstance(data, Mapping):
            raise TypeError("must be an object with the field 'objects'")
        _refuse_unknown(data, ("objects", "relations"), "scene")
        objects = tuple(_parse_object(o, f"objects[{n}]") for n, o in enumerate(data["objects"]))
        relations = tuple(_parse_relation(r, f"relations[{n}]") for n, r in enumerate(data.get("relations") or ()))
        return cls(objects, relations)


def _parse_object(data: Mapping[str, Any], where: str) -> SceneObject:
    _refuse_unknown(data, [f.name for f in fields(SceneObject)], where)
    _refuse_unknown(data["cls"], [f.name for f in fields(ObjectClass)], f"{where}.cls")
    return SceneObject(
        cls=ObjectClass(**data["cls"]),
        colour=data.get("colour"),
        count=_parse_count(data.get("count", 1), where),
        attributes=dict(data.get("attributes") or {}),
    )


def _parse_relation(data: Mapping[str, Any], where: str) -> Relation:
    _refuse_unknown(data, [f.name for f in fields(Relation)], where)
    return Relation(**data)


def _refuse_unknown(data: Any, known: Sequence[str], where: str) -> None:
    """Refuse unknown fields, which are usually misspelt."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{where}: must be an object with {', '.join(known)}")
    unknown = [str(name) for name in data if name not in known]
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]!r}; known are {', '.join(known)}")


def _parse_count(count: Any, where: str) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{where}: count: must be a whole number from 1 (got {count!r})")
    return count


@dataclass(frozen=True)
class Prompt:
    """A text to be drawn, with its expected scene.

    Attributes:
        id: Unique in its list; shown in tables and used to pair models.
        text: The text that the generator gets.
        scene: The scene that the image must show, if it is known.
        facets: Facets by which scores can be reported.
        images: Paths of images that belong to the prompt itself (a likelihood is asked of these).
        texts: Candidate captions of those images.
        answer: Index of the right caption in `texts`.
        cluster: Prompts of one cluster are resampled together. If None, each prompt is its own cluster.
        references: Captions of one image, of which `text` may be one; captions of generated images are compared
            with them.
        questions: What is asked about its images, with the right answers.
    """

    id: str
    text: str
    scene: Scene | None = None
    facets: Mapping[str, str | int | float] = field(default_factory=dict)
    images: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    answer: int | None = None
    cluster: str | None = None
    references: tuple[str, ...] = ()
    questions: tuple[PromptQuestion, ...] = ()

    @property
    def cluster_id(self) -> str:
        """The cluster's name, the prompt's own id by default."""
        return self.cluster if self.cluster is not None else self.id

    @cached_property
    def text_digest(self) -> str:
        """SHA-256 (hex) of the text, for generators that read only texts."""
        return digest_data(["text", self.text])

    @cached_property
    def scene_digest(self) -> str:
        """SHA-256 (hex) of text and scene, for generators that draw the scene."""
        return digest_data(["scene", self.text, self.scene.to_json() if self.scene else None])
