"""Limits on a server's connections, so that clients which send or read nothing cannot keep others out.

uvicorn has no limit on how long a client may take to send a request, nor on how many connections are open, so it
runs out of file descriptors when somebody holds enough half-open connections. Here every connection that waits for
its client has a deadline, and when too many are open, one of those that wait is closed for each newcomer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from socket import socket
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 1000
"""Enough for 100 browsers with six connections each, which may all come from one address."""

_FILES = 4096
"""File descriptors to ask the system for."""

_QUEUED = 2048
"""Connections that the system holds until they are accepted."""


@dataclass(frozen=True)
class Limits:
    """Limits on the connections of a server.

    Attributes:
        connections: Number of connections that are open at once.
        request_seconds: Time in which a client must send a whole request, header and body.
        answer_seconds: Time in which a client must read the answer.
    """

    connections: int = MOST_CONNECTIONS
    request_seconds: float = 10
    answer_seconds: float = 120


def limits_of_process() -> Limits:
    """Return limits that leave file descriptors for the page's own files, raising the process's own if allowed."""
    try:
        import resource  # not on Windows, where sockets take no file descriptors
    except ImportError:
        return Limits()
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
    if files != resource.RLIM_INFINITY and files < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        files = wanted
    return Limits() if files == resource.RLIM_INFINITY else Limits(min(MOST_CONNECTIONS, files // 2))


class OpenConnections:
    """The open connections of one server, and which of them wait for their clients, by the client's address."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: set[Connection] = set()
        self._waiting: dict[str, dict[Connection, None]] = {}  # the oldest first

    def add(self, connection: Connection) -> None:
        """Count a new connection. If there are too many, close one that waits for its client.

        Of the address with the most waiting connections, the one that has waited longest is closed. So a client
        that holds many loses its own first, and another connection waits only until its request has arrived.
        """
        self._open.add(connection)
        self.wait(connection)
        if len(self._open) > self.limits.connections:
            waiting = max(self._waiting.values(), key=len)
            oldest = next(iter(waiting))
            self.remove(oldest)
            oldest.transport.abort()

    def wait(self, connection: Connection) -> None:
        """Note that a connection waits for its client from now on."""
        self.stop_waiting(connection)
        self._waiting.setdefault(connection.address, {})[connection] = None

    def stop_waiting(self, connection: Connection) -> None:
        """Note that a connection's request is being answered."""
        waiting = self._waiting.get(connection.address, {})
        waiting.pop(connection, None)
        if not waiting:
            self._waiting.pop(connection.address, None)

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed."""
        self._open.discard(connection)
        self.stop_waiting(connection)


class Connection(H11Protocol):
    """A connection that is closed when its client takes too long to send a request or to read the answer."""

    def __init__(self, open_connections: OpenConnections, **parts: Any) -> None:
        super().__init__(**parts)
        self.address = ""
        self._all = open_connections
        self._in_request = True
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self._all.add(self)
        self._set_deadline(self._all.limits.request_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._cancel_deadline()
        self._all.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Begin to wait for the rest of a request at its first byte, and stop when it is complete."""
        if not self._in_request:
            self._in_request = True
            self._wait(self._all.limits.request_seconds)
        super().data_received(data)
        complete = self.conn.their_state in (h11.DONE, h11.MUST_CLOSE)
        # with an earlier answer still unread, the deadline for reading that stays
        if complete and not self.transport.get_write_buffer_size():
            self._cancel_deadline()
            self._all.stop_waiting(self)

    def on_response_complete(self) -> None:
        """Begin to wait until the answer is read. uvicorn itself closes connections that are idle after that."""
        self._in_request = False
        self._wait(self._all.limits.answer_seconds)
        super().on_response_complete()

    def _wait(self, seconds: float) -> None:
        self._all.wait(self)
        self._set_deadline(seconds)

    def _set_deadline(self, seconds: float) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class LimitedServer(uvicorn.Server):
    """uvicorn's server with limits on its connections. Before it stops it answers the requests that it has."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        protocol = cast("type[asyncio.Protocol]", partial(Connection, OpenConnections(limits)))
        # asyncio accepts up to `backlog` connections at once before any is closed: keep it small against the limit
        backlog = max(limits.connections // 16, 1)
        config = uvicorn.Config(
            app, http=protocol, loop="asyncio", ws="none", lifespan="off", access_log=False, log_config=None,
            proxy_headers=False, server_header=False, timeout_graceful_shutdown=5, backlog=backlog,
        )  # fmt: skip
        super().__init__(config)

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start to listen, with a longer queue than asyncio accepts at once."""
        await super().startup(sockets)
        for each in cast(Sequence[socket], sockets or ()):
            each.listen(_QUEUED)
