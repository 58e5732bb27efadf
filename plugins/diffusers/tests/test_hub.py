"""From a hub, over a real connection: fetched once, then drawn with while nothing can be fetched."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
REPOSITORY = "org/tiny"


class Hub(ThreadingHTTPServer):
    """As much of the hub's interface as a download takes, for one repository."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        self.fetched: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        files = self.server.files
        if path.startswith(f"/api/models/{REPOSITORY}/tree/"):
            tree = [
                {"type": "file", "path": n, "size": len(d), "oid": hashlib.sha1(d).hexdigest()}
                for n, d in files.items()
            ]
            self._send(json.dumps(tree).encode(), {"Content-Type": "application/json"})
        elif path in (
            f"/api/models/{REPOSITORY}",
            *(f"/api/models/{REPOSITORY}/revision/{r}" for r in (COMMIT, "main")),
        ):
            info = {"id": REPOSITORY, "sha": COMMIT, "siblings": [{"rfilename": n} for n in files]}
            self._send(json.dumps(info).encode(), {"Content-Type": "application/json"})
        elif (name := re.sub(f"^/{REPOSITORY}/resolve/({COMMIT}|main)/", "", path)) in files:
            if self.command == "GET":
                self.server.fetched.append(name)
            self._send(
                files[name], {"ETag": f'"{hashlib.sha1(files[name]).hexdigest()}"', "X-Repo-Commit": COMMIT}
            )
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound" if "/resolve/" in path else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _send(self, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for key, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(checkpoint: Any) -> Iterator[Hub]:
    """A hub with one repository, which holds more than a pipeline needs."""
    server = Hub(checkpoint("StableDiffusionPipeline")[0])
    server.files |= {
        "unet/diffusion_pytorch_model.bin": b"a pickle",
        "README.md": b"# tiny",
        "model.ckpt": b"large",
    }
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


PROGRAM = """
import sys
import torch
from t2i_core import ImageRequest, Prompt, Setup
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators

torch.set_num_threads(1)
info = next(i for i in t2i_generators() if i.name == "diffusers")
setup = Setup("org/tiny", DiffusersOptions(steps=1), "cpu", 1)
info.prefetch(setup)
print("fetched", flush=True)
sys.stdin.readline()  # until the hub is gone
offline = Setup("org/tiny", info.resolve(Setup("org/tiny", setup.options, "cpu", 1, True)), "cpu", 1, True)
model = info.create(offline)
((_, answer),) = model.generate([ImageRequest(Prompt("p", "a cat"), 0, 0)])
print(model.settings["revision"], answer.image.shape)
"""


def test_what_was_fetched_draws_without_the_hub(hub: Hub, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
        "HF_HOME": str(tmp_path),
        "HF_HUB_DISABLE_XET": "1",
    }
    environment.pop("HF_HUB_OFFLINE", None)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    said = process.stdout.readline()
    hub.shutdown()
    hub.server_close()
    rest, errors = process.communicate("\n")
    assert (said, process.returncode) == ("fetched\n", 0), errors
    assert rest.split(maxsplit=1) == [COMMIT, "(32, 32, 3)\n"]
    assert {"model_index.json", "unet/diffusion_pytorch_model.safetensors"} <= set(hub.fetched)
    assert not {"unet/diffusion_pytorch_model.bin", "model.ckpt"} & set(hub.fetched), "only what a pipeline needs"
    assert len(hub.fetched) == len(set(hub.fetched))
