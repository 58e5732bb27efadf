"""Routes of static files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


def read_static_files(package: str) -> dict[str, bytes]:
    """Return the content of each file in the folder `static` of a package, by its name."""
    return {file.name: file.read_bytes() for file in (files(package) / "static").iterdir()}


def make_static_routes(content: Mapping[str, bytes]) -> Iterator[Route]:
    """Yield a route for each file; no request names a file.

    Args:
        content: The files by name; each ends in `.css`, `.js` or `.svg`.
    """
    for name, data in content.items():
        yield Route(f"/{name}", _make_endpoint(name, data))


def _make_endpoint(name: str, data: bytes) -> Callable[[Request], Response]:
    def send(request: Request) -> Response:
        return Response(data, media_type=_TYPES[name.rpartition(".")[2]])

    return send
