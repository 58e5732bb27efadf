"""Definitions of prompts: a judge that chats is told them, and what they change stands beside."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from t2i_cli.app import app
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from typer.testing import CliRunner

DEFINED = {"dog": "a member of the genus Canis", "bear": "massive plantigrade mammal", "car": ""}
LIST = [
    {
        "id": name,
        "prompt": f"a photo of a {name}",
        "definition": text,
        "scene": {"objects": [{"cls": {"name": name}}]},
    }
    for name, text in DEFINED.items()
]
SMALL = {"size": 64, "spp": 1, "workers": 1}


class Asked(ThreadingHTTPServer):
    """A server with OpenAI's API that keeps the texts it is sent; the first image is always better to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.texts: list[str] = []


class Answer(BaseHTTPRequestHandler):
    server: Asked

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.texts.append("".join(part.get("text", "") for part in said["messages"][-1]["content"]))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "[[A]]"}}
        answer = {"id": "x", "object": "chat.completion", "created": 0, "model": "x", "choices": [choice]}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Asked]:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    with Asked() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def battle(asked: Asked, out: Path, prompts: str, **options: dict[str, Any]) -> Path:
    """Rate two simulators by the judge behind the server."""
    models = [ModelRequest("simulator", name, {**SMALL, "salt": salt}) for salt, name in enumerate("ab")]
    here = {"base_url": f"http://127.0.0.1:{asked.server_port}/v1"}
    given = {"judge:openai": here, **options}
    found = evaluate("elo", models, prompts=prompts, seeds=1, limit=3, judge="openai:x", out=out, options=given)
    assert found.failed is None
    return out


@pytest.mark.long
def test_the_definitions_of_a_list_are_told_to_the_judge(asked: Asked, tmp_path: Path) -> None:
    prompts = tmp_path / "list.jsonl"
    prompts.write_text("\n".join(map(json.dumps, LIST)))
    battle(asked, tmp_path / "with", str(prompts))
    assert len(asked.texts) == 6
    for name, text in DEFINED.items():
        own = [one for one in asked.texts if f"Prompt: a photo of a {name}\n" in one]
        assert [f"Definition: {text}\n" in one for one in own] == [bool(text)] * 2
    asked.texts.clear()
    battle(asked, tmp_path / "without", str(prompts), elo={"definition": "none"})
    assert len(asked.texts) == 4  # what was asked without one before is known
    assert not any("Definition" in text for text in asked.texts)


@pytest.mark.long
def test_effects_of_definitions_in_prompts_are_shown(asked: Asked, tmp_path: Path) -> None:
    """The paper's win change: the same concepts with their definitions in brackets, or without."""
    with_, without = (
        battle(asked, tmp_path / name, "wordnet-mini", **{"wordnet-mini": {"definition": definition}})
        for name, definition in (("with", True), ("without", False))
    )
    assert sum("(" in text.partition("Prompt: ")[2].partition("\n")[0] for text in asked.texts) == 6
    done = CliRunner().invoke(app, ["analyze", str(with_), "--json", "-o", f"elo.beside={without}"])
    assert done.exit_code == 0, done.output
    (run,) = json.loads(done.stdout)
    (change,) = (one["table"] for one in run["analyses"] if one["name"] == "change from without")
    assert [(line["model"], line["prompts"], line["change"]) for line in change] == [("a", 3, 0), ("b", 3, 0)]
