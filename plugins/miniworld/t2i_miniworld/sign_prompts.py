"""Prompts that ask for words on signs and boards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from t2i_core.api.prompt import ObjectClass, Prompt, Scene, SceneObject

from t2i_miniworld.palette import PAINTS
from t2i_miniworld.sign_classes import BOARD, SIGN, TEXT
from t2i_miniworld.streams import stream

EACH = 16
"""Number of prompts of each kind."""

PAINTED = 0.4
"""Probability that a sign has a paint."""

_WORDS = (
    "STOP", "OPEN", "EXIT", "TAXI", "HOTEL", "BAKERY", "MUSEUM", "LIBRARY", "STATION", "GARDEN", "MARKET",
    "BRIDGE", "PLATFORM", "BICYCLES", "TICKETS", "HARBOUR", "LEFT", "RIGHT", "NORTH", "SOUTH",
)  # fmt: skip
_PHRASES = (
    "NO PARKING", "WET PAINT", "KEEP CLEAR", "FRESH BREAD", "BOOK SALE TODAY", "MIND THE STEP", "SOUP OF THE DAY",
    "CLOSED ON MONDAY", "QUIET PLEASE", "CITY CENTRE", "ROAD WORKS AHEAD", "TICKETS AND MAPS", "COFFEE TO GO",
    "LOST AND FOUND", "MEETING AT NOON", "PLATFORM TWO", "PLEASE RING TWICE", "HOME MADE JAM", "TWO FOR ONE",
    "WATCH THE GAP",
)  # fmt: skip


def prompts() -> Iterator[Prompt]:
    """Yield 16 prompts with a single word, 16 with a phrase and 16 with a word on each of two signs."""
    for number, at in enumerate(stream("signs-mini", "word").permutation(len(_WORDS))[:EACH]):
        yield _write("one word", [_draw_sign(_WORDS[at], stream("signs-mini", "word", number))])
    for number, at in enumerate(stream("signs-mini", "phrase").permutation(len(_PHRASES))[:EACH]):
        yield _write("a phrase", [_draw_sign(_PHRASES[at], stream("signs-mini", "phrase", number))])
    for number in range(EACH):
        rng = stream("signs-mini", "two", number)
        first, second = rng.choice(len(_WORDS), 2, replace=False).tolist()
        yield _write("two signs", [_draw_sign(_WORDS[first], rng), _draw_sign(_WORDS[second], rng)])


def _draw_sign(text: str, rng: np.random.Generator) -> SceneObject:
    cls: ObjectClass = (SIGN, BOARD)[int(rng.integers(2))]
    painted, paint = rng.random(), int(rng.integers(len(PAINTS)))
    colour = tuple(PAINTS)[paint] if cls is SIGN and painted < PAINTED else None
    return SceneObject(cls, colour, attributes={TEXT: text})


def _write(shows: str, signs: list[SceneObject]) -> Prompt:
    words = [[*filter(None, [one.colour]), one.cls.name] for one in signs]
    texts = [one.attributes[TEXT] for one in signs]
    named = [f'a {" ".join(own)} that says "{text}"' for own, text in zip(words, texts, strict=True)]
    parts = [part for own, text in zip(words, texts, strict=True) for part in (*own, *text.lower().split())]
    return Prompt("-".join(parts), " and ".join(named), Scene(tuple(signs)), {"shows": shows})
