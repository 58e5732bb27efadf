"""Who may see the page, and that it only reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from t2i_web_support.guard import HEADERS

PATHS = (
    "/",
    "/run/first",
    "/run/first/report",
    "/run/first/picture/00",
    "/compare?run=first",
    "/compare/page?a=1",
)


@pytest.mark.parametrize("path", [*PATHS, "/missing", "/run/missing", "/style.css", "/view.js", "/icon.svg"])
def test_answers_have_security_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    for name in HEADERS:
        assert answer.headers[name]
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", PATHS)
def test_nothing_but_reading_is_allowed(client: TestClient, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 405


def test_other_hosts_are_refused_without_a_token(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"host": "localhost:8766"}).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_nobody_sees_a_run_without_the_token(open_view: Callable[..., TestClient], path: str) -> None:
    client = open_view("open-sesame")
    for cookie in ("", "t2i-view-00000000=open-sesame", "=", "\x01"):
        answer = client.get(path, headers={"cookie": cookie})
        assert answer.status_code == 403
        assert "second" not in answer.text
    assert client.get("/?token=wrong").status_code == 403
    assert client.get("/?token=").status_code == 403
    assert client.get("/?token=%00%ff").status_code == 403


def test_the_link_with_the_token_opens_the_page(open_view: Callable[..., TestClient]) -> None:
    client = open_view("open-sesame")
    answer = client.get("/?token=open-sesame", headers={"host": "gpu.example:8766"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()  # the link may be opened in a mail
    assert "second" in client.get("/").text
    assert client.get("/run/second").status_code == 200


def test_reading_leaves_the_folder_as_it_is(client: TestClient, runs: Path, under_way: Path) -> None:
    def describe() -> dict[str, tuple[int, int]]:
        found = [runs, *runs.rglob("*")]
        return {str(each): (each.lstat().st_mtime_ns, each.lstat().st_size) for each in found}

    before = describe()
    for path in (*PATHS, "/run/under-way", "/compare?run=first&run=second"):
        client.get(path)
    assert describe() == before
