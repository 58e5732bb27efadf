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

    size:  as the user asked for, and then it stays; or `start`, halved whenever memory runs out
    """

    def __init__(self, asked: int | None, start: int) -> None:
        self.size = asked or start
        self._fixed = asked is not None

    def map(self, work: Callable[[list[T]], list[R]], items: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yield each item with its result. Items are taken lazily, one batch at a time."""
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
                if self._fixed or len(part) == 1 or not _is_out_of_memory(error):
                    raise
            # here and not above, where the error still holds the tensors of the batch that was too large
            self.size = len(part) // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return results


def _is_out_of_memory(error: RuntimeError) -> bool:
    from accelerate.utils.memory import should_reduce_batch_size

    return isinstance(error, torch.OutOfMemoryError) or should_reduce_batch_size(error)
