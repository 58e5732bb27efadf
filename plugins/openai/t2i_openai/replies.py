"""What servers answer, read from JSON: of what compatible servers send, only what is used here is asked for."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

ReplyT = TypeVar("ReplyT", bound="Reply")


class Unreadable(Exception):
    """The answer is no JSON: it was cut, or a page of some proxy. It is worth another try."""


class UnusableReply(Exception):
    """The answer is JSON, but not what was asked for. Another try would be answered likewise."""


class Refused(Exception):
    """The server will not do this, for what is asked: its policy."""


class Usage(BaseModel):
    """Tokens, under the names of the chat or of the images endpoint."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def tokens_in(self) -> int:
        """Tokens of the request."""
        return self.prompt_tokens or self.input_tokens or 0

    @property
    def tokens_out(self) -> int:
        """Tokens of the answer."""
        return self.completion_tokens or self.output_tokens or 0


class Reply(BaseModel):
    """What every answer may hold."""

    model: str | None = None
    usage: Usage | None = None


class ImageData(BaseModel):
    """One image, by value or by address."""

    b64_json: str | None = None
    url: str | None = None
    revised_prompt: str | None = None


class ImagesReply(Reply):
    """Answer of the images endpoint."""

    data: list[ImageData] = Field(min_length=1)


class Message(BaseModel):
    """What the model says; servers differ in how they give its words and its reasoning."""

    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None

    @property
    def text(self) -> str:
        """Its words, which some servers give in parts."""
        if isinstance(self.content, list):
            return "".join(str(part.get("text") or "") for part in self.content if isinstance(part, dict))
        return self.content or ""

    @property
    def thoughts(self) -> str:
        """Its reasoning, where the server keeps that apart."""
        return next((t for t in (self.reasoning_content, self.reasoning) if isinstance(t, str)), "")


class Choice(BaseModel):
    """One answer of the model, and why it ended."""

    message: Message
    finish_reason: str | None = None


class ChatReply(Reply):
    """Answer of the chat endpoint."""

    choices: list[Choice] = Field(min_length=1)


def read(kind: type[ReplyT], body: bytes) -> ReplyT:
    """Read an answer. Raises Unreadable, Refused or UnusableReply, which say nothing of what else it holds."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):  # also where the bytes are no text, or lists in lists without end
        raise Unreadable(f"the answer is no JSON ({len(body)} bytes)") from None
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        # some servers send errors with status 200
        if isinstance(data, dict) and data.get("error"):
            raise _error_in_answer(data["error"]) from None
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the whole"
        raise UnusableReply(f"the answer is JSON of another shape: {where}: {problem['msg']}") from None


def _error_in_answer(error: Any) -> Refused | UnusableReply:
    if is_refusal(error):
        return Refused(codes_of(error) or CONTENT_POLICY)
    return UnusableReply(f"the answer holds an error instead of what was asked for{in_brackets(codes_of(error))}")


CONTENT_POLICY = "content policy"
"""Why a server refuses that gives no code."""

_CODES = re.compile(r"content.?policy|content.?filter|moderation|responsible.?ai", re.I)
"""How servers refuse in codes: content_policy_violation, moderation_blocked, content_filter, ResponsibleAI..."""

_WORDS = re.compile(r"content.?(management.)?policy|safety system|\bflagged\b", re.I)
"""How they refuse in words. No more than these: a refusal is final, and a misspelt option is none."""


def is_refusal(error: Any) -> bool:
    """Whether the `error` of an answer says that the content was refused."""
    if not isinstance(error, dict):
        return isinstance(error, str) and bool(_WORDS.search(error))
    inner = error.get("innererror")
    codes = [error.get("code"), error.get("type"), inner.get("code") if isinstance(inner, dict) else None]
    words = error.get("message")
    return any(isinstance(c, str) and _CODES.search(c) for c in codes) or (
        isinstance(words, str) and bool(_WORDS.search(words))
    )


_IDENTIFIER = re.compile(r"(?=.{1,48}$)[A-Za-z]+(?:_[A-Za-z]+)*")
"""What codes look like. Neither names of hosts, addresses and paths nor keys do."""


def codes_of(error: Any) -> str:
    """Return the code, type and parameter of an answer's `error`, without its free text.

    The text may come from a service behind the server, with internal names, addresses and traces in it; codes are
    kept only where they are plain identifiers.
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


def in_brackets(text: str) -> str:
    """Return a text as an insertion; nothing where it is empty."""
    return f" ({text})" if text else ""


def message_of(error: Any) -> str:
    """Return the free text of an answer's `error`."""
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else json.dumps(error)
