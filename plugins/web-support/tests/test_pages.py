"""Headers, hosts, templates and static files of pages."""

from __future__ import annotations

import socket
import sys
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from t2i_core.api.errors import BadOption
from t2i_web_support.guard import HEADERS, Guard, is_local_host, refuse_host
from t2i_web_support.server import find_numeric_address, is_loopback, listen, make_address
from t2i_web_support.static_files import make_static_routes
from t2i_web_support.templates import make_environment, read_style


class LocalOnly:
    def refuse(self, method: str, headers: Headers) -> Response | None:
        return None if is_local_host(headers.get("host", "")) else refuse_host()


@pytest.fixture
def client() -> TestClient:
    routes = [
        Route("/", lambda request: PlainTextResponse("here")),
        Route("/own", lambda request: PlainTextResponse("here", headers={"content-security-policy": "sandbox"})),
        *make_static_routes({"a.css": b"a {}", "b.js": b"1"}),
    ]
    return TestClient(Guard(Starlette(routes=routes), LocalOnly()), base_url="http://localhost:80")


@pytest.mark.parametrize("path", ["/", "/a.css", "/missing"])
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] == "no-store"


def test_an_answer_may_have_its_own_policy(client: TestClient) -> None:
    answer = client.get("/own")
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost:x", "[::2]"])
def test_other_hosts_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]", "[::1]:8000"])
def test_this_machine_is_served(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).text == "here"


def test_static_files_have_their_types(client: TestClient) -> None:
    assert client.get("/a.css").headers["content-type"] == "text/css; charset=utf-8"
    assert client.get("/b.js").headers["content-type"] == "text/javascript; charset=utf-8"


def test_a_socket_has_an_address() -> None:
    with listen("127.0.0.1", 0) as opened:
        assert is_loopback(opened)
        assert make_address("127.0.0.1", opened) == f"http://127.0.0.1:{opened.getsockname()[1]}"
        with pytest.raises(BadOption):
            listen("127.0.0.1", opened.getsockname()[1])
        assert find_numeric_address(opened) is None


def test_a_socket_on_all_addresses_has_the_address_of_the_network_interface(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with listen("0.0.0.0", 0) as opened:
        assert not is_loopback(opened)
        found = find_numeric_address(opened)
        if found is not None:  # this machine has a network
            where, _, port = found.removeprefix("http://").partition(":")
            assert not ip_address(where).is_unspecified
            with socket.create_connection((where, int(port)), timeout=10):
                pass

        def refuse(*_: object) -> None:
            raise OSError("no network")

        monkeypatch.setattr(socket, "socket", refuse)
        assert find_numeric_address(opened) is None


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Render a template of a package."""
    package = tmp_path / "pages_of_test"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    def render(source: str, **known: object) -> str:
        (package / "templates" / "page.html").write_text(source)
        make_environment.cache_clear()
        return make_environment("pages_of_test").get_template("page.html").render(known)

    yield render
    make_environment.cache_clear()
    sys.modules.pop("pages_of_test", ModuleType(""))


def test_texts_are_shown_as_they_are(template: Any) -> None:
    hostile = "<script>\x1b[2J\n\u202e"
    assert template("{{ text }}", text=hostile) == "&lt;script&gt;\\x1b[2J\\n\\u202e"
    assert template("{{ text | whole }}", text=hostile) == "&lt;script&gt;\\x1b[2J\n\\u202e"
    assert template("{{ 0.25 | number }}") == "0.250"


def test_the_style_sheet_has_both_schemes() -> None:
    style = read_style()
    assert "prefers-color-scheme: dark" in style
    assert "url(" not in style  # pages need no other file
