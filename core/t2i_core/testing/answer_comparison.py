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
from PIL.Image import Image as PILImage

from ..api.failure import Failure
from ..api.generator import Generated
from ..api.mask import PackedMask, count_shared_pixels
from ..engine.answer_stream import stream_answers
from ..engine.component import Component
from ..engine.generation import find_image_fault

LONG = "a photo of a dog and " * 1000
FEW, SHARE = 4, 0.05
"""Pixels of a mask, and their share of it, that may differ where numbers may."""
CHANCES = (20_011, 77_003, 314_159, 5_000_011, 123_456_789, 4_000_000_007)
"""Seeds of the chance that all share; two may give the same where little is drawn, so that prompts try all."""
ODD_TEXTS = ("", " \t", LONG, "🦒 \u202eمرحبا\u202c \x07 <b>\\n</b>")
"""What nobody should send and somebody will: nothing, far too much, and signs of every kind."""


@contextmanager
def make_component(component: Component[Any], batch_size: int | None = None) -> Iterator[Any]:
    """Make a model or judge anew, and let it go in the end, as core does."""
    instance = component.info.create(component.setup(batch_size=batch_size))
    try:
        yield instance
    finally:
        if hasattr(instance, "close"):
            instance.close()


def collect_answers(
    work: Callable[[Iterable[Any]], Iterable[tuple[Any, Any]]], items: Sequence[Any], who: str = "it"
) -> list[Any]:
    """Ask as core asks: return the answers in the order of the items, a Failure for each item that has none.

    Raises BrokenPlugin where an answer is to none of them, or where it stops before all are taken.
    """
    found = {id(item): answer for item, answer in stream_answers(lambda each: iter(work(each)), items, who)}
    return [found[id(item)] for item in items]


def collect_answers_at_once(
    work: Callable[[Iterable[Any]], Iterable[tuple[Any, Any]]], items: Sequence[Any]
) -> list[Any]:
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


def get_pixels(answer: Any) -> NDArray[np.float64]:
    """The pixels of an answer as float (of a file, its bytes); a failure has none."""
    if isinstance(answer, Failure):
        return np.empty(0)
    image = answer.image
    if isinstance(image, Path):
        return np.frombuffer(image.read_bytes(), np.uint8).astype(float)
    return np.asarray(image, dtype=float)


def find_fault(answer: Generated) -> str | None:
    """Say why core would not keep an image, if so: a file's pixels are looked at when they are judged."""
    image = answer.image
    if isinstance(image, Path):
        return None
    return find_image_fault(
        np.asarray(image.convert("RGB")) if isinstance(image, PILImage) else image, answer.truth
    )


def assert_same_images(some: Iterable[Any], others: Iterable[Any], tolerance: float, asked: str) -> None:
    """Compare answers of generators, pixel by pixel, from 0 to 255.

    asked: how the others were asked for, for the message
    """
    for a, b in zip(some, others, strict=True):
        left, right = get_pixels(a), get_pixels(b)
        np.testing.assert_allclose(left, right, atol=tolerance, err_msg=f"{asked}, the image differs")


def assert_close(a: Any, b: Any, tolerance: float, asked: str) -> None:
    """Compare two answers of a judge field by field, numbers relative to the largest.

    asked: how the second was asked for, for the message
    """
    assert type(a) is type(b), f"{asked}, the answer is of another type"
    for name in a.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        said = f"{asked}, the answer's {name} differ"
        if isinstance(left, Mapping):
            assert left.keys() == right.keys(), said
            for key in left:
                _assert_close_values(left[key], right[key], tolerance, said)
        else:
            _assert_close_values(left, right, tolerance, said)


def _assert_close_values(a: Any, b: Any, tolerance: float, said: str) -> None:
    if isinstance(a, float | np.ndarray) and np.size(a):
        scale = float(np.abs(a).max()) or 1.0
        np.testing.assert_allclose(a, b, atol=tolerance * scale, rtol=0, err_msg=said)
    elif isinstance(a, np.ndarray):
        assert np.shape(a) == np.shape(b), said
    elif tolerance and isinstance(a, tuple) and all(isinstance(each, PackedMask) for each in (*a, *b)):
        assert len(a) == len(b), said
        for one, other in zip(a, b, strict=True):
            _assert_alike(one, other, said)
    else:
        assert a == b, said


def _assert_alike(a: PackedMask, b: PackedMask, said: str) -> None:
    """Compare masks but for what a rounded number decides: a few pixels at the border."""
    assert a.size == b.size, said
    both = count_shared_pixels(a, b)
    apart = a.area() + b.area() - 2 * both
    assert apart <= max(FEW, SHARE * (both + apart)), f"{said}: masks differ in {apart} pixels and share {both}"
