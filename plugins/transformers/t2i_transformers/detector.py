"""The judge of `detect`: DETR and YOLOS, each of whose queries holds a box and a softmax over classes and none."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from t2i_core.api import Detections, Query, Setup
from t2i_core.api.judge import Capability

from . import loading, places
from .judge import Features, TransformersJudge, in_groups
from .options import DetectorOptions
from .places import CheckpointPlace

_ON_GPU, _ELSEWHERE = 16, 4


class Detector(TransformersJudge):
    """Answers `detect`, with `class_probs`: the softmax over classes and no object, the latter's column left out.

    A detection's class is its most probable one, its score that probability. Boxes are cut at the image's edges.
    The same for any batch up to rounding (1e-4 of a pixel and of a probability in float32 on a CPU).
    """

    colours: tuple[str, ...] = ()
    """What a subclass tells apart beside classes."""

    def __init__(self, setup: Setup[DetectorOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loading.load(setup, place, "AutoModelForObjectDetection", "AutoImageProcessor"),
            setup, _ON_GPU, _ELSEWHERE,
        )  # fmt: skip
        self._floor = setup.options.floor
        classes = places.classes(places.config(place, setup.offline))
        self._columns, self._labels = list(classes), tuple(classes.values())

    def answers(self, capability: Capability, queries: list[Query]) -> list[Detections]:
        """Find what is in the image of each query."""
        images = [query.images[0].pil() for query in queries]
        prepared = [self.loaded.processor(images=image, return_tensors="pt") for image in images]
        found = in_groups(prepared, self._run)
        return [self._detections(image.size, *tensors) for image, tensors in zip(images, found, strict=True)]

    def _run(self, features: Features) -> list[Any]:
        """Return what `_detections` takes of each image."""
        with torch.inference_mode():
            out = self.loaded.network(**self.loaded.inputs(features))
        probabilities = out.logits.float().softmax(-1)[..., self._columns].cpu()
        return list(zip(probabilities, out.pred_boxes.float().cpu(), strict=True))

    def _detections(
        self,
        size: tuple[int, int],
        probabilities: torch.Tensor,
        boxes: torch.Tensor,
        colours: torch.Tensor | None = None,
    ) -> Detections:
        scores, best = probabilities.max(-1)
        kept = scores >= self._floor
        centre, extent = boxes[kept, :2], boxes[kept, 2:]
        edges = torch.cat([centre - extent / 2, centre + extent / 2], dim=1).clamp(0, 1)
        return Detections(
            size,
            (edges * torch.tensor([*size, *size], dtype=torch.float32)).numpy(),
            scores[kept].numpy(),
            best[kept].numpy().astype(np.int16),
            self._labels,
            class_probs=together(probabilities[kept]).numpy(),
            colours=None if colours is None else colours[kept].numpy(),
            colour_names=self.colours,
        )


def together(apart: torch.Tensor) -> torch.Tensor:
    """Probabilities of classes (n, classes) that stand apart as of classes of which one at most is true.

    The most probable keeps its own, which is the detection's score; the rest are made smaller, all alike, where
    they sum to more than it leaves. What shares one softmax already is left as it is.
    """
    best, column = apart.max(-1, keepdim=True)
    rest = (apart.sum(-1, keepdim=True) - best).clamp(min=torch.finfo(apart.dtype).tiny)
    return (apart * ((1 - best) / rest).clamp(max=1)).scatter(-1, column, best)
