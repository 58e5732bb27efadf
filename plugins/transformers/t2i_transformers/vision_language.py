"""The judge `transformers-vlm`: a vision-language model that compares images, answers questions and replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from t2i_core.api import Failure, Preference, Query, Setup, TextReply
from t2i_core.api.judge import Capability
from t2i_torch_support.batch import Batches

from .checkpoints import CheckpointPlace
from .options import VisionLanguageOptions
from .preference import PreferenceJudge
from .text_replies import reply
from .visual_answers import VisualAnswerer

_ON_GPU, _ELSEWHERE = 16, 4
"""Initial number of questions in a batch."""


class VisionLanguageJudge(PreferenceJudge):
    """Compares two images for a prompt, answers questions about one image or several, and replies to texts."""

    def __init__(self, setup: Setup[VisionLanguageOptions], place: CheckpointPlace) -> None:
        super().__init__(setup, place)
        start = _ON_GPU if self.loaded.device.type == "cuda" else _ELSEWHERE
        self._questions = Batches(setup.batch_size, start)
        self._answerer = VisualAnswerer(self.loaded, setup.options)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch sizes are the current ones, after any halving."""
        return {**super().settings, **self._answerer.settings, "questions_batch_size": self._questions.size}

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        """Yield each query with its answer, in order."""
        if capability == "answer":
            return self._questions.map(lambda batch: self._answerer.answer(batch, self._questions.size), queries)
        return super().observe(capability, queries)

    def answers(self, capability: Capability, queries: list[Query]) -> Sequence[Preference | TextReply | Failure]:
        """Return preferences for pairs of images, or replies to texts."""
        if capability == "reply":
            return reply(self.loaded, queries)
        if not self.loaded.processor.chat_template:
            return [Failure("this model takes one image, and cannot compare two", final=True)] * len(queries)
        return super().answers(capability, queries)
