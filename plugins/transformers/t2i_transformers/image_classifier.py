"""The judge that classifies images."""

from __future__ import annotations

import torch
from t2i_core.api import ClassScores, ObjectClass, Query, Setup
from t2i_core.api.judge import Capability

from . import checkpoints, loaded_checkpoint
from .checkpoints import CheckpointPlace
from .judge import Features, TransformersJudge, run_in_groups
from .options import CheckpointOptions

_ON_GPU, _ELSEWHERE = 64, 16


class ImageClassifier(TransformersJudge):
    """Classifies images: the logits of the checkpoint's classes, in their order.

    Results do not depend on the batch up to rounding (1e-5 of the largest logit in float32 on a CPU).
    """

    def __init__(self, setup: Setup[CheckpointOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "AutoModelForImageClassification", "AutoImageProcessor"),
            setup,
            _ON_GPU,
            _ELSEWHERE,
        )
        self._labels: tuple[ObjectClass, ...] = checkpoints.list_labels(
            place, checkpoints.config(place, setup.offline)
        )

    def answers(self, capability: Capability, queries: list[Query]) -> list[ClassScores]:
        """Return the logits of each query's image."""
        images = [query.images[0].pil() for query in queries]
        prepared = [self.loaded.processor(images=image, return_tensors="pt") for image in images]
        return [ClassScores(logits.numpy(), self._labels) for logits in run_in_groups(prepared, self._run)]

    def _run(self, features: Features) -> list[torch.Tensor]:
        with torch.inference_mode():
            logits = self.loaded.network(**self.loaded.inputs(features)).logits
        return list(logits.float().cpu())
