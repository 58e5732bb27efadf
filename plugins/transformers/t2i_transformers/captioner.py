"""The judge that captions images with BLIP and GIT."""

from __future__ import annotations

import torch
from t2i_core.api import Caption, Query, Setup
from t2i_core.api.judge import Capability

from . import loaded_checkpoint
from .checkpoints import CheckpointPlace
from .generation_settings import configure_search
from .judge import Features, TransformersJudge, run_in_groups
from .options import CaptionerOptions

_ON_GPU, _ELSEWHERE = 32, 8


class Captioner(TransformersJudge):
    """Captions images by greedy or beam search, without sampling.

    Captions do not depend on the batch, except if two words have equal probability up to rounding.
    """

    def __init__(self, setup: Setup[CaptionerOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "AutoModelForImageTextToText", "AutoProcessor"),
            setup,
            _ON_GPU,
            _ELSEWHERE,
        )
        self.loaded.settings["search"] = configure_search(
            self.loaded.network, setup.options.beams, setup.options.max_tokens
        )

    def answers(self, capability: Capability, queries: list[Query]) -> list[Caption]:
        """Return a caption of each query's image."""
        prepared = [
            {"pixel_values": self.loaded.processor(images=q.images[0].pil(), return_tensors="pt")["pixel_values"]}
            for q in queries
        ]
        return [Caption(text.strip()) for text in run_in_groups(prepared, self._run)]

    def _run(self, features: Features) -> list[str]:
        with torch.inference_mode():
            tokens = self.loaded.network.generate(**self.loaded.inputs(features))
        texts: list[str] = self.loaded.processor.batch_decode(tokens, skip_special_tokens=True)
        return texts
