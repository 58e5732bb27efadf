"""The judge that segments objects with Mask2Former."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from t2i_core.api import Query, Segments, Setup
from t2i_core.api.judge import Capability
from t2i_core.api.mask import PackedMask
from torch.nn import functional

from . import checkpoints, loaded_checkpoint
from .checkpoints import CheckpointPlace
from .judge import Features, TransformersJudge, run_in_groups
from .options import SegmenterOptions

_ON_GPU, _ELSEWHERE = 8, 2
_MOST_PAIRS = 100
"""Number of pairs of a query and a class that mmdetection keeps of each image."""


class Segmenter(TransformersJudge):
    """Segments objects, with `class_probs`: the softmax over the classes without the column "no object".

    Each query of the network gives at most one segment, of its most probable class. The library computes mask
    and score from that query alone; the score is the class probability times the mean probability of the mask's
    pixels. Boxes enclose masks; masks may overlap. Images are prepared one by one and never padded, so that
    results do not depend on the batch up to rounding (1e-4 of a probability in float32 on a CPU).

    With the option `pairs`, segments are those of mmdetection: the 100 most probable pairs of a query and a class,
    so that one mask may appear under several classes, each with its class's probability times the mean
    probability of the mask's pixels. The masks' logits are enlarged to the image bilinearly before they are cut at
    0; the library cuts them at 384 x 384 pixels.

    References:
        mmdetection: mmdet/models/seg_heads/panoptic_fusion_heads/maskformer_fusion_head.py.
    """

    def __init__(self, setup: Setup[SegmenterOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "AutoModelForUniversalSegmentation", "AutoImageProcessor"),
            setup, _ON_GPU, _ELSEWHERE,
        )  # fmt: skip
        self._floor, self._pairs = setup.options.floor, setup.options.pairs
        classes = checkpoints.classes(checkpoints.config(place, setup.offline))
        self._columns, self._labels = list(classes), tuple(classes.values())
        self._number = {column: number for number, column in enumerate(self._columns)}

    def answers(self, capability: Capability, queries: list[Query]) -> list[Segments]:
        """Return the segments in each query's image."""
        images = [query.images[0].pil() for query in queries]
        prepared = [self.loaded.processor(images=image, return_tensors="pt") for image in images]
        found = run_in_groups(prepared, self._run)
        combine = self._combine_pairs if self._pairs else self._segments
        return [combine(image.size, *parts) for image, parts in zip(images, found, strict=True)]

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
        return self._join(size, probabilities, found)

    def _combine_pairs(self, size: tuple[int, int], classes: torch.Tensor, masks: torch.Tensor) -> Segments:
        """Return the segments of mmdetection, the most probable pair first."""
        probabilities = classes.softmax(-1)[:, self._columns]
        values, pairs = probabilities.flatten().topk(min(_MOST_PAIRS, probabilities.numel()))
        shown: dict[int, tuple[float, PackedMask] | None] = {}
        found: list[tuple[int, float, int, PackedMask]] = []
        for value, pair in zip(values.tolist(), pairs.tolist(), strict=True):
            query, number = divmod(pair, len(self._columns))
            if value < self._floor:  # a mask's own probability is at most 1
                break
            if query not in shown:
                shown[query] = _enlarge(size, masks[query])
            own = shown[query]
            if own is not None and value * own[0] >= self._floor:
                found.append((query, value * own[0], number, own[1]))
        return self._join(size, probabilities, found)

    def _join(
        self,
        size: tuple[int, int],
        probabilities: torch.Tensor,
        found: list[tuple[int, float, int, PackedMask]],
    ) -> Segments:
        """Return segments from their queries, scores, classes and masks."""
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


def _enlarge(size: tuple[int, int], logits: torch.Tensor) -> tuple[float, PackedMask] | None:
    """Return the mean probability of a mask's pixels, and the mask in the image's size; None if it is empty."""
    large = functional.interpolate(logits[None, None], size[::-1], mode="bilinear", align_corners=False)[0, 0]
    mask = large > 0
    if not mask.any():
        return None
    return float(large[mask].sigmoid().mean()), PackedMask.pack(mask.numpy())
