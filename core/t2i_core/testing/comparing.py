"""Whether answers are the same, and how checks get them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..components import Component
from ..evaluation.streaming import answered
from ..generation import Failure
from ..masks import PackedMask, intersection

LONG = "a photo of a dog and " * 1000
FEW, SHARE = 4, 0.05
"""Pixels of a mask, and their share of it, that may differ where numbers may."""
ODD_TEXTS = ("", " \t", LONG, "🦒 \u202eمرحبا\u202c \x07 <b>\\n</b>")
"""What nobody should send and somebody will: nothing, far too much, and signs of every kind."""


@contextmanager
def made(component: Component[Any], batch_size: int | None = None) -> Iterator[Any]:
    """Make a model or judge anew, and let it go in the end, as core does."""
    instance = component.info.create(component.setup(batch_size=batch_size))
    try:
        yield instance
    finally:
        if hasattr(instance, "close"):
            instance.close()


def answers_to(
    work: Callable[[Iterable[Any]], Iterable[tuple[Any, Any]]], items: Sequence[Any], who: str = "it"
) -> list[Any]:
    """Ask as core asks: return the answers in the order of the items, a Failure for each item that has none.

    Raises BrokenPlugin where an answer is to none of them, or where it stops before all are taken.
    """
    found = {id(item): answer for item, answer in answered(lambda each: iter(work(each)), items, who)}
    return [found[id(item)] for item in items]


def answers_at_once(work: Callable[[Iterable[Any]], Iterable[tuple[Any, Any]]], items: Sequence[Any]) -> list[Any]:
    """Ask once, with no second try: return the answers in the order of the items, one to each."""
    found = dict(_by_identity(work(iter(items))))
    assert found.keys() == {id(item) for item in items}, "not every item has an answer"
    return [found[id(item)] for item in items]


def _by_identity(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[int, Any]]:
    """Key answers by the very object that they answer; none may be answered twice."""
    seen: set[int] = set()
    for asked, answer in pairs:
        assert id(asked) not in seen, "answered twice"
        seen.add(id(asked))
        yield id(asked), answer


def disturb_chance(number: int) -> None:
    """Set every global generator of chance, on which nothing may depend."""
    random.seed(number)
    np.random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def pixels_of(answer: Any) -> NDArray[np.float64]:
    """The pixels of an answer as float (of a file, its bytes); a failure has none."""
    if isinstance(answer, Failure):
        return np.empty(0)
    image = answer.image
    if isinstance(image, Path):
        return np.frombuffer(image.read_bytes(), np.uint8).astype(float)
    return np.asarray(image, dtype=float)


def assert_same_images(some: Iterable[Any], others: Iterable[Any], tolerance: float) -> None:
    """Compare answers of generators, pixel by pixel, from 0 to 255."""
    for a, b in zip(some, others, strict=True):
        np.testing.assert_allclose(pixels_of(a), pixels_of(b), atol=tolerance)


def assert_close(a: Any, b: Any, tolerance: float) -> None:
    """Compare two answers of a judge field by field, numbers relative to the largest."""
    assert type(a) is type(b)
    for name in a.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        if isinstance(left, Mapping):
            assert left.keys() == right.keys()
            for key in left:
                _assert_close_values(left[key], right[key], tolerance)
        else:
            _assert_close_values(left, right, tolerance)


def _assert_close_values(a: Any, b: Any, tolerance: float) -> None:
    if isinstance(a, float | np.ndarray) and np.size(a):
        scale = float(np.abs(a).max()) or 1.0
        np.testing.assert_allclose(a, b, atol=tolerance * scale, rtol=0)
    elif isinstance(a, np.ndarray):
        assert np.shape(a) == np.shape(b)
    elif tolerance and isinstance(a, tuple) and all(isinstance(each, PackedMask) for each in (*a, *b)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            _assert_alike(one, other)
    else:
        assert a == b


def _assert_alike(a: PackedMask, b: PackedMask) -> None:
    """Compare masks but for what a rounded number decides: a few pixels at the border."""
    assert a.size == b.size
    both = intersection(a, b)
    apart = a.area() + b.area() - 2 * both
    assert apart <= max(FEW, SHARE * (both + apart)), f"masks differ in {apart} pixels and share {both}"
