"""The capability `read`: a model is asked to transcribe an image, and its lines are the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Failure, Query, ReadText
from t2i_core.testing import sample_images
from t2i_core.testing.parts import settle
from t2i_openai.plugin import t2i_judges
from t2i_openai.transcription import REQUEST


def transcribe(server: Any, folder: Path) -> ReadText | Failure:
    component = settle(t2i_judges()[0], server.options, "test-model")
    query = Query(tuple(sample_images(folder)[:1]))
    ((asked, answer),) = component.info.create(component.setup()).observe("read", [query])
    assert asked is query
    assert isinstance(answer, ReadText | Failure)
    return answer


def test_the_request_shows_the_image_and_asks_for_its_text(server: Any, tmp_path: Path) -> None:
    server.default = server.say("STOP")
    transcribe(server, tmp_path)
    (exchange,) = server.log
    shown, said = exchange.body["messages"][0]["content"]
    assert shown["type"] == "image_url"
    assert said == {"type": "text", "text": REQUEST}
    assert "one short sentence" not in REQUEST


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("STOP\n\n  no parking ", ("STOP", "no parking")),
        ("```text\nSTOP\n```", ("STOP",)),
        ("<think>it says STOQ</think>STOQ", ("STOQ",)),
        ("NO TEXT", ()),
        ("No text.", ()),
        ("NO TEXT HERE", ("NO TEXT HERE",)),
    ],
)
def test_lines_are_taken_as_they_are(server: Any, tmp_path: Path, content: str, lines: tuple[str, ...]) -> None:
    server.default = server.say(content)
    answer = transcribe(server, tmp_path)
    assert isinstance(answer, ReadText)
    assert answer.lines == lines
    assert answer.boxes is None
    assert answer.scores is None


@pytest.mark.parametrize(("content", "finish"), [("STO", "length"), ("", "stop"), ("STOP", "content_filter")])
def test_an_incomplete_answer_is_a_failure(server: Any, tmp_path: Path, content: str, finish: str) -> None:
    server.default = server.say(content, finish)
    assert isinstance(transcribe(server, tmp_path), Failure)
