"""The judge that segments objects with Mask2Former."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from t2i_core.api import Query, Segments, Setup
from t2i_core.api.judge import Capability
from t2i_core.api.mask import PackedMask

from . import checkpoints, loaded_checkpoint
from .checkpoints import CheckpointPlace
from .judge import Features, TransformersJudge, run_in_groups
from .options import DetectorOptions

_ON_GPU, _ELSEWHERE = 8, 2


class Segmenter(TransformersJudge):
    """Segments objects, with `class_probs`: the softmax over the classes without the column "no object".

    Each query of the network gives at most one segment, of its most probable class. The library computes mask
    and score from that query alone; the score is the class probability times the mean probability of the mask's
    pixels. Boxes enclose masks; masks may overlap. Images are prepared one by one and never padded, so that
    results do not depend on the batch up to rounding (1e-4 of a probability in float32 on a CPU).
    """

    def __init__(self, setup: Setup[DetectorOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "AutoModelForUniversalSegmentation", "AutoImageProcessor"),
            setup, _ON_GPU, _ELSEWHERE,
        )  # fmt: skip
        self._floor = setup.options.floor
        classes = checkpoints.classes(checkpoints.config(place, setup.offline))
        self._columns, self._labels = list(classes), tuple(classes.values())
        self._number = {column: number for number, column in enumerate(self._columns)}

    def answers(self, capability: Capability, queries: list[Query]) -> list[Segments]:
        """Return the segments in each query's image."""
        images = [query.images[0].pil() for query in queries]
        prepared = [self.loaded.processor(images=image, return_tensors="pt") for image in images]
        found = run_in_groups(prepared, self._run)
        return [self._segments(image.size, *parts) for image, parts in zip(images, found, strict=True)]

    def _run(self, features: Features) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the class logits and mask logits of each image."""
        with torch.inference_mode():
            out = self.loaded.network(**self.loaded.inputs(features))
        classes, masks = out.class_queries_logits.float().cpu(), out.masks_queries_logits.float().cpu()
        return list(zip(classes, masks, strict=True))

    def _segments(self, size: tuple[int, int], classes: torch.Tensor, masks: torch.Tensor) -> Segments:
        probabilities = classes.softmax(-1)[:, self._columns]
        found: list[tuple[int, float, int, PackedMask]] = []
        for query in torch.nonzero(probabilities.max(-1).values >= self._floor).flatten().tolist():
            if segment := self._segment(size, classes[query], masks[query]):
                found.append((query, *segment))
        packed = tuple(mask for *_, mask in found)
        return Segments(
            size,
            np.array([mask.box for mask in packed], np.float32).reshape(-1, 4),
            np.array([score for _, score, _, _ in found], np.float32),
            np.array([number for _, _, number, _ in found], np.int16),
            self._labels,
            class_probs=probabilities[[query for query, *_ in found]].numpy(),
            masks=packed,
        )

    def _segment(
        self, size: tuple[int, int], classes: torch.Tensor, mask: torch.Tensor
    ) -> tuple[float, int, PackedMask] | None:
        """Return the library's score, class and mask for one query; None if below the floor or empty."""
        out: Any = SimpleNamespace(class_queries_logits=classes[None, None], masks_queries_logits=mask[None, None])
        (result,) = self.loaded.processor.post_process_instance_segmentation(
            out, threshold=self._floor, target_sizes=[size[::-1]], return_binary_maps=True
        )
        if not result["segments_info"] or result["segments_info"][0]["label_id"] not in self._number:
            return None
        (info,) = result["segments_info"]
        return (
            info["score"],
            self._number[info["label_id"]],
            PackedMask.pack(result["segmentation"][0].numpy() == 1),
        )
