"""The number of items that a worker gets at a time."""

from __future__ import annotations

from math import ceil, log2

TARGET_SECONDS = 0.5
"""Seconds that a block should take: long beside the way there and back, short beside the end of a run."""

MOST = 256
"""Largest number of items in a block, unless one batch has more."""


class BlockSize:
    """Grows with the measured rate to about half a second of work.

    Sizes are multiples of the batch size. If the plugin chooses that itself, they are powers of two, as batches
    mostly are.

    Args:
        batch_size: The run's batch size; None if the plugin chooses.
    """

    def __init__(self, batch_size: int | None) -> None:
        self._batch_size = batch_size
        self.size = self._step = batch_size or 1

    def note(self, items: int, seconds: float) -> None:
        """Adapt the size after a block.

        Args:
            items: Number of items in the block.
            seconds: How long a worker worked on it.
        """
        wanted = min(MOST, 2 * max(items, self.size), items * TARGET_SECONDS / max(seconds, 1e-6))
        if self._batch_size:
            self.size = max(1, int(wanted) // self._step) * self._step
        else:
            self.size = 1 << max(0, round(log2(max(1, wanted))))

    def limit(self, left: int | None, workers: int) -> int:
        """Return the size of the next block.

        Args:
            left: Number of items that are left; None if more come than are known.
            workers: Number of workers that share them.
        """
        if left is None:
            return self.size
        share = ceil(left / (2 * max(1, workers)))  # blocks get smaller towards the end, so that all end together
        return max(self._step, min(self.size, ceil(share / self._step) * self._step))
