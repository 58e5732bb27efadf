"""Limits on what a server can make the client do: answers of a bounded size, no redirect to another server."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx2
from t2i_core.api.errors import BadModel

from .replies import Unreadable, UnusableReply

ACCEPTED = {"Accept-Encoding": "gzip"}
"""The only compression that is asked for and undone: its output can be taken in small pieces."""

_PIECE = 1 << 18
"""Bytes that are decompressed at a time: a kilobyte of gzip may hold a megabyte."""

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


def origin(url: httpx2.URL) -> Origin:
    """Return scheme, host and port; the names of this machine are one host."""
    host = url.raw_host.decode("ascii").lower().rstrip(".")
    return url.scheme, "localhost" if host in _LOOPBACK_NAMES else host, url.port or _PORTS.get(url.scheme, 0)


def refuse_other_servers(base_url: str) -> Callable[[httpx2.Request], Awaitable[None]]:
    """Return a request hook that lets no request, redirected ones included, leave the server of an address.

    The same host may redirect from http to https, both on their usual ports. The hook raises BadModel.
    """
    scheme, host, port = origin(httpx2.URL(base_url))
    allowed = {(scheme, host, port)}
    if (scheme, port) == ("http", 80):
        allowed.add(("https", host, 443))

    async def check(request: httpx2.Request) -> None:
        if origin(request.url) not in allowed:
            raise BadModel(
                f"{base_url} redirects to another server, {address_of(request.url)}: prompts and key are not sent "
                "there; if you trust it, give its address as base_url"
            )

    return check


def limit_size(most_bytes: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook that ends an answer that is longer, decompressed, with UnusableReply.

    The answer is decompressed and counted piece by piece, so memory holds no more than the limit.
    """

    async def limit(response: httpx2.Response) -> None:
        encoding = response.headers.pop("Content-Encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise UnusableReply("the answer is compressed in a way that was not asked for")
        length = response.headers.get("Content-Length", "")
        if length.isdecimal() and int(length) > most_bytes:
            raise _too_large(most_bytes)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _LimitedStream(response.stream, encoding != "identity", most_bytes)

    return limit


def address_of(url: httpx2.URL) -> str:
    """Return the server's address alone: path and query may hold a signature, the beginning a password."""
    return f"{url.scheme}://{url.raw_host.decode('ascii')}{f':{url.port}' if url.port else ''}"


class _LimitedStream(httpx2.AsyncByteStream):
    """The bytes of an answer, decompressed, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, compressed: bool, most_bytes: int) -> None:
        self._stream = stream
        self._compressed = compressed
        self._most_bytes = most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if self._compressed else None
        size = 0
        async for data in self._stream:
            for piece in [data] if unzip is None else _unzipped(unzip, data):
                size += len(piece)
                if size > self._most_bytes:
                    raise _too_large(self._most_bytes)
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _unzipped(unzip: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    try:
        while data:
            yield unzip.decompress(data, _PIECE)
            data = unzip.unconsumed_tail
    except zlib.error:
        raise Unreadable("the answer's gzip is damaged") from None


def _too_large(most_bytes: int) -> UnusableReply:
    return UnusableReply(f"the answer is larger than {most_bytes / 1e6:g} MB (option max_answer_mb), decompressed")
