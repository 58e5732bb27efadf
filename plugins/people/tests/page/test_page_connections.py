"""Clients that hold connections, and send or read nothing, keep no voter from the page."""

from __future__ import annotations

import http.client
import re
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from t2i_web_support.connections import Limits, limits_of_process

pytestmark = pytest.mark.long  # servers with a thousand connections

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "voters.py"

HALF_A_REQUEST = b"GET / HTTP/1.1\r\nHost: 127"
HALF_A_FORM = b"POST /vote HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\ntask=1"


class Attacker:
    """A client that holds connections with half a request each, and opens a new one for each that is closed."""

    def __init__(self, port: int, count: int) -> None:
        self._address, self._count = ("127.0.0.1", port), count
        self._stop = threading.Event()
        self.full = threading.Event()
        self.opened = 0
        self._thread = threading.Thread(target=self._attack)

    def __enter__(self) -> Attacker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _attack(self) -> None:
        with selectors.DefaultSelector() as selector:
            held: set[socket.socket] = set()
            while not self._stop.is_set():
                for _ in range(min(50, self._count - len(held))):
                    with suppress(OSError):
                        one = socket.create_connection(self._address, timeout=0.2)
                        one.sendall(HALF_A_REQUEST)
                        held.add(one)
                        selector.register(one, selectors.EVENT_READ)
                        self.opened += 1
                if self.opened >= self._count:
                    self.full.set()
                for key, _ in selector.select(0.01):  # closed by the server
                    selector.unregister(key.fileobj)
                    held.discard(key.fileobj)
                    key.fileobj.close()
            for one in held:
                one.close()


def ask(port: int, method: str, path: str, body: str | None = None, **headers: str) -> tuple[str, str]:
    """Ask as a browser does: again where the connection is closed. Returns the text and the cookie."""
    until = time.monotonic() + 20
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.read().decode("latin-1"), (answer.headers["set-cookie"] or "").partition(";")[0]
        except (OSError, http.client.HTTPException):
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        finally:
            connection.close()


MANY = pytest.mark.skipif(limits_of_process().connections < 1000, reason="no process here may open so many files")


@pytest.mark.parametrize(("sockets", "files"), [(200, 128), pytest.param(1100, 1024, marks=MANY)])
def test_a_voter_votes_while_half_open_connections_are_held(sockets, files, shared_run, tmp_path, voter):
    server = runpy.run_path(str(BENCHMARK))["ServerProcess"](shared_run, tmp_path / "votes.sqlite", files)
    try:
        with Attacker(server.port, sockets) as attacker:
            assert attacker.full.wait(60)
            begun = time.monotonic()
            page, _ = ask(server.port, "GET", "/")
            assert time.monotonic() - begun < 10
            form = {"content-type": "application/x-www-form-urlencoded"}
            joining = urlencode({**voter.fields(page, "/join"), "name": "Ann"})
            _, cookie = ask(server.port, "POST", "/join", joining, **form)
            for number in range(1, 4):
                page, _ = ask(server.port, "GET", "/", cookie=cookie)
                image = re.search(r'src="(/image/[\w-]+)"', page)[1]
                assert "PNG" in ask(server.port, "GET", image, cookie=cookie)[0]
                vote = urlencode({**voter.fields(page, "/vote"), "preference": "left"})
                ask(server.port, "POST", "/vote", vote, **form, cookie=cookie)
                assert f"{number} vote{'s' * (number > 1)} saved" in ask(server.port, "GET", "/", cookie=cookie)[0]
    finally:
        assert server.end(signal.SIGTERM) == 0


@contextmanager
def connections(url: str, count: int) -> Iterator[list[socket.socket]]:
    """Open connections that have sent nothing yet."""
    address = urlsplit(url)
    with ExitStack() as stack:
        opened = [socket.create_connection((address.hostname, address.port), timeout=30) for _ in range(count)]
        for one in opened:
            stack.callback(one.close)
        yield opened


def seconds_until_closed(one: socket.socket) -> float:
    begun = time.monotonic()
    with suppress(ConnectionResetError):
        while one.recv(1 << 16):
            pass
    return time.monotonic() - begun


def is_closed_while_sending(one: socket.socket, data: bytes, seconds: float) -> bool:
    """Send again and again, and read nothing."""
    one.settimeout(0.5)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            one.sendall(data)
        except TimeoutError:
            continue
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("begun", [b"", HALF_A_REQUEST, HALF_A_FORM], ids=["nothing", "header", "body"])
def test_a_request_must_be_complete_in_time(served, begun):
    _, url = served(limits=Limits(request_seconds=0.5))
    with connections(url, 1) as (one,):
        one.sendall(begun)
        assert 0.2 < seconds_until_closed(one) < 20


def test_sending_now_and_then_a_byte_gives_no_more_time(served):
    _, url = served(limits=Limits(request_seconds=0.5))
    with connections(url, 1) as (one,):
        assert is_closed_while_sending(one, b"G", 20)


def test_an_answer_must_be_read_in_time(served, make_run, voter):
    """Requests are sent one after the other, whose answers fill all that the systems hold for the client."""
    _, url = served(run=make_run(size=400), limits=Limits(answer_seconds=1))
    port = urlsplit(url).port
    page, _ = ask(port, "GET", "/")
    joining = urlencode({**voter.fields(page, "/join"), "name": "Ann"})
    _, cookie = ask(port, "POST", "/join", joining, **{"content-type": "application/x-www-form-urlencoded"})
    page, _ = ask(port, "GET", "/", cookie=cookie)
    image = re.search(r'src="(/image/[\w-]+)"', page)[1]
    request = f"GET {image} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode()
    with connections(url, 1) as (one,):
        assert is_closed_while_sending(one, 50 * request, 60)


def test_a_connection_may_be_used_again(served):
    _, url = served(limits=Limits(request_seconds=1))
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        for _ in range(4):  # longer than the time for one request
            connection.request("GET", "/page.css")
            assert connection.getresponse().read()
            assert connection.sock is not None, "the connection was closed"
            time.sleep(0.4)
    finally:
        connection.close()


def test_the_connection_that_waited_longest_is_closed_for_a_new_one(served):
    _, url = served(limits=Limits(connections=4, request_seconds=60))
    with connections(url, 6) as opened:
        assert all(seconds_until_closed(one) < 20 for one in opened[:2])
        for one in opened[2:]:
            one.sendall(b"GET /page.css HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"


@pytest.mark.skipif(sys.platform != "linux", reason="this machine has one address")
def test_an_address_with_many_connections_loses_its_own(served):
    _, url = served(limits=Limits(connections=4, request_seconds=60))
    address = urlsplit(url)
    place = (address.hostname, address.port)
    with socket.create_connection(place, 30, ("127.0.0.2", 0)) as other, connections(url, 12) as opened:
        assert all(seconds_until_closed(one) < 20 for one in opened[:9])
        other.sendall(b"GET /page.css HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert other.recv(12) == b"HTTP/1.1 200"
