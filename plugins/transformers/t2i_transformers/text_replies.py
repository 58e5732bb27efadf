"""Replies of a vision-language model to texts without images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from t2i_core.api import Failure, Query, TextReply

from .decoder_answers import run_by_length
from .loaded_checkpoint import LoadedCheckpoint


def reply(loaded: LoadedCheckpoint, queries: Sequence[Query]) -> list[TextReply | Failure]:
    """Return the replies to texts, by greedy search.

    Only texts of equal length share a batch, without padding. Reasoning before `</think>` is not part of a reply.
    A reply that reaches the limit of tokens is a failure, because its end is missing.

    Args:
        loaded: The model, whose generation settings hold the limit.
        queries: Queries of one text each.
    """
    if not loaded.processor.chat_template:
        return [Failure("this model answers questions about an image only", final=True)] * len(queries)
    prepared = [_write(loaded, query.texts[0]) for query in queries]

    def generate(part: list[int]) -> list[TextReply | Failure]:
        joined = {name: torch.cat([prepared[n][name] for n in part]) for name in prepared[part[0]]}
        with torch.inference_mode():
            tokens = loaded.network.generate(**loaded.inputs(joined))
        replies = tokens[:, joined["input_ids"].shape[1] :].cpu()
        ends = loaded.network.generation_config.eos_token_id  # one token, several or None
        finished = torch.isin(replies, torch.tensor([] if ends is None else ends, dtype=replies.dtype)).any(dim=1)
        texts = loaded.processor.batch_decode(replies, skip_special_tokens=True)
        return [_read(text, ended) for text, ended in zip(texts, finished.tolist(), strict=True)]

    return run_by_length([one["input_ids"].shape[1] for one in prepared], generate)


def _write(loaded: LoadedCheckpoint, text: str) -> dict[str, torch.Tensor]:
    """Return the model's input for a text."""
    inputs: Any = loaded.processor.apply_chat_template(
        [{"role": "user", "content": [{"type": "text", "text": text}]}],
        add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
    )  # fmt: skip
    return {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}


def _read(text: str, ended: bool) -> TextReply | Failure:
    if not ended:
        return Failure("the reply was cut off; raise max_tokens", final=True)
    return TextReply(re.sub(r"\A.*</think>|<think>.*\Z", "", text, flags=re.S).strip())
