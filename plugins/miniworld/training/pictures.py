"""Training pictures in memory, which can be read while they are still being rendered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from t2i_core.api import Truth
from torch import Tensor
from training_data import PER_SHARD, labels, read_shard, shards


class Pictures:
    """The first pictures of a split that are on disk, at most ``most``.

    Attributes:
        images: uint8 (N, 3, S, S).
        truths: Ground truth of each.
    """

    def __init__(self, folder: Path, split: str, most: int) -> None:
        self._folder, self._split, self._most = folder, split, most
        self._read = 0
        self.images = torch.empty(0, 3, 0, 0, dtype=torch.uint8)
        self.truths: list[Truth] = []
        self._things: NDArray[np.uint8] = np.empty((0, 0), np.uint8)
        self.refresh()

    def __len__(self) -> int:
        return len(self.images)

    def refresh(self) -> None:
        """Read new pictures.

        Raises:
            SystemExit: If no picture exists yet.
        """
        paths = shards(self._folder, self._split)[: self._most // PER_SHARD]
        images, things = [], []
        for shard in map(read_shard, paths[self._read :]):
            images.append(torch.from_numpy(shard.images).permute(0, 3, 1, 2))
            things += [np.packbits(labels(truth) > 0) for truth in shard.truths]
            self.truths += shard.truths
        if images:
            # one contiguous tensor, so earlier pictures are copied
            self.images = torch.cat([self.images, *images] if len(self) else images)
            self._things = np.concatenate(
                [self._things, np.stack(things)] if len(self._things) else [np.stack(things)]
            )
            self._read = len(paths)
        if not len(self):
            raise SystemExit(
                f"{self._folder}: no {self._split} shards; draw some with "
                "python plugins/miniworld/training/training_data.py FOLDER --purpose generator"
            )

    def things(self, chosen: Tensor) -> Tensor:
        """Return which pixels of the chosen pictures belong to things, float (N, 1, S, S), 0 or 1."""
        side = self.images.shape[-1]
        bits = np.unpackbits(self._things[chosen.numpy()], axis=1, count=side * side)
        return torch.from_numpy(bits).float().view(-1, 1, side, side)
