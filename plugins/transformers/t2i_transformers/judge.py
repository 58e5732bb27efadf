"""Base class of the judges: batches of inputs of equal shape, settings, closing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from t2i_core.api import Query, Setup
from t2i_core.api.judge import Capability
from t2i_torch_support.batch import Batches

from .loaded_checkpoint import LoadedCheckpoint

ResultT = TypeVar("ResultT")
Features = Mapping[str, torch.Tensor]


class TransformersJudge:
    """A judge with one network; subclasses answer a batch of queries."""

    def __init__(self, loaded: LoadedCheckpoint, setup: Setup[Any], on_gpu: int, elsewhere: int) -> None:
        """Create a judge.

        Args:
            loaded: The checkpoint.
            setup: Setup from t2i; its batch size overrides the defaults.
            on_gpu: Initial batch size on a GPU.
            elsewhere: Initial batch size on other devices.
        """
        self.loaded = loaded
        self._batches = Batches(setup.batch_size, on_gpu if loaded.device.type == "cuda" else elsewhere)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch size is the current one, after any halving."""
        return {**self.loaded.settings, "batch_size": self._batches.size}

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        """Yield each query with its answer, in order."""
        return self._batches.map(lambda batch: self.answers(capability, batch), queries)

    def answers(self, capability: Capability, queries: list[Query]) -> Sequence[Any]:
        """Return the answers to a batch of queries."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the network."""
        del self.loaded


def run_in_groups(prepared: Sequence[Features], work: Callable[[Features], Sequence[ResultT]]) -> list[ResultT]:
    """Run inputs of equal shape together, and return a result for each input in order.

    Nothing is padded, so that a result does not depend on the other inputs.

    Args:
        prepared: Inputs of one query each.
        work: Takes inputs of equal shape, concatenated along the first axis; returns one result per input.
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
