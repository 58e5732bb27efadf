"""Adapters that lead upwards: what a judge offers serves more than it says.

segment gives detect; embed gives a reward; a reward gives prefer. An adapter only asks other queries and combines
their answers, so that the answers themselves are kept once, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .failure import Failure
from .judge import Capability, Query
from .observation import Detections, Embedding, Preference, Reward, Segments


@dataclass(frozen=True)
class Adapter:
    """How observations of `wanted` are made from observations of `offered`.

    expand:   the queries to ask, for one query
    combine:  the observation, or why there is none, from their answers in the same order
    note:     what the combination assumes, for the reader of a score
    """

    wanted: Capability
    offered: Capability
    expand: Callable[[Query], Sequence[Query]]
    combine: Callable[[Sequence[Any]], Any]
    note: str = ""


def _detections(answers: Sequence[Segments]) -> Detections:
    return answers[0].without_masks()


def _cosine(answers: Sequence[Embedding]) -> Reward | Failure:
    """Cosine of image and text."""
    image, text = (a.values.astype(np.float64) for a in answers)
    if image.shape != text.shape:
        return Failure(f"an image's embedding has {image.size} dimensions, a text's {text.size}")
    norm = float(np.linalg.norm(image) * np.linalg.norm(text))
    return Reward(float(image @ text) / norm) if norm else Failure("an embedding is 0: it has no cosine")


def _preference(answers: Sequence[Reward]) -> Preference:
    first, second = (a.value for a in answers)
    verdict = "tie" if first == second else "first" if first > second else "second"
    return Preference(verdict, margin=first - second)  # type: ignore[arg-type]


ADAPTERS: tuple[Adapter, ...] = (
    Adapter("detect", "segment", lambda query: [query], _detections),
    Adapter(
        "reward",
        "embed",
        lambda query: [
            Query(images=query.images, params=query.params),
            Query(texts=query.texts, params=query.params),
        ],
        _cosine,
        note="cosine of image and text",
    ),
    Adapter(
        "prefer",
        "reward",
        lambda query: [Query((image,), query.texts, query.params) for image in query.images],
        _preference,
        note="the higher reward wins, equal ones tie",
    ),
)


def find_chain(
    wanted: Capability, offered: Sequence[Capability] | frozenset[Capability]
) -> tuple[Adapter, ...] | None:
    """Return the shortest chain of adapters from what is offered up to what is wanted, the last step first.

    An empty chain where it is offered itself; None where nothing leads there.
    """
    if wanted in offered:
        return ()
    for adapter in ADAPTERS:
        if adapter.wanted == wanted and (rest := find_chain(adapter.offered, offered)) is not None:
            return (adapter, *rest)
    return None


def find_sources(wanted: Capability) -> tuple[Capability, ...]:
    """Return the capabilities that serve the one wanted, itself first, then by length of the chain."""
    found: list[Capability] = [wanted]
    for capability in found:
        found += [a.offered for a in ADAPTERS if a.wanted == capability and a.offered not in found]
    return tuple(found)


def expand(chain: Sequence[Adapter], query: Query) -> list[Query]:
    """Return the queries that a judge at the end of the chain is asked for one query."""
    queries = [query]
    for adapter in chain:
        queries = [inner for q in queries for inner in adapter.expand(q)]
    return queries


def combine(chain: Sequence[Adapter], query: Query, answers: Sequence[Any]) -> Any:
    """Return the observation wanted, or a Failure, from the answers to `expand(chain, query)`."""
    if not chain:
        return answers[0]
    adapter, rest = chain[0], chain[1:]
    inner, taken = [], 0
    for q in adapter.expand(query):
        width = len(expand(rest, q))
        answer = combine(rest, q, answers[taken : taken + width])
        if isinstance(answer, Failure):
            return answer
        inner.append(answer)
        taken += width
    return adapter.combine(inner)
