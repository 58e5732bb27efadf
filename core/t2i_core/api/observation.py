"""The base class of observations, which are answers of judges, and the registry of capabilities.

Each capability is one class of observations. Core's are in modules of the same name in `capabilities`, imported at
first use.
A capability of a plugin registers when the plugin imports its class.
"""

from __future__ import annotations

import json
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from math import inf
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .errors import did_you_mean
from .judge import Query
from .prompt import ObjectClass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .image import Image

Labels = tuple[ObjectClass, ...]

ONE = (1, 1)
ANY = (0, inf)
SOME = (1, inf)
"""Numbers of texts or images, for `QueryShape`."""

_OWN = f"{__package__}.capabilities"
_CLASSES: dict[str, type[Observation]] = {}


@cache
def _list_own() -> tuple[str, ...]:
    """Return the names of core's capabilities without importing their modules."""
    return tuple(sorted(module.name for module in iter_modules([str(Path(__file__).parent / "capabilities")])))


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


@dataclass(frozen=True)
class QueryShape:
    """The number of images and texts in a query.

    Attributes:
        images: The number of images, or the smallest and the largest number; `math.inf` for no limit.
        texts: The smallest and the largest number of texts, likewise.
        role: What the texts are, for documents (`the prompt`).
    """

    images: int | tuple[float, float] = 0
    texts: tuple[float, float] = (0, 0)
    role: str = ""

    @property
    def fewest_images(self) -> int:
        """The smallest number of images."""
        return self.images if isinstance(self.images, int) else int(self.images[0])

    def holds(self, images: int, texts: int) -> bool:
        """Return whether a query of that many images and texts has this shape."""
        low, high = (self.images, self.images) if isinstance(self.images, int) else self.images
        return low <= images <= high and self.texts[0] <= texts <= self.texts[1]

    def describe_images(self) -> str:
        """Return the number of images in words."""
        return f"{self.fewest_images or 'none'}{'' if isinstance(self.images, int) else ' or more'}"

    def describe_texts(self) -> str:
        """Return the texts in words."""
        if self.texts[1] == 0:
            return "none"
        return self.role if self.texts[0] else f"none, or {self.role}"


class Observation(ABC):
    """Base class of a judge's answer to one query.

    Each subclass is a frozen dataclass that defines one capability:

        @dataclass(frozen=True)
        class Sharpness(Observation, capability="sharpness"):
            value: float

    It registers when it is defined. Import numpy inside its methods if a plugin's light module imports the class.

    Attributes:
        capability: The name of the capability, given as keyword of the class.
        queries: The shapes that its queries may have.
        extras: Names of optional fields that a judge may fill, as used in `JudgeInfo.capabilities` and
            `Need.requires`.
        judged: True if a judge answers; False if core itself does, and a `Need` derives its numbers.
        has_floor: True if judges drop objects with a confidence below `JudgeInfo.floor`.
    """

    capability: ClassVar[str]
    queries: ClassVar[tuple[QueryShape, ...]] = (QueryShape(images=1),)
    extras: ClassVar[tuple[str, ...]] = ()
    judged: ClassVar[bool] = True
    has_floor: ClassVar[bool] = False

    def __init_subclass__(cls, capability: str | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        name = capability or vars(cls).get("capability")  # a dataclass with slots is made a second time
        if name is None:
            return
        known = _CLASSES.get(name)
        owner = f"{_OWN}.{name}" if name in _list_own() else known and _full_name(known)
        if owner and owner not in (cls.__module__, _full_name(cls)):
            raise TypeError(f"{_full_name(cls)}: the capability {name!r} is {owner} already; choose another name")
        cls.capability = name
        _CLASSES[name] = cls

    def check_fields(self) -> None:  # noqa: B027 - most have nothing that the stored form could alter
        """Raise if the stored form would silently change a field. Called on the judge's answer.

        Raises:
            TypeError: If a field is of the wrong type.
            ValueError: If a field has a wrong value or shape.
        """

    def check(self, query: Query) -> None:  # noqa: B027 - finite numbers alone are enough for some
        """Raise if this cannot be an answer to the query.

        Called on the observation read back from its stored form. Its numbers and arrays are finite.

        Raises:
            ValueError: If values are out of range or do not fit each other or the query.
        """

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: by default the fields as a JSON list.

        Args:
            labels: The classes that the judge declares. Labels are stored only if it declares none.
        """
        return json.dumps([getattr(self, field.name) for field in fields(self)]).encode()  # type: ignore[arg-type]

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation from its stored form.

        Args:
            data: The stored form.
            labels: The classes that the judge declares; None if it declares none.
        """
        return cls(*json.loads(data))

    @classmethod
    @abstractmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return a valid answer to a query, for tests of metrics, that has everything in `extras`.

        Args:
            query: The query.
            colour: The mean colour of its first image, 3 numbers from 0 to 255; if it has no image, they stand
                for its text. The answer should change with them.
            labels: Two classes.
        """

    @classmethod
    def sample_queries(cls, images: Sequence[Image], text: str) -> list[Query]:
        """Return valid queries, for tests of judges.

        By default there is one of each shape for each image, with the images that follow it if there are several.

        Args:
            images: The images.
            text: The text; a capability that takes several gets a second one.
        """
        return [query for shape in cls.queries for query in _make_queries(shape, images, text)]


def _make_queries(shape: QueryShape, images: Sequence[Image], text: str) -> list[Query]:
    least, most = shape.texts
    texts = (text, "another caption")[: 2 if least and most > 1 else int(least)]
    if not shape.fewest_images:
        return [Query((), texts)]
    first, after = range(len(images)), range(shape.fewest_images)
    return [Query(tuple(images[(i + n) % len(images)] for n in after), texts) for i in first]


class StackableObservation(Observation):
    """Base class of observations that hold one array: those of many images can be read as one stacked array."""

    @classmethod
    @abstractmethod
    def stacked(cls, data: Sequence[bytes], labels: Labels | None) -> Self:
        """Read several stored forms as one observation, its array of shape (len(data), ...).

        Raises:
            ValueError: If they do not fit each other.
        """


@dataclass(frozen=True)
class Pixels(Observation, capability="pixels"):
    """Confirmation that an image exists and can be read. `Need.derive` computes the numbers."""

    judged = False

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form, which is empty because the image itself is stored."""
        return b""

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        return cls()

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return the only possible answer."""
        return cls()


def find_capability(name: str) -> type[Observation]:
    """Return the class of a capability. Raises ValueError, with the nearest names, if the name is unknown."""
    if name not in _CLASSES:
        if name not in _list_own():
            raise ValueError(f"unknown capability {name!r}{did_you_mean(name, list_capabilities())}")
        import_module(f"{_OWN}.{name}")
    return _CLASSES[name]


def list_capabilities() -> tuple[str, ...]:
    """Return the names of the capabilities of core and of imported plugins that judges can offer."""
    others = (name for name, cls in _CLASSES.items() if cls.judged)
    return tuple(dict.fromkeys((*_list_own(), *others)))


def check_number(name: str, value: Any) -> None:
    """Raise TypeError if a field is not a number."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"gave a {name} of type {type(value).__name__}; it must be a number")


def check_text(name: str, value: Any) -> None:
    """Raise TypeError if a field is not a text."""
    if not isinstance(value, str):
        raise TypeError(f"gave a {name} of type {type(value).__name__}; it must be a text")
