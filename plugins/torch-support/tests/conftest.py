"""A server of files, and an empty folder of checkpoints."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch


class Server(ThreadingHTTPServer):
    """Serves one content as any file but `gone`; of `cut` it sends a part, of `cut-once` at first."""

    content: bytes = bytes(range(256)) * 5000
    asked: list[str]

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/some/where/{name}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        self.server.asked.append(name)
        if name == "gone":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        cut = name == "cut" or (name == "cut-once" and self.server.asked.count(name) == 1)
        self.wfile.write(self.server.content[:-100] if cut else self.server.content)

    def do_HEAD(self) -> None:
        self.server.asked.append(f"head of {self.path.rpartition('/')[2]}")
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def serving() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def server(serving: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    serving.asked = []
    return serving
