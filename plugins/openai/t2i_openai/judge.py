"""The judge: a vision-language model is shown two images and says which is better."""

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

from .flight import in_flight
from .options import JudgeOptions
from .replies import ChatReply, Choice, Refused, UnusableReply, read
from .server import Failed, Server

_CUT = ("length", "model_length", "max_tokens")
"""How servers say that an answer was cut off: OpenAI's word, Mistral's for a full context, Anthropic's."""


class PairJudge:
    """Preferences of one model behind a server."""

    def __init__(self, setup: Setup[JudgeOptions]) -> None:
        self.options = setup.options
        self.server = Server(setup.argument or "", setup.options, setup.batch_size, setup.offline)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest says of the judge."""
        return self.server.settings

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Preference | Failure]]:
        """Yield each query with the model's preference as soon as it is there."""
        return in_flight(queries, self._compare, self.server.at_once, self.server.disconnect)

    async def _compare(self, query: Query) -> Preference | Failure:
        try:
            messages = [{"role": "user", "content": await asyncio.to_thread(self._question, query)}]
            reply = await self.server.ask(lambda client: self._send(client, messages, query))
        except Refused as refusal:
            self.server.refused()
            return Preference("refused", reasoning=str(refusal))
        except (Failed, UnusableReply) as error:
            return Failure(str(error))
        self.server.used(reply)
        if reply.choices[0].finish_reason == "error":  # as gateways say of a model behind them
            return Failure("the answer broke off: the server says that its model ended in an error")
        found = _preference(reply.choices[0])
        if found.verdict == "refused":
            self.server.refused()
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
    """What an answer says, with its words."""
    message = choice.message
    words = "\n\n".join(text for text in (message.thoughts, message.text) if text)
    if message.refusal or choice.finish_reason == "content_filter":
        return Preference("refused", reasoning="\n\n".join(t for t in (words, message.refusal) if t))
    return Preference(read_verdict(message.text, finished=choice.finish_reason not in _CUT), reasoning=words)


def _data_url(image: Image) -> str:
    """The image's pixels as PNG: what the file holds beside them is nobody's business, whatever its format."""
    file = io.BytesIO()
    image.pil().save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
