"""Access control of a served page: checks of requests before they are answered, and security headers."""

from __future__ import annotations

from typing import Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every answer that does not set them itself."""

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""Names by which this machine reaches itself."""


def is_local_host(host: str) -> bool:
    """Return whether the host of a request names this machine itself.

    A page that needs no token answers no other host. This prevents DNS rebinding: another site could let its name
    resolve to this machine, and its pages could then read everything that needs no token.
    """
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host) in LOCAL


def refuse_host() -> Response:
    """Return the answer to a request for a host that the page does not serve."""
    return PlainTextResponse("There is no such site here.", 421)


class AccessRules(Protocol):
    """Decides which requests are answered."""

    def refuse(self, method: str, headers: Headers) -> Response | None:
        """Return the answer to a request that is refused; None if the page answers it.

        Args:
            method: The method of the request.
            headers: Its headers.
        """
        ...


class Guard:
    """Middleware that refuses requests by rules and sets security headers.

    Args:
        app: The page.
        rules: Decide which requests are answered.
    """

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        app = self._rules.refuse(scope["method"], Headers(scope=scope)) or self._app
        await app(scope, receive, send_with_headers)
