"""Selection of a data set's samples: balanced over right answers, in an order drawn by a seed."""

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
    """A candidate for a sample.

    Attributes:
        id: Id of the sample.
        image: Path of the image.
        right: The right caption.
        wrong: The wrong captions.
        task: The task.
        answer: The right answer over which samples are balanced, as a colour or a number, or empty.
        part: Box of the image to show (x, y, width, height in pixels); None to show the whole image.
        facets: Further facets.
    """

    id: str
    image: Path
    right: str
    wrong: tuple[str, ...]
    task: str
    answer: str = ""
    part: tuple[int, int, int, int] | None = None
    facets: Facets = field(default_factory=dict)


def rank_key(seed: int, *key: str | int) -> bytes:
    """Return the sort key of an item in a seed's random order; it does not depend on the other items."""
    return hashlib.sha256(":".join(map(str, (seed, *key))).encode()).digest()


def derive_rng(seed: int, *key: str | int) -> random.Random:
    """Return a random generator seeded by a seed and a key."""
    return random.Random(rank_key(seed, *key))


def pick_drafts(drafts: Iterable[Draft], limit: int | None, seed: int) -> list[Draft]:
    """Return at most `limit` drafts of each task, balanced over the right answers.

    A larger limit keeps the drafts of every smaller one.
    """
    levels: dict[str, dict[str, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for draft in drafts:
        levels[draft.task][draft.answer].append(draft)
    return [draft for by_answer in levels.values() for draft in _interleave_answers(by_answer, seed)[:limit]]


def _interleave_answers(by_answer: dict[str, list[Draft]], seed: int) -> list[Draft]:
    """Return the drafts of one task in the order of selection: one draft of each answer in turn."""
    turns = []
    for answer, drafts in by_answer.items():
        drafts.sort(key=lambda draft: rank_key(seed, draft.id))
        turns += [(turn, rank_key(seed, "answer", answer), draft) for turn, draft in enumerate(drafts)]
    return [draft for *_, draft in sorted(turns, key=lambda turn: turn[:2])]


def build_samples(
    drafts: Iterable[Draft],
    source: str,
    where: str,
    limit: int | None,
    seed: int,
    shown: Callable[[Draft], Path] = lambda draft: draft.image,
) -> Iterator[Prompt]:
    """Yield the selected samples, with the right captions spread evenly over the positions.

    Args:
        drafts: The candidates.
        source: The data set.
        where: The folder or file, for messages.
        limit: Maximum number of samples of each task; None for all.
        seed: Seed of the selection.
        shown: Returns the path of the image to show.

    Raises:
        BadPrompts: If there is no sample, or an image is missing.
    """
    chosen = pick_drafts(drafts, limit, seed)
    if not chosen:
        raise BadPrompts(f"{where}: contains no sample for these options; change the options or check the file")
    count: dict[int, int] = defaultdict(int)
    for draft in chosen:
        if not draft.image.is_file():
            raise BadPrompts(
                f"{where}: {draft.id}: image {draft.image} does not exist; put the data set's images there"
            )
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
        yield _move_answer(prompt, _draw_position(captions, count[captions], seed))
        count[captions] += 1


def _draw_position(captions: int, number: int, seed: int) -> int:
    """Return the position of the right caption; each block of K samples of K captions uses each position once."""
    block, turn = divmod(number, captions)
    order = list(range(captions))
    derive_rng(seed, "places", captions, block).shuffle(order)
    return order[turn]


def _move_answer(prompt: Prompt, position: int) -> Prompt:
    """Return the sample with its right caption exchanged with the one at another position."""
    texts, old = list(prompt.texts), prompt.answer or 0
    texts[old], texts[position] = texts[position], texts[old]
    return replace(prompt, texts=tuple(texts), answer=position)
