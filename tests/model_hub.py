"""A hub of models on this machine: enough of the Hugging Face Hub's protocol to download from it (`HF_ENDPOINT`).

It also serves release files of other publishers (`assets`). Large files are redirected to another host name of the
server, as the hub redirects them to its storage, which understands ranges.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

LARGE = 2000
"""Files of this many bytes or more are stored apart, by their SHA-256."""

TOKEN = "hf_accepted"
"""The token of an account that has accepted all terms."""

_API = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/?]+))?/?(?:\?.*)?")
_FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/([^?]+)")


def commit_id(text: str) -> str:
    """Return a commit id for a test."""
    return hashlib.sha1(text.encode()).hexdigest()


def folder_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their path in it."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@dataclass
class Repository:
    """A repository.

    Attributes:
        commits: Files by commit.
        branches: Commits by branch or tag.
        access: `gated` asks for an accepted token; `garbage` answers with pages that are not the hub's.
    """

    commits: dict[str, Mapping[str, bytes]]
    branches: dict[str, str]
    access: Literal["open", "gated", "garbage"] = "open"


@dataclass(frozen=True)
class Asked:
    """A request: its method, its path and the range of bytes that it asks for."""

    method: str
    path: str
    bytes: str | None


@dataclass
class State:
    """What the hub serves, and what it was asked.

    Attributes:
        repositories: Repositories by name; every other name is answered as a withdrawn one.
        assets: Further files, at `/assets/NAME`.
        cut: SHA-256 or asset names of files whose next download breaks off halfway.
        log: Requests, in order.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    assets: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    log: list[Asked] = field(default_factory=list)

    def publish(self, name: str, files: Mapping[str, bytes], commit: str = "", **changes: Any) -> str:
        """Add a commit to a repository, to which `main` moves. Returns its id."""
        commit = commit or commit_id(name)
        found = self.repositories.setdefault(name, Repository({}, {}))
        found.commits[commit] = files
        found.branches["main"] = commit
        for key, value in changes.items():
            setattr(found, key, value)
        return commit


class Hub(ThreadingHTTPServer):
    """The server."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = State()

    @property
    def endpoint(self) -> str:
        """What `HF_ENDPOINT` must be."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Hub]:
    """Run a hub."""
    hub = Hub()
    thread = threading.Thread(target=hub.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        stop(hub)


def stop(hub: Hub) -> None:
    """Stop a hub: nobody answers at its address."""
    hub.shutdown()
    hub.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        state = self.server.state
        path = unquote(self.path)
        state.log.append(Asked(self.command, path, self.headers.get("Range")))
        if path.startswith("/storage/"):
            self._send_large(path.rpartition("/")[2])
        elif path.startswith("/assets/"):
            name = path.rpartition("/")[2]
            self._send_part(name, state.assets[name]) if name in state.assets else self._refuse(404)
        elif found := _FILE.fullmatch(path.partition("?")[0]):
            self._file(*found.groups())
        elif found := _API.fullmatch(path):
            self._api(*found.groups())
        else:
            self._send(b"a page")

    def _allowed(self, name: str) -> Repository | None:
        """Return a repository that the request may read; the others are refused here, as the hub refuses them."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        found = self.server.state.repositories.get(name)
        if token == "hf_unknown":
            self._refuse(401, message="Invalid credentials in Authorization header")
        elif found is None:
            self._refuse(404 if token else 401, "RepoNotFound")
        elif found.access == "garbage":
            self._send(b"<html>Welcome to our network. Please log in.</html>")
        elif found.access == "gated" and token != TOKEN:
            self._refuse(403 if token else 401, "GatedRepo", f"Access to model {name} is restricted")
        else:
            return found
        return None

    def _api(self, name: str, what: str | None, revision: str | None) -> None:
        if (repository := self._allowed(name)) is None:
            return
        if (commit := self._commit(repository, revision or "main")) is None:
            return
        files = repository.commits[commit]
        answer: Any = {"id": name, "sha": commit, "siblings": [{"rfilename": file} for file in files]}
        if what == "tree":
            answer = [_entry(file, data) for file, data in files.items()]
        self._send(json.dumps(answer).encode(), {"Content-Type": "application/json", "X-Repo-Commit": commit})

    def _file(self, name: str, revision: str, file: str) -> None:
        if (repository := self._allowed(name)) is None:
            return
        if (commit := self._commit(repository, revision)) is None:
            return
        data = repository.commits[commit].get(file)
        if data is None:
            self._refuse(404, "EntryNotFound", headers={"X-Repo-Commit": commit})
        elif len(data) < LARGE:
            self._send(data, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": commit})
        else:
            sha256 = hashlib.sha256(data).hexdigest()
            place = f"http://localhost:{self.server.server_port}/storage/{sha256}"
            linked = {"X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": str(len(data)), "X-Repo-Commit": commit}
            self._send(b"", {**linked, "Location": place}, status=302)

    def _commit(self, repository: Repository, revision: str) -> str | None:
        commit = repository.branches.get(revision, revision)
        if commit in repository.commits:
            return commit
        self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return None

    def _send_large(self, sha256: str) -> None:
        for repository in self.server.state.repositories.values():
            for files in repository.commits.values():
                for data in files.values():
                    if len(data) >= LARGE and hashlib.sha256(data).hexdigest() == sha256:
                        self._send_part(sha256, data)
                        return
        self._refuse(404)

    def _send_part(self, name: str, data: bytes) -> None:
        """Send a file, or the range of it that is asked for."""
        headers, status, start = {"ETag": f'"{name}"', "Accept-Ranges": "bytes"}, 200, 0
        if found := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start, status = int(found[1]), 206
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        cut = self.command == "GET" and name in self.server.state.cut
        self.server.state.cut -= {name} if cut else set()
        self._send(data[start:], headers, status, cut)

    def _refuse(
        self, status: int, code: str = "", message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        said = {"X-Error-Code": code, "X-Error-Message": message, **(headers or {})}
        self._send(b"", {key: value for key, value in said.items() if value}, status)

    def _send(
        self, data: bytes, headers: Mapping[str, str] | None = None, status: int = 200, cut: bool = False
    ) -> None:
        self.send_response(status)
        for key, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection |= cut

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _entry(file: str, data: bytes) -> dict[str, Any]:
    """Return what the hub's list of a repository says of a file."""
    entry: dict[str, Any] = {
        "type": "file",
        "path": file,
        "size": len(data),
        "oid": hashlib.sha1(data).hexdigest(),
    }
    if len(data) >= LARGE:
        entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 135}
    return entry
