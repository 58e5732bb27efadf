"""Files of weights from a server and from the hub: whole, the right ones, and one clear line where not."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from t2i_core.api.errors import BadModel, BadOption, NotHere
from t2i_core.models import files

CONTENT = bytes(range(256)) * 5000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
SPEC = "judge:weights"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Server(ThreadingHTTPServer):
    """Serves one content as any file but `gone`; of `cut` it sends a part, of `cut-once` at first."""

    asked: list[str]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        self.server.asked.append(name)
        if name == "gone":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        cut = name == "cut" or (name == "cut-once" and self.server.asked.count(name) == 1)
        self.wfile.write(CONTENT[:-100] if cut else CONTENT)

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


def url(server: Server, name: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/some/where/{name}"


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "hub").rglob("*") if path.is_file())


def refused(address: str, sha256: str | None, offline: bool = False) -> str:
    with pytest.raises(BadModel) as error:
        files.from_url(address, sha256, offline, SPEC)
    assert str(error.value).startswith(f"{SPEC}: ")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("sha256", [DIGEST, DIGEST[:8]])
def test_a_file_is_fetched_once_and_held_to_its_digest(server: Server, tmp_path: Path, sha256: str) -> None:
    address = url(server, "good.pt")
    file = files.from_url(address, sha256, False, SPEC, "of/mine")
    assert file == tmp_path / "hub" / "checkpoints" / "of" / "mine" / "good.pt"
    assert file.read_bytes() == CONTENT
    assert files.from_url(address, sha256, True, SPEC, "of/mine") == file
    assert server.asked == left(tmp_path) == ["good.pt"]
    file.write_bytes(CONTENT[:-1])
    with pytest.raises(BadModel, match=f"its SHA-256 is .*, not {sha256}"):
        files.from_url(address, sha256, False, SPEC, "of/mine")


def test_what_is_cut_off_gone_or_another_file_leaves_nothing(server: Server, tmp_path: Path) -> None:
    for sha256 in (None, DIGEST):
        assert "cut cannot be fetched (EOFError: cut off after 1279900 of 1280000 bytes)" in refused(
            url(server, "cut"), sha256
        )
    assert "gone cannot be fetched (HTTPError: HTTP Error 404: Not Found)" in refused(url(server, "gone"), None)
    assert f"gives another file: its SHA-256 is {DIGEST}, not 00" in refused(url(server, "good.pt"), "00")
    assert left(tmp_path) == []


def test_a_broken_download_begins_again_where_the_server_ignores_ranges(server: Server) -> None:
    assert files.from_url(url(server, "cut-once"), DIGEST, False, SPEC).read_bytes() == CONTENT
    assert server.asked == ["cut-once", "cut-once"]


def test_nothing_is_asked_offline(server: Server) -> None:
    assert f"may be fetched: run `t2i prefetch {SPEC}` with a network" in refused(url(server, "a"), None, True)
    with pytest.raises(NotHere, match=f"may be fetched: run `t2i prefetch {SPEC}` with a network"):
        files.check_url(url(server, "a"), True, SPEC)
    assert server.asked == []


def test_no_server(server: Server) -> None:
    said = (
        rf"^no network, and {SPEC} \(http://127.0.0.1:1/a.pt, to be put at .*hub/checkpoints/mine/a.pt\) is not .*"
        ": URLError"
    )
    with pytest.raises(NotHere, match=said):
        files.from_url("http://127.0.0.1:1/a.pt", None, False, SPEC, "mine")
    with pytest.raises(NotHere, match=said):
        files.check_url("http://127.0.0.1:1/a.pt", False, SPEC, "mine")


def test_before_a_file_is_fetched_its_server_is_asked_for_no_more_than_an_answer(server: Server) -> None:
    address = url(server, "good.pt")
    files.check_url(address, False, SPEC)
    assert server.asked == ["head of good.pt"]
    files.from_url(address, DIGEST, False, SPEC)
    files.check_url(address, True, SPEC)
    assert server.asked == ["head of good.pt", "good.pt"]


def test_what_lies_here_has_no_revisions(tmp_path: Path) -> None:
    files.refuse_revision(None, tmp_path, SPEC)
    with pytest.raises(BadOption, match=rf"{SPEC}: {tmp_path} .* no revisions: leave out the option revision=v2"):
        files.refuse_revision("v2", tmp_path, SPEC)


def test_a_folder_that_cannot_be_written_is_said(server: Server, tmp_path: Path) -> None:
    (tmp_path / "hub").write_text("no folder")
    assert "cannot be fetched (" in refused(url(server, "good.pt"), None)


def test_where_no_digest_is_known_the_first_one_counts(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = url(server, "good.pt")
    with caplog.at_level(logging.WARNING):
        file = files.from_url(address, None, False, SPEC)
        files.from_url(address, None, True, SPEC)
    assert len(caplog.records) == 1
    assert DIGEST in caplog.text
    record = file.with_name("good.pt.sha256")
    assert record.read_text() == f"{DIGEST}\n"
    assert left(tmp_path) == ["good.pt", "good.pt.sha256"]
    file.write_bytes(b"another")
    changed = hashlib.sha256(b"another").hexdigest()
    assert f"{file} has changed since it was first seen here: its SHA-256 is {changed}, not {DIGEST}" in refused(
        address, None
    )
    assert files.from_url(address, changed, False, SPEC) == file  # pinned from outside
    record.write_text("nothing")
    assert f"{record} holds no SHA-256" in refused(address, None)


# the hub ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, as its client lays it out, with one repository."""
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--some--thing"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(COMMIT)
    (place / "snapshots" / COMMIT).mkdir(parents=True)
    (place / "snapshots" / COMMIT / "config.json").write_text("{}")
    return place


def test_the_commit_that_is_known_here_counts(cache: Path) -> None:
    assert files.known_commit("some/thing", None) == COMMIT
    assert files.known_commit("some/thing", "v2") is None
    assert files.known_commit("some/other", None) is None
    assert files.known_commit("some/other", COMMIT) == COMMIT  # it needs no cache
    assert files.commit_of("some/thing", "config.json", None, True, SPEC) == COMMIT


def test_a_commit_that_is_not_known_is_asked_of_the_hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a file that the repository has, so that the cache remembers what the name meant."""
    from huggingface_hub.errors import LocalEntryNotFoundError
    from huggingface_hub.utils import EntryNotFoundError

    other = "f" * 40
    asked = []

    def download(repository: str, file: str, revision: str | None = None, local_files_only: bool = False) -> str:
        if local_files_only:
            raise LocalEntryNotFoundError("not here")
        asked.append((file, revision))
        if file == "config.json":
            raise EntryNotFoundError("no such file")
        return str(cache.parent / "models--some--other" / "snapshots" / other / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr(files, "unreachable", lambda: None)
    with pytest.raises(BadModel, match=f"config.json of some/other at v2 .*run `t2i prefetch {SPEC}`"):
        files.commit_of("some/other", "config.json", "v2", True, SPEC)
    assert asked == []
    assert files.commit_of("some/other", "config.json", "v2", False, SPEC) == other
    assert asked == [("config.json", "v2"), ("README.md", "v2")]


def test_without_a_network_it_is_said_at_once(
    cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The hub's client would try again for half a minute, with a line for each time."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    assert files.unreachable() is None, "any answer will do"
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it waits"))
    with pytest.raises(NotHere) as error:
        files.commit_of("some/other", "config.json", None, False, SPEC)
    assert re.fullmatch(
        rf"no network, and {SPEC} \(config.json of some/other on the .* hub\) is not on this machine: Connect.*",
        str(error.value),
    )
    assert caplog.records == []
    assert files.commit_of("some/thing", "config.json", None, False, SPEC) == COMMIT


def test_what_is_not_here_is_told_by_the_name_that_the_user_gave() -> None:
    error = NotHere("org/model", "plugin:org/model", missing="no unet")
    assert pickle.loads(pickle.dumps(error)).args == error.args
    assert str(error.told_as("sd2 -o sd2.revision=v2")) == (
        "sd2: org/model is not whole on this machine (no unet), and nothing may be fetched: "
        "run `t2i prefetch sd2 -o sd2.revision=v2` with a network"
    )
