"""The judge: asks a vision-language model which of two images is better."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from openai import AsyncOpenAI
from t2i_core.api import Preference, Setup
from t2i_core.api.failure import Failure
from t2i_core.api.image import Image
from t2i_core.api.judge import Capability, Query
from t2i_torch_support.pair_questions import read_verdict, write_question

from .concurrency import run_concurrently
from .options import JudgeOptions
from .replies import ChatReply, Choice, Refused, UnusableReply, read
from .server import Failed, Server

_CUT = ("length", "model_length", "max_tokens")
"""Finish reasons of truncated answers: OpenAI's, Mistral's for a full context, Anthropic's."""


class PairJudge:
    """Compares images with one model of a server."""

    def __init__(self, setup: Setup[JudgeOptions]) -> None:
        self.options = setup.options
        self.server = Server(setup.argument or "", setup.options, setup.batch_size, setup.offline)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings for the manifest."""
        return self.server.settings

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Preference | Failure]]:
        """Yield each query with the model's preference as soon as it arrives."""
        return run_concurrently(queries, self._compare, self.server.at_once, self.server.disconnect)

    async def _compare(self, query: Query) -> Preference | Failure:
        try:
            messages = [{"role": "user", "content": await asyncio.to_thread(self._question, query)}]
            reply = await self.server.ask(lambda client: self._send(client, messages, query))
        except Refused as refusal:
            self.server.count_refusal()
            return Preference("refused", reasoning=str(refusal))
        except (Failed, UnusableReply) as error:
            return Failure(str(error))
        self.server.count_usage(reply)
        if reply.choices[0].finish_reason == "error":  # from gateways, about the model behind them
            return Failure("the answer is incomplete: the server reports an error of its model")
        found = _preference(reply.choices[0])
        if found.verdict == "refused":
            self.server.count_refusal()
        return found

    def _question(self, query: Query) -> list[dict[str, Any]]:
        definitions = query.params.get("definitions", "") if self.options.with_definitions else ""
        first, second = (
            {"type": "image_url", "image_url": {"url": _data_url(image), "detail": self.options.detail}}
            for image in query.images
        )
        return write_question(self.options.template, query.texts[0], definitions, first, second)

    async def _send(self, client: AsyncOpenAI, messages: Any, query: Query) -> ChatReply:
        options = self.options
        asked: dict[str, Any] = {options.max_tokens_field: options.max_tokens}
        if options.temperature is not None:
            asked["temperature"] = options.temperature
        if options.seed is not None:
            asked["seed"] = options.seed + int(query.params.get("repeat", 0))
        answer = await client.chat.completions.with_raw_response.create(
            model=self.server.model, messages=messages, extra_body=options.extra_body, **asked
        )
        return read(ChatReply, answer.content)


def _preference(choice: Choice) -> Preference:
    """Return the preference in an answer, with the answer's text."""
    message = choice.message
    words = "\n\n".join(text for text in (message.thoughts, message.text) if text)
    if message.refusal or choice.finish_reason == "content_filter":
        return Preference("refused", reasoning="\n\n".join(t for t in (words, message.refusal) if t))
    return Preference(read_verdict(message.text, finished=choice.finish_reason not in _CUT), reasoning=words)


def _data_url(image: Image) -> str:
    """Return the image's pixels as a PNG data URL, without the metadata of the original file."""
    file = io.BytesIO()
    image.pil().save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
