"""The judge: asks a vision-language model which of two images is better, or any other question about images."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from openai import AsyncOpenAI
from t2i_core.api import Preference, QuestionAnswer, ReadText, Setup, TextReply
from t2i_core.api.failure import Failure
from t2i_core.api.image import Image
from t2i_core.api.judge import Capability, Query
from t2i_torch_support.pair_questions import read_verdict

from .concurrency import run_concurrently
from .options import JudgeOptions
from .prices import limit_chat_cost
from .questions import read_answer, strip_thoughts, write_content
from .replies import ChatReply, Choice, Refused, UnusableReply, read
from .server import Failed, Server
from .transcription import read_transcription

_CUT = ("length", "model_length", "max_tokens")
"""Finish reasons of truncated answers: OpenAI's, Mistral's for a full context, Anthropic's."""

_MOST_LOGPROBS = 20
"""Number of tokens whose probability OpenAI's API gives at most."""


class VisionJudge:
    """Asks one model of a server about images."""

    def __init__(self, setup: Setup[JudgeOptions]) -> None:
        self.options = setup.options
        self.server = Server(setup.argument or "", setup)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings for the manifest."""
        return self.server.settings

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Preference | QuestionAnswer | TextReply | ReadText | Failure]]:
        """Yield each query with the model's preference, answer, reply or transcription as soon as it arrives."""
        works: Mapping[str, Callable[[Query], Any]] = {
            "prefer": self._compare,
            "reply": self._reply,
            "read": self._read,
        }
        work = works.get(capability, self._answer)
        return run_concurrently(queries, work, self.server.at_once, self.server.disconnect)

    async def _compare(self, query: Query) -> Preference | Failure:
        try:
            reply = await self._ask("prefer", query)
        except Refused as refusal:
            return Preference("refused", reasoning=str(refusal))
        if isinstance(reply, Failure):
            return reply
        return Preference(
            read_verdict(reply.message.text, finished=reply.finish_reason not in _CUT),
            reasoning=_read_words(reply),
        )

    async def _answer(self, query: Query) -> QuestionAnswer | Failure:
        choices = query.texts[1:]
        try:
            reply = await self._ask("answer", query, {"logprobs": True, "top_logprobs": _MOST_LOGPROBS})
        except Refused as refusal:
            words = f"refused: {refusal}"
            return QuestionAnswer(choices, text=words) if choices else Failure(words)
        except ValueError as error:
            return Failure(str(error))
        if isinstance(reply, Failure):
            return reply
        return read_answer(query, reply, finished=reply.finish_reason not in _CUT)

    async def _reply(self, query: Query) -> TextReply | Failure:
        text = await self._ask_for_text("reply", query)
        return text if isinstance(text, Failure) else TextReply(text)

    async def _read(self, query: Query) -> ReadText | Failure:
        text = await self._ask_for_text("read", query)
        return text if isinstance(text, Failure) else read_transcription(text, query.images[0])

    async def _ask_for_text(self, capability: Capability, query: Query) -> str | Failure:
        """Return a whole reply, without its reasoning."""
        try:
            reply = await self._ask(capability, query)
        except Refused as refusal:
            return Failure(f"refused: {refusal}")
        if isinstance(reply, Failure):
            return reply
        if reply.finish_reason in _CUT:
            return Failure("the reply was cut off; raise max_tokens")
        return strip_thoughts(reply.message.text) or Failure("the reply is empty")

    async def _ask(
        self, capability: Capability, query: Query, for_probabilities: Mapping[str, Any] | None = None
    ) -> Choice | Failure:
        """Send a question and return the reply.

        Args:
            capability: The capability that is asked for.
            query: The query.
            for_probabilities: Fields of the request that ask for probabilities, sent if the options say so.

        Raises:
            Refused: If the server or the model refuses to answer.
            ValueError: If it is a question with more choices than letters.
        """
        try:
            content = await asyncio.to_thread(write_content, self.options, capability, query, self._show)
            messages = [{"role": "user", "content": content}]
            more = for_probabilities or {} if self.options.probabilities else {}
            most = limit_chat_cost(self.options, content)
            reply = await self.server.ask(lambda client: self._send(client, messages, query, more), most)
        except Refused:
            self.server.count_refusal()
            raise
        except (Failed, UnusableReply) as error:
            return Failure(str(error))
        self.server.count_usage(reply)
        found = reply.choices[0]
        if found.finish_reason == "error":  # from gateways, about the model behind them
            return Failure("the answer is incomplete: the server reports an error of its model")
        if found.message.refusal or found.finish_reason == "content_filter":
            self.server.count_refusal()
            raise Refused("\n\n".join(text for text in (_read_words(found), found.message.refusal) if text))
        return found

    def _show(self, image: Image) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": _data_url(image), "detail": self.options.detail}}

    async def _send(self, client: AsyncOpenAI, messages: Any, query: Query, more: Mapping[str, Any]) -> ChatReply:
        options = self.options
        asked: dict[str, Any] = {options.max_tokens_field: options.max_tokens, **more}
        if options.temperature is not None:
            asked["temperature"] = options.temperature
        if options.seed is not None:
            asked["seed"] = options.seed + int(query.params.get("repeat", 0))
        answer = await client.chat.completions.with_raw_response.create(
            model=self.server.model, messages=messages, extra_body=options.extra_body, **asked
        )
        return read(ChatReply, answer.content)


def _read_words(choice: Choice) -> str:
    """Return all that a model says, its reasoning first."""
    return "\n\n".join(text for text in (choice.message.thoughts, choice.message.text) if text)


def _data_url(image: Image) -> str:
    """Return the image's pixels as a PNG data URL, without the metadata of the original file."""
    file = io.BytesIO()
    image.pil().save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
