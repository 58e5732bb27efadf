"""Work in batches whose size is halved when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


class Batches:
    """Batches of one size, which is halved for good whenever memory runs out.

    Attributes:
        size: Items in a batch: as the user asked, or else `start`, until it is halved.
        halvings: How often it was halved.
    """

    def __init__(self, asked: int | None, start: int) -> None:
        self.size = asked or start
        self.halvings = 0

    def map(self, work: Callable[[list[T]], Sequence[R]], items: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yield each item with its result. Items are taken lazily, one batch at a time.

        Raises whatever `work` raises; an out-of-memory error only if a single item does not fit.
        """
        waiting = iter(items)
        while batch := list(islice(waiting, self.size)):
            yield from zip(batch, self._results(work, batch), strict=True)

    def _results(self, work: Callable[[list[T]], Sequence[R]], batch: list[T]) -> list[R]:
        results: list[R] = []
        while len(results) < len(batch):
            part = batch[len(results) : len(results) + self.size]
            try:
                results += work(part)
                continue
            except RuntimeError as error:
                if len(part) == 1 or not is_out_of_memory(error):
                    raise
            # not in the except block, where the error still holds the tensors of the batch that was too large
            self.size = len(part) // 2
            self.halvings += 1
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return results


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return whether an error says that a device ran out of memory."""
    from accelerate.utils.memory import should_reduce_batch_size

    return isinstance(error, torch.OutOfMemoryError) or should_reduce_batch_size(error)
