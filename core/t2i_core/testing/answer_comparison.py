"""Comparison of answers, and the ways in which checks get them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image as PILImage

from ..api.budget import Budget
from ..api.failure import Failure
from ..api.generator import Generated
from ..api.mask import PackedMask, count_shared_pixels
from ..engine.answer_stream import stream_answers
from ..engine.component import Component
from ..engine.generation import find_image_fault

LONG = "a photo of a dog and " * 300
FEW, SHARE = 4, 0.05
"""Number of pixels of a mask, and share of its pixels, that may differ if a tolerance is set."""
CHANCES = (20_011, 77_003, 314_159, 5_000_011, 123_456_789, 4_000_000_007)
"""Seeds of global random number generators. Small lists may be the same for two, so prompts try all of them."""
ODD_TEXTS = ("", " \t", LONG, "🦒 \u202eمرحبا\u202c \x07 <b>\\n</b>")
"""Prompts that nobody should send and somebody will: empty, far too long, and with characters of every kind."""


@contextmanager
def make_component(
    component: Component[Any], batch_size: int | None = None, budget: Budget | None = None
) -> Iterator[Any]:
    """Create a model or judge, and close it at the end, as core does."""
    setup = component.setup(batch_size=batch_size)
    instance = component.info.create(replace(setup, budget=budget or setup.budget))
    try:
        yield instance
    finally:
        if hasattr(instance, "close"):
            instance.close()


def collect_answers(
    work: Callable[[Iterable[Any]], Iterable[tuple[Any, Any]]], items: Sequence[Any], who: str = "it"
) -> list[Any]:
    """Ask as core asks.

    Returns:
        The answers in the order of the items, with a Failure for each item that has none.

    Raises:
        BrokenPlugin: If an answer names none of the items, or the plugin stops before it has taken all of them.
    """
    found = {id(item): answer for item, answer in stream_answers(lambda each: iter(work(each)), items, who)}
    return [found[id(item)] for item in items]


def collect_answers_at_once(
    work: Callable[[Iterable[Any]], Iterable[tuple[Any, Any]]], items: Sequence[Any]
) -> list[Any]:
    """Ask once, without a second try, and return the answers in the order of the items."""
    found = dict(_yield_by_identity(work(iter(items))))
    assert found.keys() == {id(item) for item in items}, "not every item has an answer"
    return [found[id(item)] for item in items]


def _yield_by_identity(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[int, Any]]:
    """Yield the id of each asked object with its answer; an object answered twice fails."""
    seen: set[int] = set()
    for asked, answer in pairs:
        assert id(asked) not in seen, "answered twice"
        seen.add(id(asked))
        yield id(asked), answer


def disturb_chance(number: int) -> None:
    """Set the seed of every global random number generator; no result may depend on them."""
    random.seed(number)
    np.random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def get_pixels(answer: Any) -> NDArray[np.float64]:
    """Return the pixels of an answer as floats (a file's bytes if it is a path); none for a failure."""
    if isinstance(answer, Failure):
        return np.empty(0)
    image = answer.image
    if isinstance(image, Path):
        return np.frombuffer(image.read_bytes(), np.uint8).astype(float)
    return np.asarray(image, dtype=float)


def find_fault(answer: Generated) -> str | None:
    """Return why core would not store an image; None if it would. A file is checked when it is judged."""
    image = answer.image
    if isinstance(image, Path):
        return None
    return find_image_fault(
        np.asarray(image.convert("RGB")) if isinstance(image, PILImage) else image, answer.truth
    )


def assert_same_images(some: Iterable[Any], others: Iterable[Any], tolerance: float, asked: str) -> None:
    """Compare generators' answers, pixel by pixel.

    Args:
        some: Answers.
        others: Answers to the same requests.
        tolerance: Largest difference of a pixel, 0 to 255.
        asked: How the others were asked for, for the message.
    """
    for a, b in zip(some, others, strict=True):
        left, right = get_pixels(a), get_pixels(b)
        np.testing.assert_allclose(left, right, atol=tolerance, err_msg=f"{asked}, the image differs")


def assert_close(a: Any, b: Any, tolerance: float, asked: str) -> None:
    """Compare two answers of a judge field by field.

    Args:
        a: An answer.
        b: An answer to the same query.
        tolerance: Largest difference of numbers, relative to the largest.
        asked: How the second was asked for, for the message.
    """
    assert type(a) is type(b), f"{asked}, the answer is of another type"
    for name in a.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        message = f"{asked}, the answer's {name} differ"
        if isinstance(left, Mapping):
            assert left.keys() == right.keys(), message
            for key in left:
                _assert_close_values(left[key], right[key], tolerance, message)
        else:
            _assert_close_values(left, right, tolerance, message)


def _assert_close_values(a: Any, b: Any, tolerance: float, message: str) -> None:
    if isinstance(a, float | np.ndarray) and np.size(a):
        scale = float(np.abs(a).max()) or 1.0
        np.testing.assert_allclose(a, b, atol=tolerance * scale, rtol=0, err_msg=message)
    elif isinstance(a, np.ndarray):
        assert np.shape(a) == np.shape(b), message
    elif tolerance and isinstance(a, tuple) and all(isinstance(each, PackedMask) for each in (*a, *b)):
        assert len(a) == len(b), message
        for one, other in zip(a, b, strict=True):
            _assert_alike(one, other, message)
    else:
        assert a == b, message


def _assert_alike(a: PackedMask, b: PackedMask, message: str) -> None:
    """Compare masks; a few pixels at the border may differ, because they depend on rounding."""
    assert a.size == b.size, message
    both = count_shared_pixels(a, b)
    apart = a.area() + b.area() - 2 * both
    assert apart <= max(FEW, SHARE * (both + apart)), f"{message}: masks differ in {apart} pixels and share {both}"
