"""The judge: classifies images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from t2i_core.api import ClassScores, ObjectClass, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability

from t2i_timm.network_judge import LoadedNetwork, NetworkJudge
from t2i_timm.options import ClassifierOptions


@dataclass(frozen=True)
class LoadedClassifier(LoadedNetwork):
    """A classifier with its weights; its network gives logits (n, len(labels)).

    Attributes:
        labels: Classes in the order of the logits.
    """

    labels: tuple[ObjectClass, ...]


class Classifier(NetworkJudge):
    """Classifies images: float32 logits before the softmax, in the order of the declared classes.

    Results do not depend on the batch up to rounding (1e-5 of the largest logit in float32 on a CPU).
    """

    def __init__(self, loaded: LoadedClassifier, setup: Setup[ClassifierOptions]) -> None:
        super().__init__(loaded, setup)
        self._labels = loaded.labels

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, ClassScores]]:
        """Yield each query with the logits of its image, in order."""
        for query, logits in self.run(queries):
            yield query, ClassScores(logits.numpy(), self._labels)


def check_head(
    network: torch.nn.Module, labels: tuple[ObjectClass, ...], size: tuple[int, int], name: str
) -> None:
    """Raise BadModel if a network does not return one logit per class; `size` is its images' height and width."""
    with torch.inference_mode():
        shape = tuple(network.eval()(torch.zeros(1, 3, *size)).shape)
    if shape != (1, len(labels)):
        raise BadModel(f"{name}: it gives outputs of shape {shape[1:]} for {len(labels)} classes")
