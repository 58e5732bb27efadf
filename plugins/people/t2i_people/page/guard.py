"""Access control of the page: tokens, checks of requests, and security headers."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
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
LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Access:
    """Rules for access to the page.

    Attributes:
        secret: Secret of this study, which signs its forms.
        invitation: Token of the link by which newcomers join. If None, everyone who reaches the page may join.
        url: Public address of the page, if it is behind a proxy.
    """

    secret: str
    invitation: str | None = None
    url: str | None = None

    def invites(self, token: str) -> bool:
        """Return whether a newcomer with this token may join."""
        return self.invitation is None or secrets.compare_digest(token.encode(), self.invitation.encode())

    def form_token(self, whose: str) -> str:
        """Return the token that this annotator's forms must contain.

        Args:
            whose: Token of the annotator's link; empty for a newcomer.
        """
        return hmac.digest(self.secret.encode(), f"form {whose}".encode(), "sha256").hex()

    def newcomer_token(self, name: str, newcomer: str) -> str:
        """Return the token of the link that a newcomer gets.

        The same form sent again gives the same token, so a second click or a reload lets the newcomer in again.

        Args:
            name: The name that they give.
            newcomer: Random token of their joining form, which only this browser has received.
        """
        text = json.dumps(["newcomer", newcomer, name])
        return hmac.digest(self.secret.encode(), text.encode(), "sha256").hex()

    def is_own_form(self, whose: str, token: str) -> bool:
        """Return whether this study sent a form to this annotator."""
        return secrets.compare_digest(self.form_token(whose).encode(), token.encode())

    def serves(self, host: str) -> bool:
        """Return whether a request for this host name may be answered.

        This prevents DNS rebinding: another site could let its name resolve to this machine, and its pages could
        then read everything that needs no token.
        """
        if self.url is not None:
            return host == urlsplit(self.url).netloc
        return self.invitation is not None or _without_port(host) in LOCAL

    def is_own_page(self, headers: Headers) -> bool:
        """Return whether a form was sent from this site, according to the browser's headers.

        Pages without a referrer send `Origin: null`; then `Sec-Fetch-Site` decides, if it is present.
        """
        origin = headers.get("origin", "null")
        if origin != "null":
            there = self.url and urlsplit(self.url).netloc
            return urlsplit(origin).netloc == (there or headers.get("host", ""))
        return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host


class Guard:
    """Middleware that rejects requests for other hosts and forms from other sites, and sets security headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        app = self._app
        headers = Headers(scope=scope)
        if not self._access.serves(headers.get("host", "")):
            app = PlainTextResponse("There is no such site here.", 421)
        elif scope["method"] not in ("GET", "HEAD") and not self._access.is_own_page(headers):
            app = PlainTextResponse("This form was sent from another site.", 403)
        await app(scope, receive, send_with_headers)
