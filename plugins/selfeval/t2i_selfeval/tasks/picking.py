"""Which of a data set's samples are taken: as many of each right answer as there are, in a seed's own order."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from t2i_core.api import Prompt
from t2i_core.api.errors import BadPrompts

from ..samples import Facets, choice


@dataclass(frozen=True)
class Draft:
    """A sample that may be taken.

    answer:  what is right about the right caption, where samples are to be spread over it: a colour, a number
    part:    the box of the image that is shown (x, y, width, height in pixels); all of it where there is none
    """

    id: str
    image: Path
    right: str
    wrong: tuple[str, ...]
    task: str
    answer: str = ""
    part: tuple[int, int, int, int] | None = None
    facets: Facets = field(default_factory=dict)


def ranked(seed: int, *key: str | int) -> bytes:
    """Where something stands in the order that a seed gives: the same anywhere, whatever stands beside it."""
    return hashlib.sha256(":".join(map(str, (seed, *key))).encode()).digest()


def drawn(seed: int, *key: str | int) -> random.Random:
    """A random stream named by what it decides."""
    return random.Random(ranked(seed, *key))


def picked(drafts: Iterable[Draft], limit: int | None, seed: int) -> list[Draft]:
    """Of each task at most `limit`, spread evenly over the answers that are right.

    A larger limit holds every smaller one's.
    """
    levels: dict[str, dict[str, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for draft in drafts:
        levels[draft.task][draft.answer].append(draft)
    return [draft for by_answer in levels.values() for draft in _evenly(by_answer, seed)[:limit]]


def _evenly(by_answer: dict[str, list[Draft]], seed: int) -> list[Draft]:
    """One of each answer in turn, until none is left."""
    turns = []
    for answer, drafts in by_answer.items():
        drafts.sort(key=lambda draft: ranked(seed, draft.id))
        turns += [(turn, ranked(seed, "answer", answer), draft) for turn, draft in enumerate(drafts)]
    return [draft for *_, draft in sorted(turns, key=lambda turn: turn[:2])]


def samples(
    drafts: Iterable[Draft],
    source: str,
    where: str,
    limit: int | None,
    seed: int,
    shown: Callable[[Draft], Path] = lambda draft: draft.image,
) -> Iterator[Prompt]:
    """Yield the samples that are taken, the right caption in each place as often as in any other.

    where:  the folder or file, for messages
    shown:  gives the image that is really shown

    Raises BadPrompts where there is none.
    """
    chosen = picked(drafts, limit, seed)
    if not chosen:
        raise BadPrompts(f"{where}: holds no sample of what was asked for")
    count: dict[int, int] = defaultdict(int)
    for draft in chosen:
        if not draft.image.is_file():
            raise BadPrompts(f"{where}: {draft.id}: there is no image {draft.image}")
        prompt = choice(
            draft.id,
            str(shown(draft)),
            draft.right,
            draft.wrong,
            draft.task,
            source,
            seed=seed,
            cluster=f"{source} {draft.image.name}",
            facets=draft.facets,
        )
        captions = len(prompt.texts)
        yield _placed(prompt, _place(captions, count[captions], seed))
        count[captions] += 1


def _place(captions: int, number: int, seed: int) -> int:
    """Every so many samples have each place once, in an order of their own."""
    block, turn = divmod(number, captions)
    order = list(range(captions))
    drawn(seed, "places", captions, block).shuffle(order)
    return order[turn]


def _placed(prompt: Prompt, place: int) -> Prompt:
    """The same sample with its right caption in another's place."""
    texts, at = list(prompt.texts), prompt.answer or 0
    texts[at], texts[place] = texts[place], texts[at]
    return replace(prompt, texts=tuple(texts), answer=place)
