"""A real HTTP server on loopback that speaks the API, and misbehaves as scripted."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from PIL import Image as PILImage

KEY = "sk-test-0123456789abcdefghijklmnop"


@dataclass
class Exchange:
    """One request as it arrived; names of headers in small letters."""

    at: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    scripted: ScriptedServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._serve(body)

    def do_GET(self) -> None:
        self._serve({})

    def _serve(self, body: dict[str, Any]) -> None:
        server = self.scripted
        headers = {name.lower(): value for name, value in self.headers.items()}
        with server.lock:
            server.log.append(Exchange(time.monotonic(), self.path, headers, body))
            act = server.script.popleft() if server.script else server.default
            server.now += 1
            server.most_at_once = max(server.most_at_once, server.now)
        try:
            act(self, body)
        except OSError:
            self.close_connection = True  # the client has hung up
        finally:
            with server.lock:
                server.now -= 1

    def answer(self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def json(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        self.answer(status, json.dumps(data).encode(), "application/json", headers)

    def log_message(self, *args: object) -> None:
        pass


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        """A client that hangs up is not an error: many of these tests hang up."""


Act = Callable[[_Handler, dict[str, Any]], None]


@dataclass
class ScriptedServer:
    """Answers well, but for the requests that `script` says what to do with, in the order in which they come."""

    script: deque[Act] = field(default_factory=deque)
    default: Act = field(init=False)
    log: list[Exchange] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)
    now: int = 0
    most_at_once: int = 0
    logprobs: Any = None

    def __post_init__(self) -> None:
        self.default = self.good
        handler = type("Handler", (_Handler,), {"scripted": self})
        self._http = _HTTPServer(("127.0.0.1", 0), handler)
        self.root = f"http://127.0.0.1:{self._http.server_port}"
        self.url = f"{self.root}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def end(self) -> None:
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def options(self) -> dict[str, Any]:
        """Options of a component that asks this server, with fast clocks."""
        return {"base_url": self.url, "backoff": 0.01, "timeout": 30, "retries": 2}

    # what a good server does

    def drawn(self, prompt: str, seed: int | None = None, size: int = 16) -> np.ndarray[Any, Any]:
        """What it draws: noise by prompt, and by the seed if it is sent one."""
        rng = np.random.default_rng(list(hashlib.sha256(f"{prompt}|{seed}".encode()).digest()))
        return rng.integers(1, 256, (size, size, 3), dtype=np.uint8)

    def good(self, handler: _Handler, body: dict[str, Any]) -> None:
        if handler.path.startswith("/files/"):
            prompt = bytes.fromhex(handler.path.removeprefix("/files/")).decode()
            handler.answer(200, png(self.drawn(prompt)), "image/png")
        elif handler.path == "/v1/images/generations":
            if body.get("response_format") == "url":
                item = {"url": f"{self.root}/files/{body['prompt'].encode().hex()}"}
            else:
                item = {"b64_json": base64.b64encode(png(self.drawn(body["prompt"], body.get("seed")))).decode()}
            item["revised_prompt"] = f"{body['prompt']}, in detail"
            usage = {"input_tokens": 10, "output_tokens": 100, "total_tokens": 110}
            handler.json(200, {"created": 1, "data": [item], "model": f"{body['model']}-v2", "usage": usage})
        elif handler.path == "/v1/chat/completions" and isinstance(body["messages"][0]["content"], str):
            self.say(f"A reply to: {body['messages'][0]['content']}")(handler, body)
        elif handler.path == "/v1/chat/completions":
            means = [seen.mean() for seen in shown(body)]
            if "letter of your choice" in body["messages"][0]["content"][-1]["text"]:
                self.say("A" if means[0] > 127 else "B", logprobs=self.logprobs)(handler, body)
                return
            if len(means) == 1:
                self.say(f"a mean of {means[0]:.2f}")(handler, body)
                return
            a, b = means
            letter = "A" if a > b else "B"
            self.say(f"The means are {a:.2f} and {b:.2f}.\n[[{letter}]]")(handler, body)
        else:
            handler.json(404, {"error": {"message": f"no such path: {handler.path}", "code": "not_found"}})

    # how it may answer otherwise

    def say(self, content: str | None, finish: str = "stop", logprobs: Any = None, **message: Any) -> Act:
        """An answer of the model."""

        def act(handler: _Handler, body: dict[str, Any]) -> None:
            choice = {"index": 0, "finish_reason": finish, "message": {"content": content, **message}}
            if body.get("logprobs"):
                choice["logprobs"] = logprobs
            usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
            handler.json(200, {"id": "x", "model": f"{body['model']}-v2", "choices": [choice], "usage": usage})

        return act

    def error(self, status: int, message: str = "", headers: dict[str, str] | None = None, **error: Any) -> Act:
        return lambda handler, body: handler.json(status, {"error": {"message": message, **error}}, headers)

    def data(self, data: Any) -> Act:
        return lambda handler, body: handler.json(200, data)

    def redirect(self, address: str, status: int = 302) -> Act:
        return lambda handler, body: handler.answer(status, b"", "text/plain", {"Location": address})

    def page(self, handler: _Handler, body: dict[str, Any]) -> None:
        """A proxy's page with status 200."""
        handler.answer(200, b"<html>please wait</html>", "text/html")

    def half_json(self, handler: _Handler, body: dict[str, Any]) -> None:
        handler.answer(200, b'{"data": [{"b64', "application/json")

    def cut(self, handler: _Handler, body: dict[str, Any]) -> None:
        """The connection ends in the middle of the body."""
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b'{"data": [{"b64_json": "iVBORw0KGgo')
        handler.close_connection = True

    def hang_up(self, handler: _Handler, body: dict[str, Any]) -> None:
        handler.close_connection = True

    def late(self, seconds: float) -> Act:
        """A good answer, but late."""

        def act(handler: _Handler, body: dict[str, Any]) -> None:
            if not self.ended.wait(seconds):
                self.good(handler, body)

        return act

    def trickle(self, handler: _Handler, body: dict[str, Any]) -> None:
        """An answer that never stalls and never ends."""
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not self.ended.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    PILImage.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def shown(body: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    """The images of a chat request, in their order."""
    parts = [part for part in body["messages"][0]["content"] if part["type"] == "image_url"]
    files = [base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,")) for part in parts]
    return [np.asarray(PILImage.open(io.BytesIO(file))) for file in files]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = ScriptedServer()
    yield server
    server.end()


@pytest.fixture
def key() -> str:
    """The key that the tests' environment holds."""
    return KEY


@pytest.fixture
def seen_images() -> Callable[[dict[str, Any]], list[np.ndarray[Any, Any]]]:
    """Read the images of a chat request."""
    return shown


@pytest.fixture
def on_the_test_server(request: pytest.FixtureRequest, server: ScriptedServer, monkeypatch: Any) -> None:
    """Have a conformance suite ask the test server."""
    prices = {"price_in": 5, "price_out": 40, "image_tokens": 1000}
    monkeypatch.setattr(request.cls, "options", {**server.options, **prices})
