"""Servers that answer with too much, send requests elsewhere, or tell of the services behind them."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import tracemalloc
import zlib
from functools import cache

import numpy as np
import pytest
from t2i_cli.app import app
from t2i_core.api import Prompt
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.api.failure import Failure
from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.api.judge import Query
from t2i_core.testing import sample_images
from t2i_core.testing.parts import settle
from t2i_openai import image_fetch
from t2i_openai.image_fetch import is_public
from t2i_openai.plugin import t2i_generators, t2i_judges
from typer.testing import CliRunner

TEXT = "a cat"


@pytest.fixture
def draw(server):
    """Ask for one image, with these options."""

    def draw(offline=False, **options):
        found = settle(t2i_generators()[0], {**server.options, **options}, "test-model")
        model = found.info.create(found.setup(offline=offline))
        ((_, answer),) = model.generate(iter([ImageRequest(Prompt(id=TEXT, text=TEXT), 3, 3)]))
        return answer

    return draw


@pytest.fixture
def judge(server, tmp_path):
    """Ask for one preference, with these options."""
    images = tuple(sample_images(tmp_path, 2))

    def judge(**options):
        found = settle(t2i_judges()[0], {**server.options, **options}, "test-model")
        model = found.info.create(found.setup())
        ((_, answer),) = model.observe("prefer", iter([Query(images, (TEXT,))]))
        return answer

    return judge


@pytest.fixture
def other(server):
    """Another server on this machine, which nobody may be sent to."""
    other = type(server)()
    yield other
    other.end()


@cache
def bomb(megabytes):
    """Return a number of MB of zeros as gzip, a thousandth of their size."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    block = bytes(1_000_000)
    return b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])


def zipped(data, encoding="gzip"):
    return lambda handler, body: handler.answer(200, data, "application/json", {"Content-Encoding": encoding})


def chunked(size):
    """An answer that does not say how long it is."""

    def act(handler, body):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        block = bytes(1_000_000)
        for _ in range(size):
            handler.wfile.write(f"{len(block):x}\r\n".encode() + block + b"\r\n")
        handler.wfile.write(b"0\r\n\r\n")

    return act


class TestSize:
    @pytest.mark.parametrize("asked", ["draw", "judge"])
    @pytest.mark.parametrize("status", [200, 500])
    @pytest.mark.long
    def test_a_gzip_bomb_is_cut_off_and_fills_no_memory(self, server, asked, status, request):
        data = bomb(1000)
        assert len(data) < 1_100_000

        def act(handler, body):
            handler.answer(status, data, "application/json", {"Content-Encoding": "gzip"})

        server.default = act
        ask = request.getfixturevalue(asked)
        tracemalloc.start()
        try:
            answer = ask()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert isinstance(answer, Failure)
        assert "larger than 64 MB (option max_answer_mb)" in answer.reason
        assert peak < 200e6
        assert len(server.log) == 1

    def test_so_is_an_image_that_is_fetched(self, server, draw):
        server.script += [server.good, zipped(bomb(20))]
        answer = draw(response_format="url", max_answer_mb=8)
        assert isinstance(answer, Failure)
        assert "larger than 8 MB" in answer.reason

    @pytest.mark.parametrize("size", [7, 9])
    def test_an_answer_of_unknown_length(self, server, draw, size):
        server.script.append(chunked(size))
        answer = draw(max_answer_mb=8, retries=0)
        assert ("larger than 8 MB" in answer.reason) is (size == 9)

    def test_an_answer_that_says_that_it_is_long_is_not_read(self, server, draw):
        def act(handler, body):
            handler.send_response(200)
            handler.send_header("Content-Length", str(10**12))
            handler.end_headers()
            server.ended.wait(60)

        server.script.append(act)
        assert "larger than 64 MB" in draw().reason

    def test_small_compressed_answers_are_read(self, server, draw):
        def act(handler, body):
            assert handler.headers["Accept-Encoding"] == "gzip"
            image = base64.b64encode(png(server.drawn(TEXT))).decode()
            zipped(gzip.compress(json.dumps({"data": [{"b64_json": image}]}).encode()))(handler, body)

        server.script.append(act)
        np.testing.assert_array_equal(draw().image, server.drawn(TEXT))

    @pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip"])
    def test_other_compression_was_not_asked_for(self, server, draw, encoding):
        server.script.append(zipped(b"x", encoding))
        assert draw() == Failure("the answer is compressed in a way that was not asked for")

    def test_damaged_compression_is_tried_again(self, server, draw):
        server.script.append(zipped(b"no gzip at all"))
        assert isinstance(draw(), Generated)
        assert len(server.log) == 2

    def test_lists_in_lists_without_end(self, server, draw):
        server.default = lambda handler, body: handler.answer(200, b"[" * 2_000_000, "application/json")
        answer = draw(retries=0)
        assert answer.reason.startswith("the answer is not JSON")


def png(pixels):
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


class TestRedirects:
    @pytest.mark.parametrize("asked", ["draw", "judge"])
    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_to_another_server_is_refused(self, server, other, asked, status, request):
        server.default = server.redirect(f"{other.url}/images/generations?key=hidden", status)
        with pytest.raises(BadModel) as caught:
            request.getfixturevalue(asked)()
        assert f"redirects to another server, {other.root}" in str(caught.value)
        assert "hidden" not in str(caught.value)
        assert other.log == []

    def test_within_a_server_is_followed(self, server, draw):
        server.script.append(server.redirect("/v1/images/generations", 307))
        np.testing.assert_array_equal(draw().image, server.drawn(TEXT))

    def test_round_and_round(self, server, draw):
        server.default = server.redirect("/v1/images/generations", 307)
        assert isinstance(draw(retries=0), Failure)


class TestImagesByAddress:
    @pytest.fixture
    def address(self, server):
        """Have the server answer with an address."""

        def address(url):
            server.script.append(server.data({"data": [{"url": url}]}))

        return address

    @pytest.fixture
    def names(self, monkeypatch):
        """What names resolve to, from one asking to the next; other names do not resolve."""
        names: dict[str, list[list[str]]] = {}
        real = socket.getaddrinfo

        def resolve(host, port, *rest, **more):
            host = host.decode() if isinstance(host, bytes) else host
            if host not in names:
                return real(host, port, *rest, **more)
            found = names[host].pop(0) if len(names[host]) > 1 else names[host][0]
            return [(socket.AF_INET6 if ":" in ip else socket.AF_INET, 1, 6, "", (ip, port)) for ip in found]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        return names

    @pytest.mark.parametrize(
        "url",
        [
            "http://cdn.example.com/a.png",
            "http://169.254.169.254/latest/meta-data/iam",
            "http://10.0.0.1/a.png",
            "http://[::1]:6379/",
            "http://127.0.0.1:6379/",
            "http://localhost:6379/",
            "http://[::ffff:127.0.0.1]/",
            "http://2130706433/",
            "http://notexample.com/a.png",
            "http://example.com.evil.org/a.png",
        ],
    )
    def test_other_hosts_are_refused(self, server, draw, address, url):
        address(url)
        with pytest.raises(BadModel, match="image_hosts"):
            draw(image_hosts=["*.images.example.com"])
        assert len(server.log) == 1

    def test_another_port_of_this_machine_is_another_server(self, server, other, draw, address):
        address(f"{other.root}/files/{TEXT.encode().hex()}")
        with pytest.raises(BadModel, match="image_hosts"):
            draw()
        assert other.log == []

    @pytest.mark.parametrize(
        "found",
        [
            ["127.0.0.1"],
            ["10.1.2.3"],
            ["::1"],
            ["::ffff:192.168.0.1"],
            ["93.184.215.14", "127.0.0.1"],
            ["0.0.0.0"],
        ],
    )
    def test_an_allowed_name_of_a_private_address_is_refused(self, server, draw, address, names, found):
        names["cdn.example.com"] = [found]
        port = server.root.rpartition(":")[2]
        address(f"http://cdn.example.com:{port}/files/{TEXT.encode().hex()}")
        answer = draw(image_hosts=[f"cdn.example.com:{port}"])
        assert isinstance(answer, Failure)
        assert "private network" in answer.reason
        assert len(server.log) == 1

    def test_the_address_that_was_checked_is_the_one_that_is_asked(
        self, server, other, draw, address, names, monkeypatch
    ):
        """A name that resolves to another address a moment later (DNS rebinding)."""
        monkeypatch.setattr(image_fetch, "is_public", lambda ip: ip == "127.0.0.1")
        names["cdn.example.com"] = [["127.0.0.1"], ["127.0.0.2"]]
        port = other.root.rpartition(":")[2]
        address(f"http://cdn.example.com:{port}/files/{TEXT.encode().hex()}")
        answer = draw(image_hosts=[f"*.example.com:{port}"])
        np.testing.assert_array_equal(answer.image, other.drawn(TEXT))
        (fetched,) = other.log
        assert fetched.headers["host"] == f"cdn.example.com:{port}"
        assert "authorization" not in fetched.headers
        assert len(names["cdn.example.com"]) == 1  # resolved once

    def test_every_hop_of_a_redirect_is_checked(self, server, draw, address):
        address(f"{server.root}/files/x")
        server.script.append(server.redirect("/files/y"))
        server.script.append(server.redirect("http://169.254.169.254/latest/meta-data"))
        with pytest.raises(BadModel, match=r"http://169\.254\.169\.254,"):
            draw()
        assert [exchange.path for exchange in server.log[1:]] == ["/files/x", "/files/y"]

    def test_a_redirect_to_a_file_is_none_of_the_web(self, server, draw, address):
        address(f"{server.root}/files/x")
        server.script.append(server.redirect("file:///etc/passwd"))
        assert draw() == Failure("the address of the image is not a web address")

    def test_redirects_end(self, server, draw, address):
        address(f"{server.root}/files/x")
        server.default = server.redirect("/files/x")
        assert draw() == Failure("the image's address is redirected too often")

    def test_a_redirect_within_the_server_is_followed(self, server, draw, address):
        address(f"{server.root}/files/x")
        server.script.append(server.redirect(f"/files/{TEXT.encode().hex()}"))
        np.testing.assert_array_equal(draw().image, server.drawn(TEXT))

    @pytest.mark.parametrize("host", ["http://a.b", "a b", "*", "*.*.com", "a.com/x", "a.com:x", "me@a.com", ""])
    def test_hosts_are_names(self, server, host):
        with pytest.raises((BadOption, ValueError)):
            settle(t2i_generators()[0], {**server.options, "image_hosts": [host]}, "m")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True), ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True), ("127.0.0.1", False),
        ("127.8.9.1", False), ("10.0.0.1", False), ("172.16.0.1", False), ("192.168.1.1", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("255.255.255.255", False),
        ("224.0.0.1", False), ("240.0.0.1", False), ("::1", False), ("::", False), ("fe80::1%eth0", False),
        ("fc00::1", False), ("ff02::1", False), ("::ffff:127.0.0.1", False), ("::ffff:8.8.8.8", True),
        ("64:ff9b::7f00:1", False), ("64:ff9b::808:808", True), ("2002:7f00:1::", False), ("2001::1", False),
    ],
)  # fmt: skip
def test_addresses_of_one_machine_on_the_internet(address, public):
    assert is_public(address) is public


INNER = (
    "Traceback (most recent call last): File '/srv/app/db.py', line 3: psycopg2.OperationalError: connection to "
    "server at 'db01.internal.example' (10.3.2.1) failed: password 'hunter2secret'"
)


@pytest.mark.long
@pytest.mark.parametrize("status", [200, 400, 403, 404, 500, 503])
def test_errors_of_inner_services_reach_no_results(server, tmp_path, monkeypatch, status):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "prompts.txt").write_text("a cat\na dog\n")
    error = {
        "message": INNER,
        "code": "db01.internal.example",
        "type": "upstream_error",
        "param": "/srv/app/db.py",
    }
    server.default = lambda handler, body: handler.json(status, {"error": error, "detail": INNER})
    options = {**server.options, "retries": 0}
    words = [word for name, value in options.items() for word in ("-o", f"generator:openai.{name}={value}")]
    done = CliRunner().invoke(
        app, ["generate", "--model", "openai:one", "--prompts", "prompts.txt", "--out", "run", *words]
    )
    assert done.exit_code == (12 if status in (403, 404) else 8)
    assert "upstream_error" in done.output
    assert status == 200 or str(status) in (tmp_path / "run/run.json").read_text()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 3
    for word in (b"db01.internal", b"hunter2", b"psycopg2", b"/srv/app", b"10.3.2.1"):
        assert not [str(file) for file in files if word in file.read_bytes()]


def test_a_page_in_html_reaches_no_results(server, draw):
    server.default = lambda handler, body: handler.answer(502, f"<html>{INNER}</html>".encode(), "text/html")
    assert draw(retries=0) == Failure("the server answered 502 (1 try)")


def test_messages_of_the_server_are_shown_once(server, draw, caplog):
    """The user sees on the terminal why a parameter was refused; the results do not hold that text."""
    server.default = server.error(400, "size must be one of \x1b[2J256x256, 512x512", code="invalid_value")
    assert draw() == Failure("the server answered 400 (invalid_value)")
    assert [record.getMessage() for record in caplog.records if record.name.startswith("t2i_openai")] == [
        f"{server.url} answered 400 and says: size must be one of \\x1b[2J256x256, 512x512"
    ]
