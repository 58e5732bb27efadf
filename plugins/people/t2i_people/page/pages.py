"""Templates and forms of the page."""

from __future__ import annotations

from urllib.parse import parse_qsl

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from t2i_core.api.text import escape_control_characters


def _plain(text: str) -> str:
    """Return an untrusted text with control characters escaped, except line ends."""
    return "\n".join(escape_control_characters(line) for line in text.split("\n"))


_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader(__package__), autoescape=True, undefined=jinja2.StrictUndefined
)
_TEMPLATES.filters["plain"] = _plain
_TEMPLATES.filters["zip"] = lambda one, other: zip(one, other, strict=True)


def render(template: str, status: int = 200, /, **known: object) -> Response:
    """Return a page from a template."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(known), status)


def fault(status: int, message: str) -> Response:
    """Return an error page."""
    return render("fault.html", status, fault=message)


MOST_FIELDS = 200


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form; empty if the body is not a valid form."""
    body = await request.body()
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}
