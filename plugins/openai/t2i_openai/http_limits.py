"""Limits for answers of a server: their size, and no redirect to another server."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx2
from t2i_core.api.errors import BadModel

from .replies import Unreadable, UnusableReply

ACCEPTED = {"Accept-Encoding": "gzip"}
"""The only accepted compression, because its output can be read in small pieces."""

_PIECE = 1 << 18
"""Bytes to decompress at a time; a kilobyte of gzip may hold a megabyte."""

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


def origin(url: httpx2.URL) -> Origin:
    """Return scheme, host and port of a URL; all names of this machine count as one host."""
    host = url.raw_host.decode("ascii").lower().rstrip(".")
    return url.scheme, "localhost" if host in _LOOPBACK_NAMES else host, url.port or _PORTS.get(url.scheme, 0)


def refuse_other_servers(base_url: str) -> Callable[[httpx2.Request], Awaitable[None]]:
    """Return a request hook that raises BadModel for every request, also a redirected one, to another server.

    The same host may redirect from http to https, both on their usual ports.
    """
    scheme, host, port = origin(httpx2.URL(base_url))
    allowed = {(scheme, host, port)}
    if (scheme, port) == ("http", 80):
        allowed.add(("https", host, 443))

    async def check(request: httpx2.Request) -> None:
        if origin(request.url) not in allowed:
            raise BadModel(
                f"{base_url} redirects to another server, {strip_url(request.url)}, and t2i sends no prompts or "
                "keys there; if you trust it, set base_url to its address"
            )

    return check


def limit_size(most_bytes: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook that raises UnusableReply for an answer that exceeds a size after decompression.

    The hook decompresses and counts the answer piece by piece, so that memory holds no more than the limit.
    """

    async def limit(response: httpx2.Response) -> None:
        encoding = response.headers.pop("Content-Encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise UnusableReply("the answer is compressed in a way that was not asked for")
        length = response.headers.get("Content-Length", "")
        if length.isdecimal() and int(length) > most_bytes:
            raise _size_error(most_bytes)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _LimitedStream(response.stream, encoding != "identity", most_bytes)

    return limit


def strip_url(url: httpx2.URL) -> str:
    """Return scheme, host and port of a URL, without user, path and query, which may hold secrets."""
    return f"{url.scheme}://{url.raw_host.decode('ascii')}{f':{url.port}' if url.port else ''}"


class _LimitedStream(httpx2.AsyncByteStream):
    """The decompressed bytes of an answer, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, compressed: bool, most_bytes: int) -> None:
        self._stream = stream
        self._compressed = compressed
        self._most_bytes = most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if self._compressed else None
        size = 0
        async for data in self._stream:
            for piece in [data] if unzip is None else _unzip(unzip, data):
                size += len(piece)
                if size > self._most_bytes:
                    raise _size_error(self._most_bytes)
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _unzip(unzip: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    try:
        while data:
            yield unzip.decompress(data, _PIECE)
            data = unzip.unconsumed_tail
    except zlib.error:
        raise Unreadable("the answer's gzip is damaged") from None


def _size_error(most_bytes: int) -> UnusableReply:
    return UnusableReply(f"the answer is larger than {most_bytes / 1e6:g} MB (option max_answer_mb), decompressed")
