"""Access control of the page: tokens and checks of requests."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from t2i_web_support.guard import is_local_host, refuse_host


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

    def refuse(self, method: str, headers: Headers) -> Response | None:
        """Return the answer to a request for another host, or to a form from another site; None for others."""
        if not self._serves(headers.get("host", "")):
            return refuse_host()
        if method not in ("GET", "HEAD") and not self.is_own_page(headers):
            return PlainTextResponse("This form was sent from another site.", 403)
        return None

    def _serves(self, host: str) -> bool:
        """Return whether a request for this host name may be answered."""
        if self.url is not None:
            return host == urlsplit(self.url).netloc
        return self.invitation is not None or is_local_host(host)

    def is_own_page(self, headers: Headers) -> bool:
        """Return whether a form was sent from this site, according to the browser's headers.

        Pages without a referrer send `Origin: null`; then `Sec-Fetch-Site` decides, if it is present.
        """
        origin = headers.get("origin", "null")
        if origin != "null":
            there = self.url and urlsplit(self.url).netloc
            return urlsplit(origin).netloc == (there or headers.get("host", ""))
        return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
