"""Adapters, which compute observations of one capability from those of another.

An adapter asks other queries and combines their answers. The answers themselves are stored once, for all that use
them. Each adapter is in the module of the capability that it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .failure import Failure
from .judge import Capability, Query
from .observation import find_capability

CombineT = TypeVar("CombineT", bound=Callable[..., Any])


@dataclass(frozen=True)
class Adapter:
    """A way to compute observations of `wanted` from observations of `offered`.

    Attributes:
        wanted: The capability that it gives.
        offered: The capability that a judge is asked for.
        expand: Returns the queries to ask, for one query.
        combine: Returns the observation, or a Failure, from their answers in the same order.
        note: What the combination assumes, for the reader of a score.
    """

    wanted: Capability
    offered: Capability
    expand: Callable[[Query], Sequence[Query]]
    combine: Callable[..., Any]
    note: str = ""


_ADAPTERS: dict[tuple[Capability, Capability], Adapter] = {}


def _ask_the_same(query: Query) -> Sequence[Query]:
    return [query]


def register_adapter(
    wanted: Capability,
    offered: Capability,
    expand: Callable[[Query], Sequence[Query]] = _ask_the_same,
    note: str = "",
) -> Callable[[CombineT], CombineT]:
    """Register the decorated function, which combines answers, as an adapter.

    Args:
        wanted: The capability of what it returns.
        offered: The capability of the answers that it takes, one argument each.
        expand: Returns the queries to ask, for one query; by default the query itself.
        note: What the combination assumes, for the reader of a score.
    """

    def register(combine: CombineT) -> CombineT:
        _ADAPTERS[wanted, offered] = Adapter(wanted, offered, expand, combine, note)
        return combine

    return register


def list_adapters(wanted: Capability) -> tuple[Adapter, ...]:
    """Return the adapters that give a capability, in the order in which they were registered."""
    find_capability(wanted)  # its module registers them
    return tuple(adapter for adapter in _ADAPTERS.values() if adapter.wanted == wanted)


def _find_chains(wanted: Capability) -> dict[Capability, tuple[Adapter, ...]]:
    """Return the shortest chain from each capability that can serve the wanted one, the shortest first."""
    chains: dict[Capability, tuple[Adapter, ...]] = {wanted: ()}
    queue = [wanted]
    for capability in queue:
        for adapter in list_adapters(capability):
            if adapter.offered not in chains:
                chains[adapter.offered] = (*chains[capability], adapter)
                queue.append(adapter.offered)
    return chains


def find_chain(wanted: Capability, offered: Iterable[Capability]) -> tuple[Adapter, ...] | None:
    """Return the shortest chain of adapters from an offered capability to the wanted one, the last step first.

    The chain is empty if the wanted capability itself is offered, and None if no chain exists.
    """
    offered = frozenset(offered)
    return next((chain for source, chain in _find_chains(wanted).items() if source in offered), None)


def find_sources(wanted: Capability) -> tuple[Capability, ...]:
    """Return the capabilities that can serve the wanted one: itself first, then by length of the chain."""
    return tuple(_find_chains(wanted))


def expand(chain: Sequence[Adapter], query: Query) -> list[Query]:
    """Return the queries to ask the judge at the end of the chain for one query."""
    queries = [query]
    for adapter in chain:
        queries = [inner for q in queries for inner in adapter.expand(q)]
    return queries


def combine(chain: Sequence[Adapter], query: Query, answers: Sequence[Any]) -> Any:
    """Return the wanted observation, or a Failure, from the answers to `expand(chain, query)`."""
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
    return adapter.combine(*inner)
