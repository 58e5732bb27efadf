"""What the judges share: batches of inputs of one shape, settings, an end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from t2i_core.api import Failure, Query, Setup
from t2i_core.api.judge import Capability
from t2i_torch_support.batch import Batches

from .loading import LoadedCheckpoint

ResultT = TypeVar("ResultT")
Features = Mapping[str, torch.Tensor]


class TransformersJudge:
    """Asks one network. A subclass answers a batch of queries.

    on_gpu, elsewhere: how many queries at a time, at first
    """

    def __init__(self, loaded: LoadedCheckpoint, setup: Setup[Any], on_gpu: int, elsewhere: int) -> None:
        self.loaded = loaded
        self._batches = Batches(setup.batch_size, on_gpu if loaded.device.type == "cuda" else elsewhere)

    @property
    def settings(self) -> dict[str, Any]:
        """What a reader of its answers must know; the batch is what was left of it after any halving."""
        return {**self.loaded.settings, "batch_size": self._batches.size}

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        """Answer the queries in order."""
        return self._batches.map(lambda batch: self.answers(capability, batch), queries)

    def answers(self, capability: Capability, queries: list[Query]) -> list[Any | Failure]:
        """Answer a batch of queries."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the network."""
        del self.loaded


def in_groups(prepared: Sequence[Features], work: Callable[[Features], Sequence[ResultT]]) -> list[ResultT]:
    """Run inputs of equal shape together and return a result for each, in order.

    Nothing is padded to another's size, so that a result does not depend on its company. work: takes inputs of one
    shape, joined along the first axis, and returns as many results.
    """
    groups: dict[Any, list[int]] = {}
    for number, features in enumerate(prepared):
        shapes = tuple((name, tuple(value.shape)) for name, value in features.items())
        groups.setdefault(shapes, []).append(number)
    results: dict[int, ResultT] = {}
    for numbers in groups.values():
        joined = {name: torch.cat([prepared[n][name] for n in numbers]) for name in prepared[numbers[0]]}
        results |= zip(numbers, work(joined), strict=True)
    return [results[number] for number in range(len(prepared))]
