"""`t2i taxonomy-predictions` on a local server with OpenAI's API: cost, resumption after a kill, the list."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from t2i_cli.app import app
from t2i_core.api.resolver import installed_resolver
from typer.testing import CliRunner


class ChatServer:
    """Replies to each message after a delay, and counts what it is asked."""

    def __init__(self, delay: float = 0.0) -> None:
        self.asked: list[str] = []
        self.delay = delay
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(server.delay)
                text = body["messages"][0]["content"]
                server.asked.append(text)
                message = {"content": "a useful thing" if text.startswith("The word") else "widget"}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                data = json.dumps({"id": "x", "model": body["model"], "choices": [choice]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *words: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def end(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = ChatServer()
    yield found
    found.end()


def words(server: ChatServer, out: Path, *more: str) -> list[str]:
    return [
        "taxonomy-predictions",
        "openai:tiny",
        "-o",
        f"judge:openai.base_url={server.url}",
        "--out",
        str(out),
        *more,
    ]


@pytest.mark.long
def test_the_list_is_written_after_the_cost_is_told(server: ChatServer, tmp_path: Path) -> None:
    out = tmp_path / "list.csv"
    done = CliRunner().invoke(app, words(server, out, "--limit", "12", "--dry-run"))
    assert done.exit_code == 0, done.output
    assert "12 synsets" in done.stderr
    assert not server.asked
    done = CliRunner().invoke(app, words(server, out, "--limit", "12"))
    assert done.exit_code == 0, done.output
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert rows[0].keys() == {"synset", "lemma", "definition", "subset"}
    assert {(row["lemma"], row["definition"], row["subset"]) for row in rows} == {
        ("widget", "a useful thing", "p-easy")
    }
    assert len(server.asked) == len(set(server.asked)) == 24
    source = installed_resolver().component("prompt_source", f"taxonomy-predictions:{out}", {})
    prompts = list(source.info.prompts(source.setup()))
    assert {prompt.text for prompt in prompts} == {"An image of widget (a useful thing)"}
    assert [prompt.scene.objects[0].cls.synset for prompt in prompts] == [row["synset"] for row in rows]
    asked = len(server.asked)
    assert CliRunner().invoke(app, words(server, out, "--limit", "12")).exit_code == 0
    assert len(server.asked) == asked


@pytest.mark.parametrize(
    ("more", "exit_code"),
    [
        (["--concepts", "no-such-list"], 3),
        (["--task", "nonsense"], 2),
        (["--out", "no folder/list.csv"], 11),
        (["-o", "judge:openai.no_such_option=1"], 6),
    ],
)
def test_bad_input_is_one_line(server: ChatServer, tmp_path: Path, more: list[str], exit_code: int) -> None:
    done = CliRunner().invoke(app, words(server, tmp_path / "list.csv", *more))
    assert done.exit_code == exit_code, done.output
    assert "Traceback" not in done.output
    assert not server.asked


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="kills by signal")
def test_a_killed_run_keeps_what_had_arrived(server: ChatServer, tmp_path: Path) -> None:
    server.delay = 0.2
    out = tmp_path / "list.csv"
    answers = tmp_path / "list.csv.answers.jsonl"
    command = words(server, out, "--limit", "20", "--no-definitions", "-o", "judge:openai.concurrency=1")
    process: Any = subprocess.Popen([sys.executable, "-m", "t2i_cli", *command], stderr=subprocess.DEVNULL)
    while not answers.exists() or answers.read_bytes().count(b"\n") < 3:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.delay = 0.0
    time.sleep(0.3)  # a request in flight may still arrive
    arrived, kept = len(server.asked), answers.read_bytes().count(b"\n")
    assert arrived - kept <= 1
    assert CliRunner().invoke(app, command).exit_code == 0
    messages = [json.loads(line)["message"] for line in answers.read_text().splitlines()]
    assert len(messages) == len(set(messages))
    assert len(server.asked) == arrived + len(messages) - kept
