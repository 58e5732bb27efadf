"""The capability `reply`: a text without images is sent as it is, and the reply comes without the reasoning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from t2i_core.api import Failure, Query, TextReply
from t2i_core.testing.parts import settle
from t2i_openai.plugin import t2i_judges


@pytest.fixture
def reply_to(server: Any) -> Callable[..., Any]:
    def ask(*texts: str) -> list[Any]:
        component = settle(t2i_judges()[0], server.options, "test-model")
        queries = [Query(texts=(text,)) for text in texts]
        answers = {
            id(query): answer
            for query, answer in component.info.create(component.setup()).observe("reply", queries)
        }
        return [answers[id(query)] for query in queries]

    return ask


def test_the_message_is_the_text_alone(server: Any, reply_to: Callable[..., Any]) -> None:
    assert reply_to("Name a dog.") == [TextReply("A reply to: Name a dog.")]
    (exchange,) = server.log
    assert exchange.body["messages"] == [{"role": "user", "content": "Name a dog."}]
    assert "logprobs" not in exchange.body


@pytest.mark.parametrize(
    ("content", "finish", "expected"),
    [
        ("<think>a cat? no</think> corgi", "stop", "corgi"),
        ("<think>a cat? no", "stop", None),
        ("corg", "length", None),
        ("", "stop", None),
    ],
)
def test_only_complete_replies_count(
    server: Any, reply_to: Callable[..., Any], content: str, finish: str, expected: str | None
) -> None:
    server.default = server.say(content, finish)
    (answer,) = reply_to("Name a dog.")
    assert answer == TextReply(expected) if expected else isinstance(answer, Failure)
