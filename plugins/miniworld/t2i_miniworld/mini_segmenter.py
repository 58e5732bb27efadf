"""Judge `mini-segmenter`: a small SegFormer trained on rendered scenes; instances are connected regions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from t2i_core.api import Failure, ObjectClass, Query, Segments
from t2i_core.api.judge import Capability
from t2i_core.api.mask import PackedMask
from t2i_torch_support.device import select_device

from t2i_miniworld import segmenter
from t2i_miniworld.regions import Region, regions
from t2i_miniworld.vocabulary import SYNSETS


class MiniSegmenter:
    """The trained judge.

    Args:
        device: Device of the network. If None, a GPU if there is one.
        batch_size: Number of images per batch. If None, 32.
    """

    def __init__(self, device: str | None = None, batch_size: int | None = None) -> None:
        self._network = segmenter.load(device=str(select_device(device)))
        self._labels = tuple(ObjectClass(name, SYNSETS[name]) for name in segmenter.classes(self._network))
        self._batch_size = batch_size or 32

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Segments | Failure]]:
        """Yield each query with the segments of its image, in order; results do not depend on the batch."""
        waiting = iter(queries)
        while batch := list(islice(waiting, self._batch_size)):
            pixels = [query.images[0].pixels for query in batch]
            maps = segmenter.probabilities(self._network, pixels, self._batch_size)
            for query, probabilities in zip(batch, maps, strict=True):
                _, height, width = probabilities.shape
                yield query, segments(regions(probabilities), self._labels, (width, height))


def segments(found: list[Region], labels: tuple[ObjectClass, ...], size: tuple[int, int]) -> Segments:
    """Return regions as an observation.

    Args:
        found: The regions.
        labels: Classes by `Region.kind`.
        size: Width and height of the image in pixels.
    """
    return Segments(
        size=size,
        boxes=np.array([region.box for region in found], np.float32).reshape(-1, 4),
        scores=np.array([region.score for region in found], np.float32),
        classes=np.array([region.kind for region in found], np.int16),
        labels=labels,
        class_probs=np.array([region.probs for region in found], np.float32).reshape(-1, len(labels)),
        masks=tuple(PackedMask.pack(region.mask) for region in found),
    )
