"""Prices of requests: the most that one can cost before it is sent, and its cost by the server's answer.

A token has at least one byte of the text, so a text has at most as many tokens as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from t2i_core.api import ImageRequest, Price, Query
from t2i_core.api.judge import Capability

from .options import ChatOptions, ImageOptions, JudgeOptions, ServerOptions, is_local
from .questions import Part, write_content
from .replies import ImagesReply, Reply

_FRAME_TOKENS = 200
"""Most tokens that a server adds to a message: its frame, and the system prompt of some models."""

_PART_TOKENS = 10
"""Most tokens that a server adds to each part of a message."""


def price_images(options: ImageOptions) -> Price | None:
    """Return the price of images; None if they cost nothing."""
    if _is_free(options):
        return None

    def most(request: ImageRequest, capability: Capability | None) -> float:
        return limit_image_cost(options, request.prompt.text)

    return Price(most, explain_unknown_price(options))


def price_answers(options: JudgeOptions) -> Price | None:
    """Return the price of a judge's answers; None if they cost nothing."""
    if _is_free(options):
        return None

    def most(query: Query, capability: Capability | None) -> float:
        try:
            content = write_content(options, capability or "", query, lambda image: {"type": "image_url"})
        except (ValueError, TypeError):  # nothing is sent
            return 0.0
        return limit_chat_cost(options, content)

    return Price(most, explain_unknown_price(options))


def explain_unknown_price(options: ServerOptions) -> str:
    """Return what must be set before the most that a request costs is known; empty if it is known."""
    if _is_free(options):
        return ""
    if isinstance(options, ImageOptions):
        if options.price_per_image is None and None in (options.price_in, options.price_out):
            return (
                "set price_per_image (US dollars), or price_in, price_out (for a million tokens) and image_tokens"
            )
        if options.price_out and options.price_in is None:
            return "set price_in (US dollars for a million tokens), 0 if prompts cost nothing"
        return _explain_image_tokens(options.price_out, options.image_tokens)
    if options.price_in is None or options.price_out is None:
        return "set price_in and price_out (US dollars for a million tokens)"
    if isinstance(options, JudgeOptions):
        return _explain_image_tokens(options.price_in, options.image_tokens)
    return ""


def _explain_image_tokens(price: float | None, image_tokens: int | None) -> str:
    if not price or image_tokens is not None:
        return ""
    return "set image_tokens, the most tokens that the server counts for an image (0 without images)"


def limit_image_cost(options: ImageOptions, prompt: str) -> float:
    """Return the most that an image request can cost, in USD; prices that are not known count as 0."""
    images = max(1, _read_count(options, "n"))
    tokens_in, tokens_out = _count_tokens(prompt) + _FRAME_TOKENS, images * (options.image_tokens or 0)
    return images * (options.price_per_image or 0) + _price_tokens(options, tokens_in, tokens_out)


def limit_chat_cost(options: ChatOptions, content: str | Sequence[Part]) -> float:
    """Return the most that a chat request can cost, in USD; prices that are not known count as 0.

    Args:
        options: The options.
        content: The content of its message.
    """
    parts: Sequence[Part] = [{"text": content}] if isinstance(content, str) else content
    image_tokens = (options.image_tokens or 0) if isinstance(options, JudgeOptions) else 0
    tokens_in = _FRAME_TOKENS + len(parts) * _PART_TOKENS
    tokens_in += sum(_count_tokens(part["text"]) if "text" in part else image_tokens for part in parts)
    each = max(options.max_tokens, *(_read_count(options, n) for n in ("max_tokens", "max_completion_tokens")))
    return _price_tokens(options, tokens_in, max(1, _read_count(options, "n")) * each)


def find_cost(options: ServerOptions, reply: Reply) -> float | None:
    """Return what an answer has cost, in USD; None if its tokens have a price and it does not count them."""
    usage = reply.usage
    tokens_in, tokens_out = (usage.tokens_in, usage.tokens_out) if usage else (0, 0)
    if (options.price_in and not tokens_in) or (options.price_out and not tokens_out):
        return None
    images = len(reply.data) if isinstance(reply, ImagesReply) else 0
    per_image = (options.price_per_image or 0) if isinstance(options, ImageOptions) else 0
    return images * per_image + _price_tokens(options, tokens_in, tokens_out)


def _is_free(options: ServerOptions) -> bool:
    """Return whether requests cost nothing.

    They do if all prices that must be set are 0, or if none is set and the server is on this machine.
    """
    prices = [options.price_in, options.price_out]
    per_image = options.price_per_image if isinstance(options, ImageOptions) else None
    if all(price is None for price in (*prices, per_image)):
        return is_local(options.base_url)
    return not any((*prices, per_image)) and (per_image == 0 or None not in prices)


def _price_tokens(options: ServerOptions, tokens_in: int, tokens_out: int) -> float:
    return (tokens_in * (options.price_in or 0) + tokens_out * (options.price_out or 0)) / 1e6


def _count_tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _read_count(options: ServerOptions, field: str) -> int:
    """Return a whole number that the user sends in `extra_body`; 0 without one."""
    value: Any = options.extra_body.get(field)
    return value if isinstance(value, int) else 0
