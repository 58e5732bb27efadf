"""Parsing of servers' JSON answers; only the fields that t2i uses are required."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

ReplyT = TypeVar("ReplyT", bound="Reply")


class Unreadable(Exception):
    """Raised for an answer that is not JSON: truncated, or a proxy's page. A retry may help."""


class UnusableReply(Exception):
    """Raised for an answer that is JSON without the requested content. A retry does not help."""


class Refused(Exception):
    """Raised if the server refuses a request because of its content policy."""


class Usage(BaseModel):
    """Token counts, under the names of the chat or the images endpoint."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def tokens_in(self) -> int:
        """Number of tokens of the request."""
        return _clamp(self.prompt_tokens or self.input_tokens)

    @property
    def tokens_out(self) -> int:
        """Number of tokens of the answer."""
        return _clamp(self.completion_tokens or self.output_tokens)


def _clamp(count: int | None) -> int:
    """Return a count of a server, which may be wrong, as a number that can be multiplied."""
    return min(max(0, count or 0), 10**12)


class Reply(BaseModel):
    """Fields of every answer."""

    model: str | None = None
    usage: Usage | None = None


class ImageData(BaseModel):
    """One image, as data or as an address."""

    b64_json: str | None = None
    url: str | None = None
    revised_prompt: str | None = None


class ImagesReply(Reply):
    """Answer of the images endpoint."""

    data: list[ImageData] = Field(min_length=1)


class Message(BaseModel):
    """The model's message; servers differ in how they return its text and reasoning."""

    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None

    @property
    def text(self) -> str:
        """The text, which some servers return in parts."""
        if isinstance(self.content, list):
            return "".join(str(part.get("text") or "") for part in self.content if isinstance(part, dict))
        return self.content or ""

    @property
    def thoughts(self) -> str:
        """The reasoning, if the server returns it separately."""
        return next((t for t in (self.reasoning_content, self.reasoning) if isinstance(t, str)), "")


class Choice(BaseModel):
    """One answer of the model, with its finish reason."""

    message: Message
    finish_reason: str | None = None
    logprobs: Any = None


class ChatReply(Reply):
    """Answer of the chat endpoint."""

    choices: list[Choice] = Field(min_length=1)


def read(kind: type[ReplyT], body: bytes) -> ReplyT:
    """Parse an answer. Raises Unreadable, Refused or UnusableReply, which quote none of its content."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):  # also for bytes that are not text, or endlessly nested lists
        raise Unreadable(f"the answer is not JSON ({len(body)} bytes)") from None
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        # some servers send errors with status 200
        if isinstance(data, dict) and data.get("error"):
            raise _make_error(data["error"]) from None
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the whole answer"
        raise UnusableReply(f"the answer is JSON of another shape: {where}: {problem['msg']}") from None


def _make_error(error: Any) -> Refused | UnusableReply:
    if is_refusal(error):
        return Refused(find_codes(error) or CONTENT_POLICY)
    return UnusableReply(f"the answer holds an error instead of the requested content{bracket(find_codes(error))}")


CONTENT_POLICY = "content policy"
"""Reason of a refusal without a code."""

_CODES = re.compile(r"content.?policy|content.?filter|moderation|responsible.?ai", re.I)
"""Codes of refusals: content_policy_violation, moderation_blocked, content_filter, ResponsibleAI..."""

_WORDS = re.compile(r"content.?(management.)?policy|safety system|\bflagged\b", re.I)
"""Texts of refusals. The list is short on purpose, because a refusal is final and other errors must not match."""


def is_refusal(error: Any) -> bool:
    """Return whether the `error` of an answer is a refusal of the content."""
    if not isinstance(error, dict):
        return isinstance(error, str) and bool(_WORDS.search(error))
    inner = error.get("innererror")
    codes = [error.get("code"), error.get("type"), inner.get("code") if isinstance(inner, dict) else None]
    words = error.get("message")
    return any(isinstance(c, str) and _CODES.search(c) for c in codes) or (
        isinstance(words, str) and bool(_WORDS.search(words))
    )


_IDENTIFIER = re.compile(r"(?=.{1,48}$)[A-Za-z]+(?:_[A-Za-z]+)*")
"""Pattern of codes, which names of hosts, addresses, paths and keys do not match."""


def find_codes(error: Any) -> str:
    """Return the code, type and parameter of an answer's `error`, without its free text.

    The text may come from a service behind the server and contain internal names, addresses and traces. Codes are
    returned only if they are plain identifiers.
    """
    if not isinstance(error, dict):
        return ""
    inner = error.get("innererror")
    found = [error.get("code"), inner.get("code") if isinstance(inner, dict) else None, error.get("type")]
    codes = [code for code in found if isinstance(code, str) and _IDENTIFIER.fullmatch(code)]
    param = error.get("param")
    if isinstance(param, str) and _IDENTIFIER.fullmatch(param):
        codes.append(f"parameter {param}")
    return ", ".join(dict.fromkeys(codes))


def bracket(text: str) -> str:
    """Return a text in brackets after a space; an empty text stays empty."""
    return f" ({text})" if text else ""


def find_message(error: Any) -> str:
    """Return the free text of an answer's `error`."""
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else json.dumps(error)
