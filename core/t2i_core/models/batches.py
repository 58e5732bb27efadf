"""Work in batches whose size gives way when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


class Batches:
    """So many items at a time.

    size:      as the user asked for, or else `start`; halved, for good, whenever memory runs out
    halvings:  how often it was
    """

    def __init__(self, asked: int | None, start: int) -> None:
        self.size = asked or start
        self.halvings = 0

    def map(self, work: Callable[[list[T]], list[R]], items: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yield each item with its result. Items are taken lazily, one batch at a time.

        Raises what `work` raises, lack of memory only where a single item does not fit.
        """
        waiting = iter(items)
        while batch := list(islice(waiting, self.size)):
            yield from zip(batch, self._results(work, batch), strict=True)

    def _results(self, work: Callable[[list[T]], list[R]], batch: list[T]) -> list[R]:
        results: list[R] = []
        while len(results) < len(batch):
            part = batch[len(results) : len(results) + self.size]
            try:
                results += work(part)
                continue
            except RuntimeError as error:
                if len(part) == 1 or not is_out_of_memory(error):
                    raise
            # here and not above, where the error still holds the tensors of the batch that was too large
            self.size = len(part) // 2
            self.halvings += 1
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return results


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error says that a device's memory did not suffice."""
    from accelerate.utils.memory import should_reduce_batch_size

    return isinstance(error, torch.OutOfMemoryError) or should_reduce_batch_size(error)
