"""The judge that detects objects with DETR and YOLOS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from t2i_core.api import Detections, ObjectClass, Query, Setup
from t2i_core.api.judge import Capability

from . import checkpoints, loaded_checkpoint
from .checkpoints import CheckpointPlace
from .judge import Features, TransformersJudge, run_in_groups
from .options import DetectorOptions

_ON_GPU, _ELSEWHERE = 16, 4


class Detector(TransformersJudge):
    """Detects objects, with `class_probs`: the softmax over the classes without the column "no object".

    A detection has its most probable class, with that probability as score. Boxes are clipped to the image.
    Results do not depend on the batch up to rounding (1e-4 of a pixel and of a probability in float32 on a CPU).
    """

    colours: tuple[str, ...] = ()
    """Names of the colours that a subclass predicts."""

    def __init__(self, setup: Setup[DetectorOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "AutoModelForObjectDetection", "AutoImageProcessor"),
            setup, _ON_GPU, _ELSEWHERE,
        )  # fmt: skip
        self._floor = setup.options.floor
        classes = checkpoints.classes(checkpoints.config(place, setup.offline))
        self._columns, self._labels, self._sums = _merge_classes(classes)

    def answers(self, capability: Capability, queries: list[Query]) -> list[Detections]:
        """Return the detections in each query's image."""
        images = [query.images[0].pil() for query in queries]
        prepared = [self.loaded.processor(images=image, return_tensors="pt") for image in images]
        found = run_in_groups(prepared, self._run)
        return [self._detections(image.size, *tensors) for image, tensors in zip(images, found, strict=True)]

    def _run(self, features: Features) -> list[Any]:
        """Return the arguments of `_detections` for each image."""
        with torch.inference_mode():
            out = self.loaded.network(**self.loaded.inputs(features))
        probabilities = self._select(out.logits.float().softmax(-1))
        return list(zip(probabilities, out.pred_boxes.float().cpu(), strict=True))

    def _select(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Return the probabilities of the judge's classes from those of all outputs, on the CPU."""
        own = probabilities[..., self._columns].cpu()
        return own if self._sums is None else own @ self._sums

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
            class_probs=make_exclusive(probabilities[kept]).numpy(),
            colours=None if colours is None else colours[kept].numpy(),
            colour_names=self.colours,
        )


def _merge_classes(
    classes: Mapping[int, ObjectClass],
) -> tuple[list[int], tuple[ObjectClass, ...], torch.Tensor | None]:
    """Return the columns of classes, the distinct classes, and what sums their columns.

    A detector may have several outputs for one class, such as PaintSkills' characters of a human.

    Returns:
        The columns; the distinct classes; float32 of shape (columns, distinct classes), None if all differ.
    """
    distinct: list[ObjectClass] = []
    places = []
    for each in classes.values():
        place = next((n for n, other in enumerate(distinct) if other == each), len(distinct))
        if place == len(distinct):
            distinct.append(each)
        places.append(place)
    sums = torch.eye(len(distinct))[places] if len(distinct) < len(places) else None
    return list(classes), tuple(distinct), sums


def make_exclusive(apart: torch.Tensor) -> torch.Tensor:
    """Return independent class probabilities as those of mutually exclusive classes.

    The most probable class keeps its probability, which is the detection's score. The others are scaled down by
    one factor if the sum exceeds 1. Probabilities of one softmax stay unchanged.

    Args:
        apart: Probabilities (n, classes).
    """
    best, column = apart.max(-1, keepdim=True)
    rest = (apart.sum(-1, keepdim=True) - best).clamp(min=torch.finfo(apart.dtype).tiny)
    return (apart * ((1 - best) / rest).clamp(max=1)).scatter(-1, column, best)
