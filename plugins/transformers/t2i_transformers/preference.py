"""The judge that asks a vision-language model which of two images is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from t2i_core.api import Failure, Preference, Query, Setup, TextReply
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_torch_support.pair_questions import choose_template, read_verdict, write_question

from . import loaded_checkpoint
from .checkpoints import CheckpointPlace
from .generation_settings import configure_search
from .judge import Features, TransformersJudge, run_in_groups
from .options import PreferenceOptions

_AT_ONCE = 1
"""Initial batch size: answers are long, and in half precision they may depend on the batch."""


_WITHOUT_CHAT = ("paligemma",)
"""Architectures that answer questions about one image without a chat template."""


class PreferenceJudge(TransformersJudge):
    """Compares two images for a prompt.

    The model's whole answer is stored as reasoning; its last mark is the verdict. An answer that reaches the token
    limit has no verdict.

    The search is greedy, so that the same question gives the same answer. Only questions of equal length share a
    batch, without padding. Answers do not depend on the batch, except if two words have equal probability up to
    rounding.
    """

    def __init__(self, setup: Setup[PreferenceOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "AutoModelForImageTextToText", "AutoProcessor"),
            setup,
            _AT_ONCE,
            _AT_ONCE,
        )
        self._options = setup.options
        architecture = self.loaded.network.config.model_type
        if not getattr(self.loaded.processor, "chat_template", None) and architecture not in _WITHOUT_CHAT:
            raise BadModel(f"{place.spec}: has no chat template; use a model that answers questions")
        self.loaded.settings["search"] = configure_search(self.loaded.network, 1, setup.options.max_tokens)

    def answers(self, capability: Capability, queries: list[Query]) -> Sequence[Preference | TextReply | Failure]:
        """Return the preference for each query's pair of images."""
        prepared = [self._question(query) for query in queries]
        return run_in_groups(prepared, self._run)

    def _question(self, query: Query) -> dict[str, torch.Tensor]:
        definitions = query.params.get("definitions", "") if self._options.with_definitions else ""
        first, second = ({"type": "image", "image": image.pil()} for image in query.images)
        content = write_question(
            choose_template(self._options.template, query.params), query.texts[0], definitions, first, second
        )
        features: Any = self.loaded.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
        )  # fmt: skip
        return dict(features)

    def _run(self, features: Features) -> list[Preference]:
        network = self.loaded.network
        with torch.inference_mode():
            tokens = network.generate(**self.loaded.inputs(features))
        answer = tokens[:, features["input_ids"].shape[1] :].cpu()
        ends = network.generation_config.eos_token_id  # one token, several or None
        finished = torch.isin(answer, torch.tensor([] if ends is None else ends, dtype=answer.dtype)).any(dim=1)
        texts = self.loaded.processor.batch_decode(answer, skip_special_tokens=True)
        return [
            Preference(read_verdict(text, ended), reasoning=text.strip())
            for text, ended in zip(texts, finished.tolist(), strict=True)
        ]
