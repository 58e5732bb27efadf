"""Pages of the server, from templates."""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from t2i_core.api.progress_display import format_duration
from t2i_core.results.run import make_relative
from t2i_web_support.guard import HEADERS
from t2i_web_support.templates import make_environment

POLICY = "content-security-policy"

OWN_POLICY = HEADERS[POLICY].replace("script-src 'self';", "script-src 'self'; connect-src 'self';")
"""Policy of the server's own pages, whose script asks for the page again."""

MADE_POLICY = "base-uri 'none'; form-action 'none'; connect-src 'none'; frame-ancestors 'none'; object-src 'none'"
"""Policy of reports, beside the stricter one that each report has in itself."""

MOST_CHARACTERS = 120
"""Length of texts that are names; of reasons, several times as many are shown."""

_TEMPLATES = make_environment(__package__)


def _shorten(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return the beginning of a text: a field of somebody else's run may have any length."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _format_time(text: str) -> str:
    """Return a time of run.json to the minute; if it is none, as it is."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return _shorten(text)


def _name_folder(folder: Path) -> str:
    """Return a folder as other commands take it; the working folder by its name."""
    relative = make_relative(folder)
    return str(relative) if relative.name else folder.name


def _format_span(started: str, finished: str | None) -> str:
    """Return the time between two times of run.json; empty if it is not known."""
    try:
        seconds = (datetime.fromisoformat(finished or "") - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):
        return ""
    return format_duration(seconds) if seconds >= 0 else ""


_TEMPLATES.filters |= {
    "short": _shorten,
    "time": _format_time,
    "span": _format_span,
    "folder": _name_folder,
    "query": lambda pairs: urlencode(pairs),
}


def render(request: Request, template: str, status: int = 200, /, **known: object) -> Response:
    """Return a page; only a note that it has not changed, if the browser has the same one.

    Args:
        request: The request.
        template: Name of the template.
        status: HTTP status.
        known: Variables of the template.
    """
    content = _TEMPLATES.get_template(template).render(known).encode("utf-8", "backslashreplace")
    headers = {POLICY: OWN_POLICY, "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}
    if status == 200 and request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return HTMLResponse(content, status, headers={**headers, "cache-control": "no-cache"})


def show_fault(request: Request, status: int, title: str, message: str) -> Response:
    """Return a page that says what is wrong."""
    return render(request, "fault.html", status, title=title, message=message)
