"""The judge of `prefer`: a vision-language model is shown two images and says which is better."""

from __future__ import annotations

from typing import Any

import torch
from t2i_core.api import Preference, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_torch_support.pair_questions import read_verdict, write_question

from . import loading
from .generating import searching
from .judge import Features, TransformersJudge, in_groups
from .options import PreferenceOptions
from .places import CheckpointPlace

_AT_ONCE = 1
"""Answers are long, and in half precision a word may turn with what is answered beside it."""


class PreferenceJudge(TransformersJudge):
    """Answers `prefer`: all that the model says is kept as reasoning, its last word is the verdict.

    An answer that the model did not end itself gives none.

    Words are searched greedily, so that the same question has the same answer. Only questions of equal length are
    answered together, none is padded: the same for any batch, but where two words are as probable as each other up
    to rounding.
    """

    def __init__(self, setup: Setup[PreferenceOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loading.load(setup, place, "AutoModelForImageTextToText", "AutoProcessor"), setup, _AT_ONCE, _AT_ONCE
        )
        self._options = setup.options
        if not getattr(self.loaded.processor, "chat_template", None):
            raise BadModel(f"{place.spec}: has no chat template: it is no model that can be asked questions")
        self.loaded.settings["search"] = searching(self.loaded.network, 1, setup.options.max_tokens)

    def answers(self, capability: Capability, queries: list[Query]) -> list[Preference]:
        """Ask about the pair of each query."""
        prepared = [self._question(query) for query in queries]
        return in_groups(prepared, self._run)

    def _question(self, query: Query) -> dict[str, torch.Tensor]:
        definitions = query.params.get("definitions", "") if self._options.with_definitions else ""
        first, second = ({"type": "image", "image": image.pil()} for image in query.images)
        content = write_question(self._options.template, query.texts[0], definitions, first, second)
        features: Any = self.loaded.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
        )  # fmt: skip
        return dict(features)

    def _run(self, features: Features) -> list[Preference]:
        network = self.loaded.network
        with torch.inference_mode():
            tokens = network.generate(**self.loaded.inputs(features))
        said = tokens[:, features["input_ids"].shape[1] :].cpu()
        ends = network.generation_config.eos_token_id  # one, several or none
        finished = torch.isin(said, torch.tensor([] if ends is None else ends, dtype=said.dtype)).any(dim=1)
        texts = self.loaded.processor.batch_decode(said, skip_special_tokens=True)
        return [
            Preference(read_verdict(text, ended), reasoning=text.strip())
            for text, ended in zip(texts, finished.tolist(), strict=True)
        ]
