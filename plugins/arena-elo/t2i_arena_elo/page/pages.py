"""What pages are made of: templates, the two files beside them, and what forms send back."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from urllib.parse import parse_qsl

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from t2i_core.api.text import escape_control_characters


def _plain(text: str) -> str:
    """A text of others: nothing in it steers how it is shown but the ends of its lines."""
    return "\n".join(escape_control_characters(line) for line in text.split("\n"))


_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader(__package__), autoescape=True, undefined=jinja2.StrictUndefined
)
_TEMPLATES.filters["plain"] = _plain


def rendered(template: str, status: int = 200, **known: object) -> Response:
    """A page made of a template."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(known), status)


def fault(status: int, said: str) -> Response:
    """A page that says what cannot be."""
    return rendered("fault.html", status, fault=said)


_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


def _static(name: str, content: bytes) -> Callable[[Request], Response]:
    def send(request: Request) -> Response:
        return Response(content, media_type=_TYPES[name.rpartition(".")[2]])

    return send


def static_routes() -> list[Route]:
    """The files that come with the pages, read once: no request names one."""
    found = {f"/{file.name}": file.read_bytes() for file in (files(__package__) / "static").iterdir()}
    return [Route(name, _static(name, content)) for name, content in found.items()]


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; none where it cannot be one of ours."""
    body = await request.body()
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return {}
