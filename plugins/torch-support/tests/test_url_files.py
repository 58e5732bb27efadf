"""Published files with a URL: whole, the right ones, and one clear line if not."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api.errors import BadModel, NotHere
from t2i_torch_support import url_files

CONTENT = bytes(range(256)) * 5000  # what the server serves
DIGEST = hashlib.sha256(CONTENT).hexdigest()
SPEC = "judge:weights"


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "hub").rglob("*") if path.is_file())


def refused(address: str, sha256: str | None, offline: bool = False) -> str:
    with pytest.raises(BadModel) as error:
        url_files.fetch_from_url(address, sha256, offline, SPEC)
    assert str(error.value).startswith(f"{SPEC}: ")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("sha256", [DIGEST, DIGEST[:8]])
def test_a_file_is_fetched_once_and_held_to_its_digest(server: Any, tmp_path: Path, sha256: str) -> None:
    address = server.url("good.pt")
    file = url_files.fetch_from_url(address, sha256, False, SPEC, "of/mine")
    assert file == tmp_path / "hub" / "checkpoints" / "of" / "mine" / "good.pt"
    assert file.read_bytes() == CONTENT
    assert url_files.fetch_from_url(address, sha256, True, SPEC, "of/mine") == file
    assert server.asked == left(tmp_path) == ["good.pt"]
    file.write_bytes(CONTENT[:-1])
    with pytest.raises(BadModel, match=f"its SHA-256 is .*, not {sha256}"):
        url_files.fetch_from_url(address, sha256, False, SPEC, "of/mine")


@pytest.mark.long
def test_failed_downloads_leave_nothing(server: Any, tmp_path: Path) -> None:
    for sha256 in (None, DIGEST):
        assert "cut cannot be fetched (EOFError: cut off after 1279900 of 1280000 bytes)" in refused(
            server.url("cut"), sha256
        )
    assert "gone cannot be fetched (HTTPError: HTTP Error 404: Not Found)" in refused(server.url("gone"), None)
    assert f"gives another file: its SHA-256 is {DIGEST}, not 00" in refused(server.url("good.pt"), "00")
    assert left(tmp_path) == []


@pytest.mark.long
def test_a_broken_download_begins_again_where_the_server_ignores_ranges(server: Any) -> None:
    assert url_files.fetch_from_url(server.url("cut-once"), DIGEST, False, SPEC).read_bytes() == CONTENT
    assert server.asked == ["cut-once", "cut-once"]


def test_nothing_is_asked_offline(server: Any) -> None:
    assert f"may be fetched: run `t2i prefetch {SPEC}` with a network" in refused(server.url("a"), None, True)
    with pytest.raises(NotHere, match=f"may be fetched: run `t2i prefetch {SPEC}` with a network"):
        url_files.check_url(server.url("a"), True, SPEC)
    assert server.asked == []


def test_no_server(server: Any) -> None:
    said = (
        rf"^no network, and {SPEC} \(http://127.0.0.1:1/a.pt, to be put at .*hub/checkpoints/mine/a.pt\) is not .*"
        ": URLError"
    )
    with pytest.raises(NotHere, match=said):
        url_files.fetch_from_url("http://127.0.0.1:1/a.pt", None, False, SPEC, "mine")
    with pytest.raises(NotHere, match=said):
        url_files.check_url("http://127.0.0.1:1/a.pt", False, SPEC, "mine")


def test_before_a_file_is_fetched_its_server_is_asked_for_no_more_than_an_answer(server: Any) -> None:
    address = server.url("good.pt")
    url_files.check_url(address, False, SPEC)
    assert server.asked == ["head of good.pt"]
    url_files.fetch_from_url(address, DIGEST, False, SPEC)
    url_files.check_url(address, True, SPEC)
    assert server.asked == ["head of good.pt", "good.pt"]


def test_a_folder_that_cannot_be_written_is_said(server: Any, tmp_path: Path) -> None:
    (tmp_path / "hub").write_text("no folder")
    assert "cannot be fetched (" in refused(server.url("good.pt"), None)


def test_where_no_digest_is_known_the_first_one_counts(
    server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = server.url("good.pt")
    with caplog.at_level(logging.WARNING):
        file = url_files.fetch_from_url(address, None, False, SPEC)
        url_files.fetch_from_url(address, None, True, SPEC)
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
    assert url_files.fetch_from_url(address, changed, False, SPEC) == file  # pinned from outside
    record.write_text("nothing")
    assert f"{record} holds no SHA-256" in refused(address, None)
